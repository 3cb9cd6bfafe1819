"""Every public topology file is read, with exact counts, and goes through an overlay file unchanged."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.topology.fact_hosts import host_of_facts
from tests.topology.hosts import make_host
from vplacer.errors import FileFormatError, UsageError
from vplacer.inventory.overlay_file import load_overlay_file, save_overlays
from vplacer.inventory.pci import PciAddress
from vplacer.topology.build import build_host_topology
from vplacer.topology.importers.facts import Facts, ReadOptions
from vplacer.topology.importers.fit import overlay_from_facts
from vplacer.topology.importers.registry import FORMATS, detect, format_of, read_facts

CREATED = "2026-11-01T00:00:00Z"
CASES: list[dict[str, Any]] = yaml.safe_load(
    (Path(__file__).parent / "imports" / "public_files.yaml").read_text(encoding="utf-8")
)
READABLE = [case for case in CASES if "unreadable" not in case]
ANY_HOST = make_host({"pci": []})


def name(case: dict[str, Any]) -> str:
    return Path(case["file"]).name


def facts_of(case: dict[str, Any], test_data: Path) -> Facts:
    path = test_data / case["file"]
    text = path.read_text(encoding="utf-8")
    return read_facts(format_of(case["format"]), text, path.name, ANY_HOST, ReadOptions())


def test_every_public_file_has_its_case(test_data: Path) -> None:
    found = {
        f"{folder}/{file.name}"
        for folder in ("topo-files", "esxcli")
        for file in (test_data / folder).iterdir()
        if "COPYING" not in file.name
    }
    assert found == {case["file"] for case in CASES}


@pytest.mark.parametrize("case", CASES, ids=name)
def test_the_content_tells_the_format(case: dict[str, Any], test_data: Path) -> None:
    text = (test_data / case["file"]).read_text(encoding="utf-8")
    assert detect(text, "file").name == case["format"]


def test_the_content_tells_a_matrix(test_data: Path) -> None:
    for path in sorted((test_data / "nvidia-smi-topo").glob("*.txt")):
        assert detect(path.read_text(encoding="utf-8"), path.name).name == "nvidia-smi", path.name


@pytest.mark.parametrize("case", READABLE, ids=name)
def test_what_the_file_says(case: dict[str, Any], test_data: Path) -> None:
    facts = facts_of(case, test_data)
    assert len(facts.devices) == case["functions"]
    assert sum(fact.needed for fact in facts.devices) == case["gpus"]
    assert Counter("none" if f.node is None else f.node for f in facts.devices) == case["nodes"]
    assert Counter(link.lanes for link in facts.links) == case["lanes"]


@pytest.mark.parametrize("known", [True, False], ids=["vCenter knows the nodes", "vCenter knows none"])
@pytest.mark.parametrize("case", READABLE, ids=name)
def test_the_topology_is_the_files(
    case: dict[str, Any], known: bool, test_data: Path, tmp_path: Path
) -> None:
    """Import, write, read, build: each card has the node, and each pair the links, that the file told."""
    facts = facts_of(case, test_data)
    host = host_of_facts(facts, nodes_known=known)
    if "refused" in case:
        with pytest.raises(UsageError) as caught:
            overlay_from_facts(facts, host, created=CREATED)
        assert case["refused"] in str(caught.value)
        return
    result = overlay_from_facts(facts, host, created=CREATED, file=name(case))
    assert result.contradictions == ()
    assert result.overlay.detail == f"file {name(case)}"
    save_overlays(tmp_path, (result.overlay,))
    (file,) = tmp_path.iterdir()
    assert load_overlay_file(file) == (result.overlay,)
    assert sum(device.numa_node is not None for device in result.overlay.devices) == case["taken"]
    # Without vCenter's nodes the file alone must tell them.
    topology = build_host_topology(host_of_facts(facts, nodes_known=False), load_overlay_file(file))
    assert topology.mismatches == ()
    told = {fact.address: fact.node for fact in facts.devices}
    assert {gpu.address: gpu.node for gpu in topology.gpus} == {
        g.address: told[g.address] for g in topology.gpus
    }
    for link in facts.links:
        assert topology.lanes(link.a, link.b) == link.lanes


def test_the_passthrough_table_is_refused_by_name(test_data: Path) -> None:
    (case,) = [case for case in CASES if "unreadable" in case]
    with pytest.raises(FileFormatError) as caught:
        facts_of(case, test_data)
    assert case["unreadable"] in str(caught.value)


def test_bases_of_esxcli(test_data: Path) -> None:
    """Addresses are hexadecimal; parent and dependent devices decimal, the latter another function."""
    facts = facts_of(
        {"file": "esxcli/vmnic4-af00-dependent-other-function.txt", "format": "esxcli"}, test_data
    )
    (fact,) = facts.devices
    assert [str(a) for a in (fact.address, fact.parent, fact.dependent)] == [
        "0000:af:00.0",
        "0000:ae:00.0",
        "0000:af:00.2",
    ]


def test_switches_of_azure_are_made_up_and_left_out(test_data: Path) -> None:
    facts = facts_of({"file": "topo-files/ndv4-topo.xml", "format": "nccl"}, test_data)
    assert {fact.parent for fact in facts.devices} == {None}
    # Every GPU of the machine is on bus 0 of a segment of its own.
    assert len({fact.address.segment for fact in facts.devices}) == len(facts.devices)


def test_another_hosts_file_is_refused_by_name(test_data: Path) -> None:
    facts = facts_of({"file": "topo-files/topo_8p_940.xml", "format": "nccl"}, test_data)
    host = host_of_facts(facts)
    gone = PciAddress.parse("0000:0c:00.0")
    fewer = replace(host, pci_devices=tuple(d for d in host.pci_devices if d.address != gone))
    with pytest.raises(UsageError, match=r"gpu 0 0000:0c:00\.0 \(line 6\) is not there"):
        overlay_from_facts(facts, fewer, created=CREATED)


def test_a_tree_that_is_not_vcenters_is_named(test_data: Path) -> None:
    facts = facts_of({"file": "topo-files/topo_8p_940.xml", "format": "nccl"}, test_data)
    host = host_of_facts(facts)
    moved, other = PciAddress.parse("0000:0c:00.0"), PciAddress.parse("0000:13:00.0")
    devices = [replace(d, parent_bridge=other) if d.address == moved else d for d in host.pci_devices]
    result = overlay_from_facts(facts, replace(host, pci_devices=tuple(devices)), created=CREATED)
    assert result.contradictions == (
        "gpu 0 0000:0c:00.0 is below 0000:0a:00.0 in the file, and below 0000:13:00.0 in vCenter",
    )


def test_the_command_offers_every_format() -> None:
    from vplacer.cli.topology_import import FORMATS as OFFERED

    assert ("auto", *(item.name for item in FORMATS)) == OFFERED
