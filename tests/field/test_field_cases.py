"""Runs tests/cases/field: what people met in the field, each the smallest input and the right answer.

A file is one group. A case has a ``name``, its public ``source``, and ``steps`` of these kinds:

- ``pci``: an element of HostPciDevice as it is sent, to the inventory and a static backing;
- ``address``: spellings of PCI addresses; ``index``: numbers that stand for "unknown";
- ``numa``: an element of HostNumaInfo as it is sent, to nodes;
- ``esxcli``: a listing (``text``, or a public ``file``), to devices, or ``says`` of the error;
- ``matrix``: output of ``nvidia-smi topo -m`` (a public ``file``) of a host like it, to words and nodes;
- ``dump``: the public HostSystem, to counts by kind;
- ``topology``: a site, ``overlays`` made of it once, and what its hosts are (`tests.topology.observed`,
  ``findings`` by kind and VM);
- ``plan``: a site, ``claims`` of hosts, a request and its outcome (`tests.solver.outcome`);
- ``mmio``: memory sizes of cards, to the size of the region; ``cores_per_socket``: vCPUs and the limit.

``gpu0``, ``nic0`` are cards in the order of addresses.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import REPO
from tests.sites.chain import check_findings, described, resolved_cards
from tests.solver.outcome import check_expected, claimed, decide
from tests.topology.esxi_dump import load_dump, numa_info, pci_devices
from tests.topology.observed import check_topology
from tests.topology.smi_hosts import host_of
from tests.vsphere.pci_host import backing_of, facts_of, read_case, read_numa
from vplacer.constraints.vnuma_shape import legal_cores_per_socket
from vplacer.errors import VplacerError
from vplacer.inventory.device_kind import device_kind
from vplacer.inventory.overlay import Overlay, OverlayDevice
from vplacer.inventory.pci import PciAddress, PciIds, known_index
from vplacer.inventory.site import Site
from vplacer.inventory.site_load import load_site_text
from vplacer.inventory.yaml_marks import parse_document
from vplacer.plan.mmio import mmio_size_gb
from vplacer.topology.build import build_host_topology, build_topologies
from vplacer.topology.importers.esxcli import read as read_esxcli
from vplacer.topology.importers.facts import ReadOptions
from vplacer.topology.importers.fit import overlay_from_facts
from vplacer.topology.importers.nvidia_smi import matrix_facts
from vplacer.topology.importers.smi_matrix import parse_matrix

CASES = REPO / "tests" / "cases" / "field"

# What must have a case, by a part of its source: the reports this group of tests was made from.
REPORTS = {
    "pci_identity": [
        "vmware/govmomi #2248",
        "VMware PowerCLI forum",
        "intel/intel-ipsec-mb #153",
        "ESXi host library",
        "open-mpi/hwloc 2pa-pcidomain32bits",
        "community.vmware #1364",
        "xcp-ng/xcp #412",
        "Pensando",
    ],
    "passthrough_state": [
        "HostPciPassthruInfo",
        "communities.vmware.com thread td-p/947254",
        "vm-help.com",
        "harvester/harvester #3126",
        "vmware/pyvmomi test dump",
        "open-mpi/hwloc 16intel64-manyVFs",
        "AsBuiltReport.VMware.vSphere #111",
        "ESXi 8.0U3 notes",
    ],
    "numa": [
        "vbondzio/sowasvonunsupported",
        "vmware/pyvmomi test dump",
        "F. Denneman, 2023-03-02",
        "HostNumaNode.memorySize",
        "terraform-provider-vsphere #532",
        "rancher/rancher #30814",
        "sapcc/helm-charts #6691",
        "VnumaOnCpuHotaddExposed",
        "Using NUMA Systems with ESXi",
        "guest that shows one NUMA node",
        "pci-socket-affinity",
        "share-pci-between-numa-nodes",
        "reserve-numa-with-pci",
        "kubevirt PR #17493",
        "kubevirt #19103",
    ],
    "nvlink": [
        "k8s-device-plugin #546",
        "k8s-device-plugin #1193",
        "k8s-device-plugin #436",
        "ROCm/k8s-device-plugin #210",
        "pairs that cross NUMA nodes",
    ],
    "vgpu": ["F. Denneman, 2026-02-19", "F. Denneman, 2026-02-24", "harvester/pcidevices PR #283"],
}


def _load(group: str) -> dict[str, Any]:
    data: dict[str, Any] = parse_document((CASES / f"{group}.yaml").read_text(), group).data
    return data


def _each_case() -> list[Any]:
    found = []
    for group in sorted(REPORTS):
        document = _load(group)
        for case in document["cases"]:
            assert set(case) <= {"name", "source", "steps", "xfail"}, case["name"]
            assert case["steps"]
            marks = [pytest.mark.xfail(strict=True, reason=case["xfail"])] if "xfail" in case else []
            kinds = document.get("host_kinds", {})
            found.append(pytest.param(case, kinds, id=f"{group}: {case['name']}", marks=marks))
    return found


def test_every_report_has_its_case() -> None:
    assert {path.stem for path in CASES.glob("*.yaml")} == set(REPORTS)
    for group, reports in REPORTS.items():
        sources = [case["source"] for case in _load(group)["cases"]]
        lacking = [report for report in reports if not any(report in source for source in sources)]
        assert not lacking, f"{group}: {lacking}"
        stray = [source for source in sources if not any(report in source for report in reports)]
        assert not stray, f"{group}: {stray}"


@pytest.mark.parametrize(("case", "kinds"), _each_case())
def test_case(case: dict[str, Any], kinds: dict[str, Any], request: pytest.FixtureRequest) -> None:
    def data() -> Path:
        folder: Path = request.getfixturevalue("test_data")
        return folder

    for step in case["steps"]:
        (kind,) = [key for key in step if key in _STEPS]
        _STEPS[kind](step, kinds, data)


_Data = Callable[[], Path]


def _pci(step: dict[str, Any], kinds: dict[str, Any], data: _Data) -> None:
    host = read_case({"sent": step["pci"], **step})
    found = facts_of(host)
    assert {key: found[key] for key in step["read"]} == step["read"]
    if "static" in step:
        assert backing_of(host) == step["static"]


def _address(step: dict[str, Any], kinds: dict[str, Any], data: _Data) -> None:
    for text, canonical in step["address"].items():
        assert str(PciAddress.parse(text)) == canonical


def _index(step: dict[str, Any], kinds: dict[str, Any], data: _Data) -> None:
    for number, known in step["index"]:
        assert known_index(number) == known


def _numa(step: dict[str, Any], kinds: dict[str, Any], data: _Data) -> None:
    nodes = read_numa(step["numa"])
    have = [
        {
            "id": node.id,
            "package": node.package,
            "cores": node.core_count,
            "memory_bytes": node.memory_bytes,
            "devices": [str(address) for address in node.devices],
        }
        for node in nodes
    ]
    assert [{k: found[k] for k in wanted} for found, wanted in zip(have, step["nodes"], strict=True)] == (
        step["nodes"]
    )


def _esxcli(step: dict[str, Any], kinds: dict[str, Any], data: _Data) -> None:
    spec = step["esxcli"]
    if "file" in spec:
        whole = (data() / "esxcli" / spec["file"]).read_text(encoding="utf-8")
        # The first lines of an excerpt say where it is from.
        text = "\n".join(line for line in whole.splitlines() if not line.startswith("#"))
    else:
        text = spec["text"]
    if "says" in step:
        with pytest.raises(VplacerError) as caught:
            read_esxcli(text, "list.txt")
        assert step["says"] in str(caught.value)
        return
    facts = {str(fact.address): fact for fact in read_esxcli(text, "list.txt").devices}
    assert sorted(facts) == sorted(step["devices"])
    for address, wanted in step["devices"].items():
        fact = facts[address]
        have = {
            "node": fact.node,
            "parent": None if fact.parent is None else str(fact.parent),
            "ids": None if fact.ids is None else str(fact.ids),
            "class": fact.class_id,
        }
        assert {key: have[key] for key in wanted} == wanted, address


def _matrix(step: dict[str, Any], kinds: dict[str, Any], data: _Data) -> None:
    """Import a matrix on a host of the shape it describes; it must say the same again."""
    name = step["matrix"]["file"]
    matrix = parse_matrix((data() / "nvidia-smi-topo" / f"{name}.txt").read_text(encoding="utf-8"), name)
    host, addresses = host_of(matrix)
    options = ReadOptions(gpus=tuple(addresses[row.label] for row in matrix.gpu_rows))
    result = overlay_from_facts(matrix_facts(matrix, host, options), host, created="2026-01-01T00:00:00Z")
    topology = build_host_topology(host, [result.overlay])
    relation = {
        f"{a} {b}": topology.relation(addresses[a], addresses[b]) for a, b in combinations(matrix.labels, 2)
    }
    for pair, word in step["words"].items():
        assert relation[pair].word() == word
    for pair, numa in step.get("relations", {}).items():
        assert relation[pair].numa.value == numa
    if "numa" in step:
        assert [row.numa_node for row in matrix.gpu_rows] == step["numa"]


def _dump(step: dict[str, Any], kinds: dict[str, Any], data: _Data) -> None:
    dump = load_dump(data())
    counts = Counter(device_kind(device).value for device in pci_devices(dump))
    assert {kind: counts[kind] for kind in step["dump"]} == step["dump"]
    nodes = numa_info(dump)["numaNode"]
    assert [node.get("pciId") or [] for node in nodes] == step["node_lists"]


def _site(spec: dict[str, Any], kinds: dict[str, Any]) -> Site:
    """Return a site; kinds of the file stand ready, and a template ``t`` for requests."""
    document = {
        "format_version": 1,
        "clusters": [{"name": "c", "drs": "partiallyAutomated", "hosts": spec.get("hosts", [])}],
        "host_kinds": {**kinds, **spec.get("host_kinds", {})},
        "vms": [*spec.get("vms", ())],
        **{key: value for key, value in spec.items() if key not in ("hosts", "host_kinds", "vms")},
    }
    if not any(vm["name"] == "t" for vm in document["vms"]):
        document["vms"].append(
            {
                "name": "t",
                "template": True,
                "on": "esx01",
                "cpus": 4,
                "memory_gib": 16,
                "hardware_version": 20,
            }
        )
    return load_site_text(json.dumps(document), "site.yaml")


def _overlay(spec: dict[str, Any]) -> Overlay:
    """Return an overlay made for devices: their ids by address, and the node they were on."""
    devices = tuple(
        OverlayDevice(PciAddress.parse(at), PciIds(*(int(part, 16) for part in ids.split(":"))), spec["node"])
        for at, ids in spec["devices"].items()
    )
    return Overlay(spec["host"], None, None, "2025-01-01T00:00:00Z", "nvidia-smi topo -m", devices, ())


def _topology(step: dict[str, Any], kinds: dict[str, Any], data: _Data) -> None:
    site = _site(step["topology"], kinds)
    overlays = (*site.overlays, *(_overlay(spec) for spec in step.get("overlays", ())))
    topologies = build_topologies(site.inventory, overlays)
    for host in site.inventory.hosts:
        expect = dict(resolved_cards(topologies[host.moid], step["expect"].get(host.name, {})))
        wanted = expect.pop("findings", None)
        if wanted is not None:
            check_findings(described(site.inventory, topologies, host.name), wanted)
        if expect:
            check_topology(topologies[host.moid], expect)


def _plan(step: dict[str, Any], kinds: dict[str, Any], data: _Data) -> None:
    site = _site(step["plan"], kinds)
    found = decide(claimed(site, step.get("claims", {})), site.overlays, step)
    check_expected(found, step["expect"])


def _mmio(step: dict[str, Any], kinds: dict[str, Any], data: _Data) -> None:
    for bars, size in step["mmio"]:
        assert mmio_size_gb(bars) == size


def _cores_per_socket(step: dict[str, Any], kinds: dict[str, Any], data: _Data) -> None:
    for cpus, limit, legal in step["cores_per_socket"]:
        assert list(legal_cores_per_socket(cpus, limit)) == legal


_STEPS: dict[str, Callable[[dict[str, Any], dict[str, Any], _Data], None]] = {
    "pci": _pci,
    "address": _address,
    "index": _index,
    "numa": _numa,
    "esxcli": _esxcli,
    "matrix": _matrix,
    "dump": _dump,
    "topology": _topology,
    "plan": _plan,
    "mmio": _mmio,
    "cores_per_socket": _cores_per_socket,
}
