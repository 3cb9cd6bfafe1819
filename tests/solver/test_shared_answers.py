"""Answers that hosts and demands share are those that each would get by itself."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from tests.conftest import REPO
from tests.solver.tiny import problems
from vplacer.constraints.judge import placements_today
from vplacer.constraints.labels import portable_labels, scope_of
from vplacer.constraints.ownership import reason_left_alone
from vplacer.constraints.registry import filters
from vplacer.constraints.state import Problem
from vplacer.inventory.site_load import load_site_text
from vplacer.request.demand import AffinityMode
from vplacer.request.load import parse_request
from vplacer.request.resolve import resolve
from vplacer.solver.cells import build_cells
from vplacer.solver.eligible import Rejection, eligibility_of
from vplacer.solver.host_state import HostState, untouched_state
from vplacer.solver.instance import build_instance
from vplacer.solver.listing import listing_of
from vplacer.solver.option import Takers
from vplacer.solver.options import list_options
from vplacer.solver.verdict import SolveOptions
from vplacer.topology.build import build_topologies

REQUESTS = sorted((REPO / "fixtures" / "requests").glob("*.yaml"))
EVERY_TAKER = [Takers(static, label) for static in (False, True) for label in (False, True)]
STATES_A_HOST = 3


def example(path: Path) -> Problem:
    name = path.stem.removesuffix("-nofit")
    site = load_site_text((REPO / "fixtures" / "sites" / f"{name}.yaml").read_text(), f"{name}.yaml")
    topologies = build_topologies(site.inventory, site.overlays)
    request = resolve(
        parse_request(path.read_text(), path.name),
        site.inventory,
        topologies,
        owner_reason=lambda vm: reason_left_alone(vm, site.inventory),
        include_managed=frozenset(),
    )
    return Problem(site.inventory, topologies, request)


def _filtered_alone(problem: Problem, demand_id: str, moid: str) -> Rejection | None:
    demand, host = problem.demand_by_id[demand_id], problem.inventory.host_by_moid[moid]
    for item in filters():
        evidence = item.rejects(problem, demand, host)
        if evidence is not None:
            return Rejection(item.id, evidence)
    cluster = problem.inventory.cluster_by_moid.get(host.cluster or "")
    admission = cluster.admission if cluster is not None and cluster.ha_enabled else None
    if admission is not None and moid in admission.dedicated:
        return Rejection("ha-admission", "the host is dedicated to HA failover")
    return None


def _left(state: HostState, chooser: random.Random) -> HostState:
    """The host with some of its free cards gone."""
    cards = [
        replace(cell.card, address=address)
        for cell in state.cells
        for address in cell.addresses
        if chooser.random() < 0.7
    ]
    return replace(state, cells=build_cells(tuple(cards), state.topology), scarce=())


def _states(problem: Problem) -> Iterator[HostState]:
    chooser = random.Random(5)
    seen: dict[int, int] = {}
    for host in problem.inventory.hosts:
        state = untouched_state(problem, host.moid)
        kind = id(state.topology)
        seen[kind] = seen.get(kind, 0) + 1
        if seen[kind] > STATES_A_HOST:
            continue
        yield state
        for _ in range(STATES_A_HOST):
            yield _left(state, chooser)


def _check_filters(problem: Problem) -> None:
    eligibility = eligibility_of(problem)
    for demand in problem.request.demands:
        for moid in problem.topologies:
            found = eligibility.rejection(problem, demand, moid)
            assert found == _filtered_alone(problem, demand.id, moid), (demand.id, moid)


def _check_lists(problem: Problem) -> None:
    listing = listing_of(problem)
    demands = {
        replace(demand, id="", name="", source=None, mode=mode)
        for demand in problem.request.demands
        for mode in (demand.mode, AffinityMode.PIN)
    }
    for state in _states(problem):
        labels = portable_labels(problem, scope_of(state.host))
        for demand in demands:
            for takers in EVERY_TAKER:
                found = listing.options(problem, demand, state, takers)
                assert found == list_options(demand, state, labels, takers), (demand, state.host.name)


@pytest.mark.parametrize("path", REQUESTS, ids=lambda path: path.stem)
def test_examples(path: Path) -> None:
    problem = example(path)
    _check_filters(problem)
    _check_lists(problem)


@settings(max_examples=100, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(problems())
def test_random(problem: Problem) -> None:
    _check_filters(problem)
    _check_lists(problem)


def test_hosts_that_are_alike_share_their_lists() -> None:
    problem = example(REPO / "fixtures" / "requests" / "big96.yaml")
    instance = build_instance(problem, placements_today(problem), SolveOptions().levels)
    lists: dict[tuple[int, object], set[int]] = {}
    for task in instance.tasks:
        for index, options in task.options.items():
            lists.setdefault((index, options), set()).add(id(options))
    assert lists
    assert all(len(objects) == 1 for objects in lists.values())
    told = {key: instance.rejections[key] for key in instance.rejections}
    assert len(told) == len(instance.rejections)
    for cls in instance.classes:
        for task in instance.tasks:
            rejected = (cls.index, task.state.host.moid) in told
            assert rejected != (cls.index in task.options)
