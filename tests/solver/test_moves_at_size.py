"""Running VMs that may move, on sites with too many hosts to try every move on each."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from benchmarks.fleet import Variant, families, fleet_problem
from vplacer.constraints.disturbance import disturbance_of
from vplacer.constraints.judge import check, placements_today
from vplacer.constraints.state import Problem, State
from vplacer.request.demand import Apart
from vplacer.solver import holding, moving, moving_blocks
from vplacer.solver.instance import build_instance
from vplacer.solver.moved_hosts import tasks_after
from vplacer.solver.solve import solve
from vplacer.solver.verdict import Solution, SolveOptions, StoppedBy

LEVELS = ("placed", "moves")

VARIANTS = {
    "filled": Variant(hosts=14, shapes=13, movable=0.3, seed=2),
    "most may move": Variant(hosts=11, shapes=13, movable=0.8, fill=0.75, asked=1.5, seed=3),
    "some float": Variant(hosts=12, shapes=13, movable=0.4, floating=0.4, fill=0.85, seed=5),
}


@pytest.fixture(params=VARIANTS, scope="module")
def problem(request: pytest.FixtureRequest) -> Problem:
    return fleet_problem(VARIANTS[request.param])


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(holding, "MOST_HOSTS", 1)


def _solved(problem: Problem, work: float = 3.0) -> Solution:
    return solve(problem, SolveOptions(levels=LEVELS, explained=False, work=work))


def _existing(problem: Problem) -> set[str]:
    return {demand.id for demand in problem.request.demands if demand.vm is not None}


def test_nobody_is_lost_and_no_bound_is_beaten(problem: Problem, monkeypatch: pytest.MonkeyPatch) -> None:
    every = _solved(problem)
    monkeypatch.setattr(holding, "MOST_HOSTS", 1)
    found = _solved(problem)
    # Solutions are judged before they are returned.
    assert _existing(problem) <= {placement.demand for placement in found.placements}
    for mine, theirs in zip(found.levels, every.levels, strict=True):
        sign = 1 if mine.maximise else -1
        assert mine.bound is None or sign * (mine.bound - mine.value) >= 0
        assert mine.bound is None or sign * (mine.bound - theirs.value) >= 0, f"{theirs} beats {mine}"
        assert theirs.bound is None or sign * (theirs.bound - mine.value) >= 0, f"{mine} beats {theirs}"
        if mine.value != theirs.value:
            break


@pytest.mark.usefixtures("large")
def test_moves_let_more_in(problem: Problem) -> None:
    still = tuple(replace(d, may_move=False) if d.vm else d for d in problem.request.demands)
    held = _solved(problem.with_request(replace(problem.request, demands=still)))
    found = _solved(problem)
    mine = [level.value for level in found.levels if level.maximise]
    theirs = [level.value for level in held.levels if level.maximise]
    assert mine > theirs, "nothing is gained though VMs may move"


def _in_clusters(monkeypatch: pytest.MonkeyPatch) -> Problem:
    monkeypatch.setattr(families, "HOSTS_A_CLUSTER", 8)
    monkeypatch.setattr(moving_blocks, "MOST_HOSTS", 16)
    return fleet_problem(Variant(hosts=36, shapes=16, movable=0.4, fill=0.8, seed=6))


@pytest.mark.usefixtures("large")
def test_blocks_of_clusters_are_chosen_one_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = _in_clusters(monkeypatch)
    home = {vm.moid: vm.host or "" for vm in problem.inventory.vms}
    cluster = {host.moid: host.cluster for host in problem.inventory.hosts}
    found = _solved(problem)
    assert _existing(problem) <= {placement.demand for placement in found.placements}
    moved = [p for p in found.placements if p.demand in _existing(problem) and not p.stays]
    assert len({cluster[home[p.demand]] for p in moved}) > 2
    inside = {d: home[d] for d in _existing(problem)}
    blocks = moving_blocks.blocks_of(problem, inside, ())
    assert all(len(block) <= 16 for block in blocks)
    block_of = {host: number for number, block in enumerate(blocks) for host in block}
    assert len(block_of) == sum(map(len, blocks)), "a host is in two blocks"
    assert {block_of[home[p.demand]] == block_of[p.host] for p in moved} == {True}


@pytest.mark.usefixtures("large")
def test_what_was_found_is_kept_when_it_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = _in_clusters(monkeypatch)
    whole = [level.value for level in _solved(problem).levels if level.maximise]
    still = tuple(replace(d, may_move=False) if d.vm else d for d in problem.request.demands)
    held = _solved(problem.with_request(replace(problem.request, demands=still)))
    least = [level.value for level in held.levels if level.maximise]
    blocks = 0
    begun = moving.MovesSearch._block

    def counted(*args: Any) -> None:
        nonlocal blocks
        blocks += 1
        begun(*args)

    monkeypatch.setattr(moving.MovesSearch, "_block", counted)
    stopped = solve(
        problem,
        SolveOptions(levels=LEVELS, explained=False, work=3.0),
        lambda: StoppedBy.TIME if blocks >= 2 else None,
    )
    found = [level.value for level in stopped.levels if level.maximise]
    assert blocks == 2
    assert least < found < whole
    assert stopped.stopped_by is StoppedBy.TIME


@pytest.mark.usefixtures("large")
def test_gangs_stay_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(families, "HOSTS_A_CLUSTER", 8)
    monkeypatch.setattr(moving_blocks, "MOST_HOSTS", 16)
    problem = fleet_problem(Variant(hosts=36, shapes=16, movable=0.4, fill=0.8, seed=6, gangs=2))
    found = _solved(problem)  # solutions are judged before they are returned
    placed = {placement.demand for placement in found.placements}
    assert problem.request.rules.gangs
    together = [sum(vm in placed for vm in gang.vms) for gang in problem.request.rules.gangs]
    assert set(together) <= {0, 4}
    assert any(p.demand in _existing(problem) and not p.stays for p in found.placements)


def test_rules_hold_on_hosts_that_had_no_room_before(problem: Problem) -> None:
    new = tuple(demand.id for demand in problem.request.demands if demand.vm is None)
    apart = Apart("one a host", new)
    ruled = problem.with_request(
        replace(problem.request, rules=replace(problem.request.rules, apart=(apart,)))
    )
    today = placements_today(ruled)
    existing = [demand for demand in ruled.request.demands if demand.vm is not None]
    held = build_instance(ruled, today, LEVELS, held=frozenset(d.id for d in existing if d.may_move))
    leaving = next(d for d in existing if d.may_move and today[d.id].devices)
    home = today[leaving.id].host
    away = next(host for host in ruled.topologies if host != home)
    full = replace(held, tasks=tuple(task for task in held.tasks if task.state.host.moid != home))
    tasks, _ = tasks_after(full, [home], {leaving.id: replace(today[leaving.id], host=away, devices=())})
    assert [limit.most for task in tasks for limit in task.limits] == [1]


@pytest.mark.usefixtures("large")
@pytest.mark.parametrize("limit", ["max_moves", "max_power_cycles"])
def test_limits_of_changes_hold(problem: Problem, limit: str) -> None:
    options = replace(problem.request.options, **{limit: 2})
    limited = problem.with_request(replace(problem.request, options=options))
    found = _solved(limited)
    state = State(limited, found.placements)
    assert [fault for fault in check(state) if fault.constraint != "placed"] == []
    changes = [disturbance_of(limited, placement) for placement in found.placements]
    if limit == "max_moves":
        assert sum(change.moves for change in changes) <= 2
    else:
        assert sum(change.power_cycle for change in changes) <= 2
