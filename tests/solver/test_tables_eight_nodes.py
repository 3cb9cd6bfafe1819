"""Hosts of eight nodes on which VMs float: answers of the tables are proved, VMs over nodes have seats."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest

from benchmarks.fleet import Variant, fleet_problem
from vplacer.constraints.judge import check, placements_today
from vplacer.constraints.state import State
from vplacer.constraints.supply import Amount
from vplacer.solver.decode import decode
from vplacer.solver.host_state import HostState, untouched_state
from vplacer.solver.instance import build_instance
from vplacer.solver.kinds import build_kinds
from vplacer.solver.tables.fitting import fitting, packs
from vplacer.solver.tables.plain import PlainGroup, seated
from vplacer.solver.tables.search import TableSearch
from vplacer.solver.tables.seatings import Part, Seating


@pytest.mark.parametrize(("seed", "floating"), [(1, 0.5), (2, 1.0), (3, 0.5)])
def test_the_best_is_found_and_proved(seed: int, floating: float) -> None:
    problem = fleet_problem(
        Variant(hosts=48, shapes=13, fill=0.85, eight_nodes=True, floating=floating, seed=seed)
    )
    instance = build_instance(problem, placements_today(problem), ("placed", "locality"))
    answer = TableSearch(instance, build_kinds(instance), 0, 100.0, lambda: False).run()
    plans = [answer.plans[position] for position in range(len(instance.tasks))]
    state = State(problem, decode(instance.classes, zip(instance.tasks, plans, strict=True)))
    assert [fault for fault in check(state) if fault.constraint != "placed"] == []
    placed = {name: value for name, value in answer.values.items() if name != "locality"}
    assert placed == {name: answer.bounds[name] for name in placed}


@pytest.fixture(scope="module")
def bare() -> HostState:
    problem = fleet_problem(Variant(hosts=12, fill=0.0, shapes=13, eight_nodes=True))
    return untouched_state(problem, problem.inventory.hosts[0].moid)


@pytest.mark.parametrize("seed", range(40))
def test_vms_without_devices_are_seated_where_there_is_room(bare: HostState, seed: int) -> None:
    chooser = random.Random(seed)
    nodes = range(len(bare.node_ids))
    room = tuple(Amount(chooser.randint(0, 8), chooser.randint(0, 8)) for _ in nodes)
    total = sum(room, Amount(0, 0))
    state = replace(bare, room=room, items=(), divisible=(), total_room=total)
    size = Amount(chooser.randint(1, 3), chooser.randint(0, 3))
    seatings = [
        Seating(0, (Part(one, (), size), Part(other, (), size)), (), 0, 0)
        for one in nodes
        for other in nodes
        if one < other
    ]
    wanted = chooser.randint(1, 4)
    group = PlainGroup(tuple(range(len(seatings))), 2 * size.millicores, 2 * size.memory_mib, size, 2)
    found = seated(state, seatings, {}, [(group, wanted)])
    assert sum(found.values()) == wanted
    kept = fitting(state, [(seatings[name], count) for name, count in sorted(found.items())])
    left = list(room)
    for seating, count in kept:
        for part in seating.parts:
            for _ in range(count):
                left[part.position] = left[part.position] - size
    assert all(amount.millicores >= 0 and amount.memory_mib >= 0 for amount in left)
    rooms = [np.array([[getattr(amount, name) for amount in room]]) for name in ("millicores", "memory_mib")]
    assert sum(count for _, count in kept) <= group.most(*rooms, np.array([total.memory_mib]))[0]
    # One is dropped only where no two nodes have room for it any more.
    open_nodes = [amount for amount in left if size.fits(amount)]
    assert sum(count for _, count in kept) == wanted or len(open_nodes) < 2


def test_floating_vms_keep_what_is_large(bare: HostState) -> None:
    nodes = len(bare.node_ids)
    room = (Amount(6, 8), Amount(2, 8), Amount(6, 8), Amount(2, 8), *[Amount(0, 0)] * (nodes - 4))
    state = replace(bare, room=room, items=((Amount(6, 1), 2, ()),), divisible=(), total_room=Amount(4, 20))
    size = Amount(2, 1)
    seatings = [
        Seating(0, (Part(one, (), size), Part(other, (), size)), (), 0, 0)
        for one in range(nodes)
        for other in range(one + 1, nodes)
    ]
    group = PlainGroup(tuple(range(len(seatings))), 4, 2, size, 2)
    (name,) = seated(state, seatings, {}, [(group, 1)])
    assert [part.position for part in seatings[name].parts] == [1, 3]
    assert packs(state, [(seatings[name], 1)])
