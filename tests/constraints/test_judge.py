"""The judge as a whole: sites as they are, states that make no sense, order, partial looks."""

from __future__ import annotations

from dataclasses import replace
from functools import cache, partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import REPO
from vplacer.constraints.holdings import devices_of_host
from vplacer.constraints.judge import check, check_hosts, check_vm_today, placements_today
from vplacer.constraints.ownership import reason_left_alone
from vplacer.constraints.registry import checks, filters
from vplacer.constraints.state import DeviceAssignment, Placement, Problem, State
from vplacer.inventory.load import load_inventory_file
from vplacer.request.demand import BoundBy, RequestOptions
from vplacer.request.load import parse_request
from vplacer.request.resolve import resolve
from vplacer.topology.build import build_topologies

SITES = sorted((REPO / "fixtures" / "sites").glob("*.yaml"))
AS_THEY_ARE = "version: 1\nvms:\n  - select: {name: ['*']}\n"


@cache
def _problem(path: Path) -> Problem:
    """All VMs of a site, asked for as they are."""
    site = load_inventory_file(path)
    topologies = build_topologies(site.inventory, site.overlays)
    request = parse_request(AS_THEY_ARE, "request.yaml")
    resolved = resolve(
        request, site.inventory, topologies, owner_reason=partial(reason_left_alone, inventory=site.inventory)
    )
    return Problem(site.inventory, topologies, replace(resolved, options=RequestOptions(partial=True)))


@pytest.mark.parametrize("path", SITES, ids=lambda path: path.stem)
def test_vms_asked_for_as_they_are_stay(path: Path) -> None:
    problem = _problem(path)
    assert problem.request.demands
    for demand in problem.request.demands:
        assert check_vm_today(problem, demand) == (), demand.name
    today = placements_today(problem)
    assert set(today) == {demand.id for demand in problem.request.demands}
    assert check(State(problem, tuple(today.values()))) == ()
    assert check(State(problem, ())) == ()


def test_states_that_make_no_sense_are_named_and_nothing_else_is_looked_at() -> None:
    problem = _problem(SITES[0])
    demand, other = problem.request.demands[:2]
    host = problem.inventory.hosts[0].moid
    twice = State(problem, (Placement(demand.id, host, ()), Placement(demand.id, host, ())))
    assert [v.evidence for v in check(twice)] == ["2 placements of one demand"]
    nowhere = State(problem, (Placement(demand.id, "host-0", ()), Placement("vm-0", host, ())))
    assert [(v.object, v.evidence) for v in check(nowhere)] == [
        (demand.id, "there is no host host-0"),
        ("vm-0", "the placement is of no demand of the request"),
    ]
    stray = DeviceAssignment("gpu", 9, devices_of_host(problem, host)[0].address, BoundBy.STATIC)
    odd = State(problem, (Placement(other.id, host, (7,), (stray,)),))
    assert {"vnuma", "devices"} <= {v.constraint for v in check(odd)}


@st.composite
def states(draw: st.DrawFn) -> State:
    """Placements that need make no sense: any host, nodes and devices."""
    problem = _problem(draw(st.sampled_from(SITES)))
    demands = draw(st.lists(st.sampled_from(problem.request.demands), max_size=6, unique_by=lambda d: d.id))
    placements = []
    for demand in demands:
        host = draw(st.sampled_from(problem.inventory.hosts))
        cards = devices_of_host(problem, host.moid)
        assignment = st.builds(
            DeviceAssignment,
            st.sampled_from(["gpu", "nic"]),
            st.integers(0, 1),
            st.sampled_from([card.address for card in cards]),
            st.sampled_from(BoundBy),
            st.sampled_from([None, "gpu-n0", "elsewhere"]),
            st.sampled_from([None, None, 0]),
        )
        devices = tuple(draw(st.lists(assignment, max_size=3)))
        nodes = tuple(draw(st.lists(st.integers(0, 2), max_size=2)))
        placements.append(Placement(demand.id, host.moid, nodes, devices, draw(st.booleans())))
    return State(problem, tuple(placements))


@given(states())
def test_any_state_has_an_answer_and_always_the_same(state: State) -> None:
    found = check(state)
    fresh = Problem(state.problem.inventory, state.problem.topologies, state.problem.request)
    assert check(State(fresh, state.placements)) == found
    known = {item.id for item in filters()} | {item.id for item in checks()}
    assert {violation.constraint for violation in found} <= known


@given(states())
def test_what_is_found_within_hosts_is_found_in_all(state: State) -> None:
    within = {item.id for item in filters()} | {item.id for item in checks() if item.on_host is not None}
    hosts = [host.moid for host in state.problem.inventory.hosts]
    everywhere = [v for v in check(state) if v.constraint in within]
    assert sorted(map(repr, check_hosts(state, hosts))) == sorted(map(repr, everywhere))
