"""The topology XML of NCCL: the form of NCCL's own files, and nothing in it that is not known."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from tests.report.views import hard, sites, some_views
from vplacer.inventory.device_kind import DeviceKind
from vplacer.report.topology_nccl import render_nccl
from vplacer.topology.host_view import HostView
from vplacer.topology.importers.nccl import read

# Elements and attributes that NCCL writes (NVIDIA/nccl, src/graph/xml.cc).
KNOWN = {
    "system": {"version"},
    "cpu": {"numaid", "affinity", "arch", "vendor", "familyid", "modelid", "host_hash"},
    "pci": {
        *("busid", "class", "vendor", "device", "subsystem_vendor", "subsystem_device"),
        *("link_speed", "link_width"),
    },
    "gpu": {"dev", "sm", "rank", "gdr"},
    "nvlink": {"target", "count", "tclass"},
    "xgmi": {"target", "count", "tclass"},
    "nic": set(),
    "net": {"name", "dev", "speed", "port", "guid", "maxconn", "gdr"},
}


def document(view: HostView) -> ET.Element:
    return ET.fromstring(render_nccl(view))


def below(cpu: ET.Element) -> dict[str, ET.Element]:
    return {pci.get("busid", ""): pci for pci in cpu.iter("pci")}


@pytest.mark.parametrize("path", sites(), ids=lambda path: path.stem)
def test_every_gpu_and_nic_is_below_its_node(path: Path) -> None:
    for view in some_views(path):
        root = document(view)
        for element in root.iter():
            assert set(element.attrib) <= KNOWN[element.tag], element.tag
        placed = {address: cpu.get("numaid", "") for cpu in root.findall("cpu") for address in below(cpu)}
        assert len(placed) == sum(1 for _ in root.iter("pci")), "an address stands once"
        for line in view.description.devices:
            address = str(line.place.address)
            if line.place.kind is DeviceKind.NVSWITCH:
                assert address not in placed
            else:
                expected = "-1" if line.place.node is None else str(line.place.node)
                assert placed[address] == expected
        gpus = [gpu.get("dev") for gpu in root.iter("gpu")]
        assert sorted(gpus) == sorted(str(index) for index in range(len(view.topology.gpus)))


def test_links_name_both_ends() -> None:
    root = document(hard("nps4"))
    ends = {
        (pci.get("busid"), link.get("target"), link.get("count"), link.get("tclass"))
        for pci in root.iter("pci")
        for link in pci.findall("gpu/nvlink")
    }
    assert ends == {
        ("0000:04:00.0", "0000:a1:00.0", "4", "0x030200"),
        ("0000:a1:00.0", "0000:04:00.0", "4", "0x030200"),
    }


def test_over_nvswitch_all_links_go_to_the_switch() -> None:
    links = [link.attrib for link in document(hard("dgx2")).iter("nvlink")]
    assert len(links) == 16
    assert {tuple(link.values()) for link in links} == {("fffffff:ffff:ff", "6", "0x068000")}


def test_switches_hold_what_is_behind_them() -> None:
    root = document(hard("dgx2"))
    outer = next(pci for pci in root.iter("pci") if pci.get("busid") == "0000:04:00.0")
    assert [pci.get("class") for pci in outer.findall("pci")] == ["0x060400", "0x060400"]
    inner = outer.findall("pci")[0]
    assert [pci.get("class") for pci in inner.findall("pci")] == ["0x030200", "0x030200", "0x020000"]


def test_what_is_not_known_is_left_out_and_said() -> None:
    odd = render_nccl(hard("odd"))
    assert "<nvlink" not in odd
    assert "NVLinks left out: not all of GPU0 GPU1 GPU2 GPU3 GPU4 are known" in odd
    assert 'link_speed="" link_width=""' in odd
    split = render_nccl(hard("split"))
    assert "Switches left out" in split
    assert {cpu.get("numaid") for cpu in ET.fromstring(split).findall("cpu")} == {"0", "-1"}
    silent = document(hard("silent"))
    assert [cpu.get("numaid") for cpu in silent.findall("cpu") if below(cpu)] == ["-1"]


def test_affinity_is_the_mask_of_the_threads() -> None:
    cpus = {cpu.get("numaid"): cpu.get("affinity") for cpu in document(hard("nps4")).findall("cpu")}
    assert cpus["0"] == "ffffffff"
    assert cpus["1"] == "ffffffff,00000000"
    odd = {cpu.get("numaid"): cpu.get("affinity") for cpu in document(hard("odd")).findall("cpu")}
    assert odd["2"] is None, "a node without cores"


@pytest.mark.parametrize("path", sites(), ids=lambda path: path.stem)
def test_what_is_written_is_read_back(path: Path) -> None:
    for view in some_views(path):
        if not view.description.devices:
            continue
        facts = read(render_nccl(view), "export.xml")
        found = {device.address: device for device in facts.devices}
        for line in view.description.devices:
            if line.place.kind is not DeviceKind.NVSWITCH:
                device = found[line.place.address]
                assert (device.node, device.ids) == (line.place.node, line.place.ids)
        joined = {(link.a, link.b): link.lanes for link in facts.links if link.lanes > 0}
        if any(line.open_links for line in view.description.devices):
            assert joined == {}
        else:
            known = {(link.a, link.b): link.lanes for link in view.topology.links if link.lanes > 0}
            assert joined == known
