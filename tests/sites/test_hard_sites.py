"""Runs tests/cases/sites: sites of hosts that are not plain, along the whole chain.

A file NAME.yaml belongs to the site of the same name: the example of ``fixtures/sites``, else the inventory
beside it. The site is served over SOAP and read by the collector; what is read must be what the file says,
and what follows from it is stated here:

- ``gaps``: object and path of what cannot be read;
- ``hosts``: by name, the keys of `tests.topology.observed` and ``lines`` (fields of a device as shown),
  ``nvlink_unknown`` (pairs of GPUs) and ``findings`` (kind to VM to a pattern; all of the host's).
  ``gpu0``, ``nic0`` are cards in the order of addresses;
- ``requests``: each with a ``title``, a ``request`` or the ``file`` of an example, and ``expect`` as in
  `tests.solver.outcome`. A placement is also put before the judge; ``xfail``: what is known to be wrong.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import REPO
from tests.sites.chain import ChainedSite, chained, check_findings, comparable, described
from tests.solver.outcome import check_expected, decide
from tests.topology.observed import check_topology
from vplacer.constraints.judge import check
from vplacer.constraints.state import State
from vplacer.inventory.yaml_marks import parse_document
from vplacer.report.topology_json import render_json
from vplacer.report.topology_tree import render_tree
from vplacer.topology.build import build_topologies

CASES = REPO / "tests" / "cases" / "sites"
SITES = sorted(path.stem for path in CASES.glob("*.yaml"))
EXAMPLES = REPO / "fixtures" / "sites"


@cache
def case_of(name: str) -> dict[str, Any]:
    data: dict[str, Any] = parse_document((CASES / f"{name}.yaml").read_text(), name).data
    assert set(data) <= {"source", "gaps", "hosts", "requests"}, sorted(data)
    return data


@cache
def chain_of(name: str) -> ChainedSite:
    return chained(_inventory(name))


def _inventory(name: str) -> Path:
    example = EXAMPLES / f"{name}.yaml"
    return example if example.is_file() else CASES / "inventory" / f"{name}.yaml"


def _requests() -> list[Any]:
    return [
        pytest.param(
            name,
            request,
            id=f"{name}: {request['title']}",
            marks=[pytest.mark.xfail(strict=True, reason=request["xfail"])] if "xfail" in request else [],
        )
        for name in SITES
        for request in case_of(name)["requests"]
    ]


def test_every_odd_inventory_has_its_case() -> None:
    assert {path.stem for path in (CASES / "inventory").glob("*.yaml")} <= set(SITES)


@pytest.mark.parametrize("name", SITES)
def test_it_is_read_back(name: str) -> None:
    chain = chain_of(name)
    wanted = {(item["object"], item["path"]) for item in case_of(name).get("gaps", ())}
    names = {host.moid: host.name for host in chain.read.hosts}
    assert {(names.get(gap.object, gap.object), gap.path) for gap in chain.read.gaps} >= wanted
    partly = {gap.object for gap in chain.read.gaps}
    assert {names[moid] for moid in partly if moid in names} == {host for host, _ in wanted}
    read, told = comparable(chain.read), comparable(chain.site.inventory)
    assert [h for h in read.hosts if h.moid not in partly] == [h for h in told.hosts if h.moid not in partly]
    assert read.vms == told.vms
    assert (read.clusters, read.datastores, read.networks) == (told.clusters, told.datastores, told.networks)


@pytest.mark.parametrize("name", SITES)
def test_its_topology_is_that_of_the_file(name: str) -> None:
    chain = chain_of(name)
    partly = {gap.object for gap in chain.read.gaps}
    topologies = build_topologies(chain.site.inventory, chain.site.overlays)
    for host in chain.site.inventory.hosts:
        if host.moid in partly:
            continue
        read = chain.describe(host.name)
        assert render_json(read) == render_json(described(chain.site.inventory, topologies, host.name))
        assert render_tree(read).startswith(host.name)


@pytest.mark.parametrize(
    ("name", "host"), [(name, host) for name in SITES for host in case_of(name).get("hosts", {})]
)
def test_host(name: str, host: str) -> None:
    chain = chain_of(name)
    expect = dict(chain.resolved(host, case_of(name)["hosts"][host]))
    shown = chain.describe(host)
    lines = {str(line.place.address): line for line in shown.devices}
    for card, fields in expect.pop("lines", {}).items():
        line = lines[card]
        assert {key: _field(line, key) for key in fields} == fields, card
    if "nvlink_unknown" in expect:
        assert sum(len(line.open_links) for line in shown.devices) // 2 == expect.pop("nvlink_unknown")
    if "findings" in expect:
        check_findings(shown, expect.pop("findings"))
    if expect:
        check_topology(chain.topologies[chain.host(host).moid], expect)


def _field(line: Any, key: str) -> Any:
    """Return what is shown of a device: state, label, who holds it or what is reset with it, and so on."""
    match key:
        case "label":
            return line.hardware_label
        case "held_by":
            return [holder.name for holder in line.holders]
        case "reset_with":
            return [f"{tied.address.short} {tied.holder.name}" for tied in line.tied]
        case "functions":
            return len(line.place.functions)
        case "links":
            return {str(link.address): link.lanes for link in line.links}
        case "state" | "name" | "link_mbps":
            return getattr(line, key)
    raise AssertionError(f"a case cannot state '{key}' of a device")


@pytest.mark.parametrize(("name", "case"), _requests())
def test_request(name: str, case: dict[str, Any]) -> None:
    chain = chain_of(name)
    request = case.get("request")
    if request is None:
        path = REPO / "fixtures" / "requests" / f"{case['file']}.yaml"
        request = parse_document(path.read_text(), path.name).data
    found = decide(chain.read, chain.site.overlays, {**case, "request": request})
    check_expected(found, case["expect"])
    placed = {placement.demand for placement in found.solution.placements}
    broken = check(State(found.problem, found.solution.placements))
    assert not [item for item in broken if item.object in placed]
