"""Moves of running VMs that turn out to be for nothing are taken back, alone or together with others."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from benchmarks.fleet import Variant, fleet_problem
from vplacer.constraints.judge import check_hosts, placements_today
from vplacer.constraints.state import Placement, Problem, State
from vplacer.solver.homeward import homeward


def _alike(problem: Problem) -> list[Placement]:
    """Where running VMs with cards are today that ask for the same, on different hosts."""
    today = placements_today(problem)
    kinds: dict[object, list[Placement]] = {}
    for demand in problem.request.demands:
        placement = today.get(demand.id)
        if (
            demand.vm is not None
            and demand.may_move
            and placement is not None
            and placement.nodes
            and placement.devices
        ):
            kinds.setdefault(replace(demand, id="", name="", vm=None, source=None), []).append(placement)
    groups = [{p.host: p for p in placements} for placements in kinds.values()]
    return list(max(groups, key=len).values())[:4]


def _in_a_ring(placements: list[Placement]) -> dict[str, Placement]:
    """Each VM on the seat of the next."""
    ring = pairwise([*placements, placements[0]])
    return {one.demand: replace(other, demand=one.demand, stays=False) for one, other in ring}


PROBLEM = fleet_problem(Variant(hosts=24, shapes=13, movable=0.8, fill=0.5, seed=3))


def test_vms_that_traded_places_go_home_together() -> None:
    moved = _in_a_ring(_alike(PROBLEM))
    assert len(moved) >= 2
    hosts = sorted({placement.host for placement in moved.values()})
    assert not check_hosts(State(PROBLEM, tuple(moved.values())), hosts)
    assert homeward(PROBLEM, moved, ()) == {}


def test_whose_seat_a_new_vm_has_stays_away() -> None:
    first, *_ = _alike(PROBLEM)
    mover = PROBLEM.demand_by_id[first.demand]
    newcomer = replace(mover, id="newcomer", name="newcomer", vm=None, may_move=False)
    problem = PROBLEM.with_request(replace(PROBLEM.request, demands=(*PROBLEM.request.demands, newcomer)))
    away = _somewhere(problem, first)
    new = replace(first, demand="newcomer", stays=False)
    assert not check_hosts(State(problem, (away, new)), [first.host, away.host])
    assert homeward(problem, {first.demand: away}, [new]) == {first.demand: away}
    assert homeward(problem, {first.demand: away}, []) == {}


def _somewhere(problem: Problem, placement: Placement) -> Placement:
    """The same seat for a VM on a host where nobody has it."""
    for host in problem.topologies:
        trial = replace(placement, host=host, stays=False)
        if host != placement.host and not check_hosts(State(problem, (trial,)), [host, placement.host]):
            return trial
    raise AssertionError("no host has room for it")
