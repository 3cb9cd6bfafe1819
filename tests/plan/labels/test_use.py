"""What planned labels are good for: on real topologies they mean what they say, and requests find places."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from tests.plan.labels.test_cases import plan_of
from tests.topology.smi_hosts import host_of
from vplacer.inventory.host import Host, Passthrough
from vplacer.inventory.site import Site
from vplacer.inventory.site_load import load_site_text
from vplacer.jobs.plan import PlanOptions, make_problem
from vplacer.jobs.source import Reading, SourceOptions
from vplacer.plan.labels.model import LabelScheme, Scheme
from vplacer.plan.labels.outcome import with_labels
from vplacer.plan.labels.wanted import wanted_labels
from vplacer.request.load import parse_request
from vplacer.solver.solve import solve
from vplacer.solver.verdict import Solution, SolveOptions, Status
from vplacer.topology.build import build_host_topology
from vplacer.topology.host_topology import HostTopology
from vplacer.topology.importers.facts import ReadOptions
from vplacer.topology.importers.fit import overlay_from_facts
from vplacer.topology.importers.nvidia_smi import matrix_facts
from vplacer.topology.importers.smi_matrix import parse_matrix


def real_host(path: Path) -> tuple[Host, HostTopology]:
    """Return the host a public matrix describes, all its cards passed through."""
    matrix = parse_matrix(path.read_text(encoding="utf-8"))
    host, addresses = host_of(matrix)
    cards = frozenset(addresses.values())
    options = ReadOptions(gpus=tuple(addresses[row.label] for row in matrix.gpu_rows))
    overlay = overlay_from_facts(matrix_facts(matrix, host, options), host, created="2026-11-01T00:00:00Z")
    devices = tuple(
        replace(device, passthrough=Passthrough(capable=True, enabled=True, active=True))
        if device.address in cards
        else device
        for device in host.pci_devices
    )
    host = replace(host, pci_devices=devices)
    return host, build_host_topology(host, [overlay.overlay])


@pytest.mark.parametrize("scheme", list(Scheme))
def test_cards_of_one_label_are_near_each_other_on_public_topologies(test_data: Path, scheme: Scheme) -> None:
    seen = 0
    for path in sorted((test_data / "nvidia-smi-topo").glob("*.txt")):
        host, topology = real_host(path)
        wanted = wanted_labels(host, topology, LabelScheme(scheme))
        assert len(wanted) == len(topology.gpus) + len(topology.nics)
        for item in wanted:
            assert (item.label is None) != (item.why is None), path.name
            assert item.label is None or item.node is not None
        for one, other in combinations([item for item in wanted if item.label], 2):
            if one.label != other.label:
                continue
            seen += 1
            a, b = one.card.address, other.card.address
            assert one.node == other.node, path.name
            if "-p" in (one.label or ""):
                assert (topology.lanes(a, b) or 0) > 0, path.name
            if "-s" in (one.label or ""):
                first, second = topology.device(a), topology.device(b)
                assert first is not None
                assert second is not None
                assert first.switch == second.switch, path.name
    assert seen >= 2


def test_every_nvlink_pair_of_one_node_has_its_label(test_data: Path) -> None:
    folder = test_data / "nvidia-smi-topo"
    host, topology = real_host(folder / "4gpu-pairs-numa-local-with-bdf.txt")
    wanted = wanted_labels(host, topology, LabelScheme(Scheme.PAIR))
    labels = sorted(item.label or "" for item in wanted if item.card.kind == "gpu")
    assert labels == ["gpu-n0-p0", "gpu-n0-p0", "gpu-n1-p0", "gpu-n1-p0"]


SITE = """
format_version: 1
host_kinds:
  a30:
    cpu: {packages: 2, cores: 32}
    memory_gib: 1024
    devices:
      - {gpu: A30, count: 2, node: 0, switch: a}
      - {nic: CX6-DX, node: 0, switch: a, passthrough: active}
      - {gpu: A30, count: 2, node: 1, switch: b}
      - {nic: CX6-DX, node: 1, switch: b, passthrough: active}
    nvlinks: [[gpu0, gpu1], [gpu2, gpu3]]
clusters: [{name: ml, hosts: [{kind: a30, count: 2}]}]
vms: [{name: tpl, template: true, "on": esx01, cpus: 16, memory_gib: 64}]
"""
REQUEST = """
version: 1
defaults: {affinity: label, policy: required}
vms:
  - {template: tpl, name: "train-{n}", count: 4, cpus: 16, gpus: {count: 2, interconnect: nvlink}}
"""


def solved(site: Site, request: str = REQUEST) -> Solution:
    reading = Reading(site.inventory, site.overlays, ())
    options = PlanOptions(source=SourceOptions(file="site.yaml"), request="request.yaml")
    problem = make_problem(parse_request(request, "request.yaml"), reading, options)
    return solve(problem, SolveOptions(), lambda: None)


@pytest.mark.parametrize("scheme", list(Scheme))
def test_with_the_planned_labels_a_request_by_label_finds_its_places(scheme: Scheme) -> None:
    site = load_site_text(SITE, "site.yaml")
    assert solved(site).status is Status.INFEASIBLE
    after: dict[str, dict[Any, str | None]] = {}
    for card in plan_of(site, LabelScheme(scheme)).changes:
        after.setdefault(card.host, {})[card.address] = card.after
    labelled = replace(site, inventory=with_labels(site.inventory, after))
    found = solved(labelled)
    assert found.status is Status.OPTIMAL
    assert len(found.placements) == 4
    assert sorted((place.host, place.nodes) for place in found.placements) == [
        ("host-1001", (0,)),
        ("host-1001", (1,)),
        ("host-1002", (0,)),
        ("host-1002", (1,)),
    ]
    assert all(device.label for place in found.placements for device in place.devices)
