"""Runs the cases of tests/cases/room: a site, a request, and the room there is, now or after a loss.

A file has ``cases`` and, where they share one, a ``site``: inventory YAML as data. A case adds its own
``site`` (mappings are merged, lists are joined) and ``request``, and states ``expect``:

- of each kind, by the name of its first VM: ``fit``, and any of ``runs_out``, ``stops`` (constraint and
  how many hosts), ``by_host``, ``future``, ``not_counted``;
- with ``lost`` or ``named``: ``outcome``, ``losses`` (hosts, and who has no place: of VMs that are alike
  which one is by chance), and any of ``possible``, ``looked_at``, ``before``, ``why``, ``stops``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.conftest import REPO
from tests.solver.test_cases import joined
from vplacer.constraints.state import Problem
from vplacer.inventory.site_load import load_site_text
from vplacer.inventory.yaml_marks import parse_document
from vplacer.jobs.plan import PlanOptions, make_problem
from vplacer.jobs.source import Reading, SourceOptions
from vplacer.request.demand import RequestOptions, ResolvedRequest, Rules
from vplacer.request.load import parse_request
from vplacer.solver.capacity.model import KindRoom
from vplacer.solver.capacity.room import capacity
from vplacer.solver.loss.after_loss import after_loss
from vplacer.solver.loss.model import AfterLoss, Homeless
from vplacer.topology.build import build_topologies

CASES = REPO / "tests" / "cases" / "room"


def _cases(name: str) -> Iterator[Any]:
    document = parse_document((CASES / name).read_text(), name).data
    for case in document["cases"]:
        whole = {**case, "site": joined(document.get("site", {}), case.get("site", {}))}
        yield pytest.param(whole, id=case["title"])


def _problem(case: dict[str, Any]) -> Problem:
    site = load_site_text(json.dumps({"format_version": 1, **case["site"]}), "site.yaml")
    if "request" not in case:
        topologies = build_topologies(site.inventory, site.overlays)
        return Problem(site.inventory, topologies, ResolvedRequest((), Rules(), RequestOptions()))
    request = parse_request(json.dumps({"version": 1, **case["request"]}), "request.yaml")
    reading = Reading(site.inventory, site.overlays, (), None)
    return make_problem(request, reading, PlanOptions(SourceOptions(), "request.yaml"))


@pytest.mark.parametrize("case", list(_cases("kinds.yaml")))
def test_room(case: dict[str, Any]) -> None:
    problem = _problem(case)
    found = {room.kind.names[0]: room for room in capacity(problem).kinds}
    assert found.keys() == case["expect"].keys()
    hosts = {host.moid: host.name for host in problem.inventory.hosts}
    for name, expected in case["expect"].items():
        assert _told(found[name], hosts, expected) == expected
        assert found[name].proved


def _told(room: KindRoom, hosts: dict[str, str], expected: dict[str, Any]) -> dict[str, Any]:
    told = {
        "fit": room.value,
        "runs_out": room.binding,
        "stops": {stop.constraint: len(stop.hosts) for stop in room.stops},
        "by_host": {hosts[host.host]: host.value for host in room.by_host},
        "future": room.kind.future,
        "not_counted": list(room.kind.not_counted),
    }
    return {key: told[key] for key in expected}


@pytest.mark.parametrize("case", list(_cases("losses.yaml")))
def test_loss(case: dict[str, Any]) -> None:
    problem = _problem(case)
    by_name = {host.name: host.moid for host in problem.inventory.hosts}
    names = {moid: name for name, moid in by_name.items()}
    named = [by_name[name] for name in case.get("named", ())]
    found = after_loss(problem, lost=case.get("lost"), named=named)
    expected = case["expect"]
    assert _loss_told(found, names, expected) == {
        k: v for k, v in expected.items() if k not in ("why", "stops")
    }
    worst = {} if found.worst is None else {vm.name: vm for vm in found.worst.homeless}
    for name, text in expected.get("why", {}).items():
        assert text in worst[name].reason
    if "stops" in expected:
        (stops,) = {vm.stops for vm in worst.values()}
        assert {stop.constraint: len(stop.hosts) for stop in stops} == expected["stops"]


def _loss_told(found: AfterLoss, names: dict[str, str], expected: dict[str, Any]) -> dict[str, Any]:
    told = {
        "outcome": found.outcome.value,
        "possible": found.possible,
        "looked_at": len(found.losses),
        "before": _names(found.before.homeless),
        "losses": {
            " ".join(names[host] for host in loss.hosts): _names(loss.homeless)
            for loss in found.losses
            if " ".join(names[host] for host in loss.hosts) in expected["losses"]
        },
    }
    return {key: told[key] for key in expected if key in told}


def _names(vms: tuple[Homeless, ...]) -> list[str]:
    return sorted(vm.name for vm in vms)
