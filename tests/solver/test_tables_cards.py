"""Cards that vGPUs share, as slots and cards that still choose: against every choice, and the host model."""

from __future__ import annotations

import random
from dataclasses import replace
from functools import cache
from itertools import product

import pytest

from benchmarks.fleet import Variant, families, fleet_problem
from vplacer.constraints.judge import placements_today
from vplacer.solver.host_state import HostState, untouched_state
from vplacer.solver.instance import build_instance
from vplacer.solver.kinds import build_kinds
from vplacer.solver.tables.cards import CardRoom, card_room, card_splits, reached
from vplacer.solver.tables.host_seats import seat_vgpus
from vplacer.solver.tables.node_table import NodeSeating, Units, build_table
from vplacer.solver.tables.search_parts import SearchParts
from vplacer.solver.tables.slots import Opening, State, Takes, most_devices, taken
from vplacer.solver.tables.sources import Duals, TableSource
from vplacer.solver.tables.symmetry import symmetries
from vplacer.solver.vgpu_patterns import patterns_of_cells

OPENINGS = (Opening(0, 2, 4), Opening(1, 2, 2))
"""Two profiles, and the cards both are opened from."""

PROFILES = ("nvidia_l4-12q", "nvidia_l4-24q", "nvidia_l4-6q")


@pytest.mark.parametrize(
    ("state", "takes", "after"),
    [
        ((1, 0, 2), ((0, 1),), (0, 0, 2)),
        ((1, 0, 2), ((0, 2),), (3, 0, 1)),
        ((0, 0, 2), ((0, 9),), None),
        ((0, 0, 3), ((0, 9),), (3, 0, 0)),
        ((0, 0, 2), ((0, 1), (1, 1)), (3, 1, 0)),
        ((0, 0, 1), ((0, 1), (1, 1)), None),
        ((0, 1, 1), ((0, 1), (1, 1)), (3, 0, 0)),
        ((4, 0, 0), ((1, 1),), None),
        ((0, 0, 2), ((2, 1),), (0, 0, 1)),
    ],
)
def test_no_more_cards_are_opened_than_needed(state: State, takes: Takes, after: State | None) -> None:
    assert taken(state, takes, OPENINGS) == after
    if after is not None:
        assert most_devices(after, OPENINGS) < most_devices(state, OPENINGS)


def test_slots_that_are_opened_stay_where_they_are() -> None:
    contents = {((slot, 1),): "one" for slot in range(4)}
    assert len(symmetries(contents, 4)) == 24
    assert set(symmetries(contents, 4, frozenset({0, 3}))) == {(0, 1, 2, 3), (0, 2, 1, 3)}


def test_what_cards_come_to_is_cut_off() -> None:
    assert len(reached((0, 0, 0, 16), (2, 1, 4), 1000)) == 126
    assert 50 < len(reached((0, 0, 0, 16), (2, 1, 4), 50)) < 60


def _needed(wanted: tuple[int, ...], left: tuple[int, ...], gives: tuple[int, ...]) -> int:
    """Cards that choose which some vGPUs need."""
    return sum(max(0, -((have - want) // each)) for want, have, each in zip(wanted, left, gives, strict=True))


@pytest.mark.parametrize("seed", range(12))
def test_splits_over_two_nodes_are_all_there_is(seed: int) -> None:
    chooser = random.Random(seed)
    room = CardRoom(
        chooser.randint(0, 3),
        tuple(chooser.choice([1, 2, 3, 4]) for _ in range(2)),
        tuple(chooser.randint(0, 4) for _ in range(2)),
    )
    splits = card_splits(room, 2)
    assert len(splits) == len(set(splits))
    for first in product(range(8), repeat=2):
        for second in product(range(8), repeat=2):
            both = tuple(a + b for a, b in zip(first, second, strict=True))
            truth = _needed(both, room.left, room.gives) <= room.free
            mine = any(
                _needed(first, a[:-1], room.gives) <= a[-1] and _needed(second, b[:-1], room.gives) <= b[-1]
                for a, b in splits
            )
            assert mine == truth, (room, first, second)


@pytest.mark.parametrize("seed", range(12))
def test_a_table_with_cards_is_the_best_there_is(seed: int) -> None:
    chooser = random.Random(seed)
    seatings = []
    for item in range(5):
        takes = {slot: chooser.randint(1, 3) for slot in range(2) if chooser.random() < 0.6}
        seatings.append(
            NodeSeating(item, tuple(takes.items()), chooser.randint(1, 3), chooser.randint(0, 3), 0)
        )
    worth = [chooser.randint(1, 40) for _ in seatings]
    starts = [(chooser.randint(0, 3), chooser.randint(0, 3), chooser.randint(0, 3)) for _ in range(3)]
    table = build_table(tuple(seatings), starts, (7, 8), Units(1, 1), openings=OPENINGS)
    filled = table.fill(worth)

    @cache
    def best(used: tuple[int, int], start: State, cores: int, memory: int, first: int) -> int:
        found = 0
        for number in range(first, len(seatings)):
            one = seatings[number]
            takes = dict(one.takes)
            now = (used[0] + takes.get(0, 0), used[1] + takes.get(1, 0))
            fits = one.millicores <= cores and one.memory_mib <= memory
            if fits and _needed(now, start[:2], (4, 2)) <= start[2]:
                rest = best(now, start, cores - one.millicores, memory - one.memory_mib, number)
                found = max(found, worth[number] + rest)
        return found

    for start in starts:
        number = table.index[start]
        flats = [table.flat(number, cores, memory) for cores in range(8) for memory in range(9)]
        truth = [best((0, 0), start, cores, memory, 0) for cores in range(8) for memory in range(9)]
        assert [int(filled.values[flat]) for flat in flats] == truth
        filled.trace(flats)
        for flat in flats:
            seats = table.reseated(number, filled.traced(flat))
            assert sum(worth[seat] for seat in seats) == filled.values[flat]


@pytest.fixture(scope="module", params=[0.0, 0.3, 0.6, 0.85])
def parts(request: pytest.FixtureRequest) -> SearchParts:
    """Mostly hosts that share cards, with so much memory that its steps are no matter."""
    with pytest.MonkeyPatch.context() as patch:
        for family in families.TWO_NODES:
            patch.setitem(families.TWO_NODES, family, 1)
        patch.setitem(families.TWO_NODES, "vgpu", 1300)
        patch.setitem(families.TWO_NODES, "vgpu2", 1195)
        for family in ("vgpu", "vgpu2"):
            patch.setitem(families.KINDS, family, families.KINDS[family] | {"memory_gib": 8192})
        problem = fleet_problem(Variant(hosts=26, shapes=16, fill=request.param, seed=11))
    instance = build_instance(problem, placements_today(problem), ("placed", "locality"))
    return SearchParts(instance, build_kinds(instance), 0)


def _shares(parts: SearchParts, number: int) -> bool:
    return parts.kinds[number].task.state.host.name.startswith("vgpu")


def test_hosts_that_share_cards_are_priced_as_the_host_model_does(parts: SearchParts) -> None:
    assert parts.others == []
    tables = parts.sources[0]
    assert isinstance(tables, TableSource)
    chooser = random.Random(7)
    equal = 0
    for _ in range(2):
        item = tuple(chooser.choice([0, chooser.randint(1, 3000)]) for _ in parts.items)
        duals = Duals(item, dict.fromkeys((row.name for row in parts.rows.rows), 0), 0)
        best = tables.price(duals, deep=True)
        for number, column in enumerate(tables.columns(range(len(tables.kinds)))):
            if not _shares(parts, tables.kinds[number]):
                continue
            truth = parts.prover.price_one(number, duals)
            assert truth is not None
            assert best[number] >= truth
            if column is None or all(
                count <= sum(parts.classes[index].count for index in parts.items[index_of].classes)
                for index_of, count in column.seats
            ):
                assert best[number] == truth
                equal += 1
    assert equal


def test_what_is_chosen_is_seated(parts: SearchParts) -> None:
    tables = parts.sources[0]
    assert isinstance(tables, TableSource)
    item = tuple(random.Random(5).randint(1, 3000) for _ in parts.items)
    duals = Duals(item, dict.fromkeys((row.name for row in parts.rows.rows), 0), 0)
    tables.price(duals, deep=True)
    seated = 0
    for number, column in enumerate(tables.columns(range(len(tables.kinds)))):
        if column is None or not _shares(parts, tables.kinds[number]):
            continue
        needs: dict[str, int] = {}
        for seating, count in column.source:  # type: ignore[attr-defined]
            for profile, each in seating.tokens:
                needs[profile] = needs.get(profile, 0) + each * count
        state = parts.kinds[tables.kinds[number]].task.state
        _check_seats(state, needs)
        seated += sum(needs.values())
    assert seated


def _check_seats(state: HostState, needs: dict[str, int]) -> None:
    seats = seat_vgpus(state, needs)
    told: dict[str, int] = {}
    cards: dict[int, dict[str, int]] = {}
    for cell, profile, count in seats:
        told[profile] = told.get(profile, 0) + count
        cards.setdefault(cell, {})[profile] = count
    assert told == {profile: count for profile, count in needs.items() if count}
    patterns = {cell.index: found for cell, found in patterns_of_cells(state, PROFILES)}
    for index, counts in cards.items():
        assert tuple(counts.get(profile, 0) for profile in PROFILES) in patterns[index]


@pytest.fixture(scope="module")
def empty() -> HostState:
    problem = fleet_problem(Variant(hosts=8, fill=0.0, shapes=14))
    host = next(host for host in problem.inventory.hosts if host.name.startswith("vgpu-"))
    return untouched_state(problem, host.moid)


def test_an_empty_host_has_cards_that_choose(empty: HostState) -> None:
    assert card_room(empty, PROFILES) == CardRoom(16, (2, 1, 4), (0, 0, 0))
    cells = [cell for cell in empty.cells if cell.card.vgpu]
    held = tuple(
        (cell.addresses[0], (profile,))
        for cell, profile in zip(cells[:4], (*PROFILES, PROFILES[0]), strict=True)
    )
    partly = replace(empty, vgpu_held=held)
    assert card_room(partly, PROFILES) == CardRoom(12, (2, 1, 4), (2, 0, 3))
    assert card_room(partly, PROFILES[:1]) == CardRoom(0, (), (26,))
    _check_seats(partly, {"nvidia_l4-12q": 6, "nvidia_l4-24q": 1, "nvidia_l4-6q": 38})
