"""What floating VMs may leave of two nodes, against every way to share them out, one by one."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import product
from math import gcd

import numpy as np
import pytest

from benchmarks.fleet import Variant, fleet_problem
from vplacer.constraints.packing import Fit, fits
from vplacer.constraints.supply import Amount
from vplacer.solver.host_state import HostState, untouched_state
from vplacer.solver.tables import reachable
from vplacer.solver.tables.finer import Finer, Within
from vplacer.solver.tables.node_table import NodeSeating, Units, build_table
from vplacer.solver.tables.plain import PlainGroup
from vplacer.solver.tables.pooled import Pooled
from vplacer.solver.tables.reachable import cells_of, reach_of

UNIT = 4
"""Cores and memory of these hosts are small numbers; some of the units of a table are larger than one."""


@pytest.fixture(scope="module")
def bare() -> HostState:
    problem = fleet_problem(Variant(hosts=8, fill=0.0, shapes=14))
    return untouched_state(problem, problem.inventory.hosts[0].moid)


def _state(bare: HostState, chooser: random.Random) -> HostState:
    items = tuple(
        (
            Amount(chooser.randint(1, 9), chooser.randint(1, 9)),
            chooser.choice([1, 1, 2]),
            chooser.choice([(), (), (0, 1), (0,), (1,)]),
        )
        for _ in range(chooser.randint(0, 4))
    )
    divisible = tuple(
        (Amount(chooser.randint(0, 9), chooser.randint(0, 9)), chooser.choice([(), (0, 1), (0,), (1,)]))
        for _ in range(chooser.randint(0, 2))
    )
    room = tuple(Amount(chooser.randint(4, 24), chooser.randint(4, 24)) for _ in range(2))
    return replace(bare, room=room, items=items, divisible=divisible)


def _takes(state: HostState, first: Amount, second: Amount) -> bool:
    """Whether the nodes have so much left in some way to share the floating VMs out."""
    left = (state.room[0] - first, state.room[1] - second)
    if any(amount.millicores < 0 or amount.memory_mib < 0 for amount in left):
        return False
    return fits(left, state.items, state.divisible) is Fit.YES


@pytest.mark.parametrize("seed", range(40))
def test_cells_are_what_can_be_left(bare: HostState, seed: int) -> None:
    state = _state(bare, random.Random(seed))
    reach = reach_of(state)
    assert reach is not None
    cells = cells_of(reach, [(1, 1), (1, 1)])
    told = [(tuple(a), tuple(b)) for a, b in zip(cells.first.tolist(), cells.second.tolist(), strict=True)]
    for cores, memory in product(range(0, 25, 3), repeat=2):
        for others, rest in product(range(0, 25, 4), repeat=2):
            truth = _takes(state, Amount(cores, memory), Amount(others, rest))
            mine = any(a[0] >= cores and a[1] >= memory and b[0] >= others and b[1] >= rest for a, b in told)
            assert mine == truth, (cores, memory, others, rest)


@pytest.mark.parametrize("seed", range(40))
def test_coarse_cells_are_never_below_the_truth(
    bare: HostState, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    chooser = random.Random(100 + seed)
    state = _state(bare, chooser)
    monkeypatch.setattr(reachable, "MOST_SUMS", chooser.choice([1, 3, 1000]))
    reach = reach_of(state)
    assert reach is not None
    units = [(chooser.randint(1, UNIT), chooser.randint(1, UNIT)) for _ in range(2)]
    cells = cells_of(reach, units)
    told = np.concatenate([cells.first, cells.second], axis=1)
    for _ in range(300):
        wanted = [chooser.randint(0, 16) for _ in range(4)]
        if _takes(state, Amount(*wanted[:2]), Amount(*wanted[2:])):
            rounded = [size // unit for size, unit in zip(wanted, (*units[0], *units[1]), strict=True)]
            assert (told >= rounded).all(axis=1).any(), wanted


@pytest.mark.parametrize("seed", range(20))
def test_rows_come_to_the_best_of_their_residuals(seed: int) -> None:
    chooser = np.random.default_rng(seed)
    most = (6, 9)
    size = (most[0] + 1) * (most[1] + 1)
    tables = []
    for _ in range(2):
        table = chooser.integers(0, 50, (most[0] + 1, most[1] + 1))
        tables.append(np.maximum.accumulate(np.maximum.accumulate(table, 0), 1).reshape(size))
    rows, sides = [], []
    for _ in range(5):
        count = int(chooser.integers(1, 12))
        first = np.stack([chooser.integers(0, 7, count), chooser.integers(0, 10, count)], axis=1)
        second = np.stack([chooser.integers(0, 7, count), chooser.integers(0, 10, count)], axis=1)
        order = np.lexsort((second[:, 0], first[:, 0]))
        sides.append((first[order], second[order]))
        rows.append(Within.of(sides[-1], (0, 1), 2))
    finer = Finer([within for _, within in rows], [most, most])
    flats = [np.array([top[n, 0] * (most[1] + 1) + top[n, 1] for top, _ in rows]) for n in range(2)]
    base = np.arange(5)
    owner = np.array([0, 0, 1, 1, 2])
    placed = chooser.integers(0, 20, 5)
    shift = chooser.integers(0, 3, (2, 5))
    flats = [np.maximum(0, flat - less) for flat, less in zip(flats, shift, strict=True)]
    best = finer.look_up_best(owner, placed, np.full(3, -1), base, flats, tables)
    highest = finer.most(base, flats, [tables])
    truth: dict[int, int] = {}
    for row, (first, second) in enumerate(sides):
        top = [first.max(axis=0), second.max(axis=0)]
        left = [divmod(int(flat[row]), most[1] + 1) for flat in flats]
        for cells in zip(first.tolist(), second.tolist(), strict=True):
            places = [
                [left[n][axis] - (int(top[n][axis]) - cells[n][axis]) for axis in (0, 1)] for n in range(2)
            ]
            if min(min(place) for place in places) < 0:
                continue
            value = sum(int(tables[n][c * (most[1] + 1) + m]) for n, (c, m) in enumerate(places))
            assert highest[row] >= value
            mine = int(owner[row])
            truth[mine] = max(truth.get(mine, -1), value + int(placed[row]))
    assert {one: looked.value for one, looked in best.items()} == truth
    for looked in best.values():
        found = int(placed[looked.row]) + sum(int(t[at]) for t, at in zip(tables, looked.flats, strict=True))
        assert found == looked.value


@pytest.mark.parametrize("seed", range(20))
def test_nodes_share_what_is_left_of_the_host(seed: int) -> None:
    chooser = random.Random(seed)
    units = [Units(chooser.choice([1, 2, 3]), 1) for _ in range(3)]
    seatings = (NodeSeating(0, (), 1, 1, 0),)
    nodes = [build_table(seatings, {()}, (6 * unit.millicores, 2), unit) for unit in units]
    tables = []
    for _ in nodes:
        values = np.array([[chooser.randint(0, 30) for _ in range(3)] for _ in range(7)])
        values[0, 0] = 0
        tables.append(np.maximum.accumulate(np.maximum.accumulate(values, 0), 1).reshape(-1))
    cores = np.array([[chooser.randint(0, 6) for _ in nodes] for _ in range(4)])
    totals = [chooser.randint(0, 20) for _ in range(4)]
    plain = [
        PlainGroup((n,), size := chooser.randint(1, 7), n, Amount(size // 2, 0), 2)
        for n in range(chooser.randint(0, 2))
    ]
    caps = np.array([[chooser.randint(0, 4) for _ in plain] for _ in range(4)], np.int64).reshape(
        4, len(plain)
    )
    pooled = Pooled(nodes, totals, cores, plain, caps)
    worth = np.array([chooser.randint(0, 12) for _ in plain], np.int64)
    pooled.fill(worth)
    flats = [cores[:, n] * 3 + 2 for n in range(3)]
    base, nobody = np.arange(4), np.full(4, -1)
    best = pooled.look_up_best(base, np.zeros(4, np.int64), nobody, base, flats, tables)
    highest = pooled.most(base, flats, [tables], nobody)
    # What takes less than a step is no thing of the host: it is seated on nodes.
    kept = pooled.plain.groups
    sizes = [group.millicores for group in kept]
    values = np.array([worth[group.names[0]] for group in kept], np.int64)
    counts = list(product(*(range(20 // size + 1) for size in sizes)))
    exact = gcd(*(unit.millicores for unit in units)) == 1
    for row, total in enumerate(totals):
        truth = max(
            sum(int(tables[n][used[n] * 3 + 2]) for n in range(3)) + int(np.dot(count, values))
            for used in product(*(range(have + 1) for have in cores[row].tolist()))
            for count in counts
            if all(c <= caps[row][group.names[0]] for c, group in zip(count, kept, strict=True))
            and sum(u * unit.millicores for u, unit in zip(used, units, strict=True))
            + sum(c * size for c, size in zip(count, sizes, strict=True))
            <= total
        )
        # Steps coarser than sizes let in more than there is, never less.
        assert best[row].value == highest[row] >= truth
        assert best[row].value == truth or not exact
        beside = sum(int(worth[group.names[0]]) * n for group, n in pooled.plain.taken(best[row].spare))
        found = sum(int(t[at]) for t, at in zip(tables, best[row].flats, strict=True))
        assert found + beside == best[row].value
