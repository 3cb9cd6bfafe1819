"""Kinds of PCI devices and virtual functions."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.inventory.data import cases, device, ids
from vplacer.inventory.device_kind import DeviceKind, device_kind, physical_devices, virtual_functions
from vplacer.inventory.gpu_models import gpu_by_ids, gpu_by_name, gpu_candidates, gpu_models
from vplacer.inventory.host import Host, PciDevice
from vplacer.inventory.nic_models import nic_by_name, nic_models
from vplacer.inventory.pci import PciAddress, PciIds
from vplacer.inventory.site_load import load_site_text
from vplacer.inventory.vf_ids import is_known_vf

HOST = load_site_text(
    """
format_version: 1
host_kinds: {k: {cpu: {cores: 8}, memory_gib: 64}}
hosts: [{kind: k}]
"""
).inventory.hosts[0]


def host_of(*devices: PciDevice) -> Host:
    return replace(HOST, pci_devices=devices)


@pytest.mark.parametrize("case", cases("device-kinds"), ids=lambda case: case["what"])
def test_kind(case: dict[str, Any]) -> None:
    assert device_kind(device("0000:3b:00.0", case["ids"], case["class"])).value == case["is"]


@pytest.mark.parametrize("case", cases("gpu-names"), ids=lambda case: repr(case["name"]))
def test_gpu_name(case: dict[str, Any]) -> None:
    model = gpu_by_name(case["name"])
    assert (model.name if model else None) == case["is"]
    if "candidates" in case:
        assert list(gpu_candidates(case["name"])) == case["candidates"]


@pytest.mark.parametrize("case", cases("gpu-ids"), ids=lambda case: case["ids"])
def test_gpu_ids(case: dict[str, Any]) -> None:
    model = gpu_by_ids(ids(case["ids"]))
    assert (model.name if model else None) == case["is"]


def test_every_model_is_found_by_its_own_name_and_ids() -> None:
    for model in gpu_models():
        assert gpu_by_name(model.name) is model
        assert gpu_by_ids(model.ids) is model
        assert all(gpu_by_name(alias) is model for alias in model.aliases)
    for nic in nic_models():
        assert nic_by_name(nic.name) is nic
        assert nic.vf_device is None or is_known_vf(nic.vendor, nic.vf_device)
        assert not is_known_vf(nic.vendor, nic.device)


def test_bar_is_at_least_the_memory() -> None:
    for model in gpu_models():
        if model.bar_gib is not None:
            assert model.bar_gib * 1024 >= model.memory_mib
            assert model.bar_gib & (model.bar_gib - 1) == 0


def test_functions_go_to_the_port_that_has_them() -> None:
    ports = [device(f"0000:3b:00.{n}", "15b3:101d", 0x0200, parent="0000:3a:00.0", vfs=2) for n in (0, 1)]
    functions = [device(f"0000:3b:00.{n}", "15b3:101e", 0x0200, parent="0000:3a:00.0") for n in (2, 3, 4, 5)]
    other = device("0000:5e:00.2", "15b3:101e", 0x0200, parent="0000:5d:00.0")
    host = host_of(*ports, *functions, other)
    first, second = (port.address for port in ports)
    assert virtual_functions(host) == {
        functions[0].address: first,
        functions[1].address: first,
        functions[2].address: second,
        functions[3].address: second,
        # Known by its id, though its card is nowhere to be seen.
        other.address: None,
    }
    assert physical_devices(host) == tuple(ports)


def test_functions_of_a_vendor_no_table_knows() -> None:
    card = device("0000:3b:00.0", "abcd:0001", 0x0200, parent="0000:3a:00.0", vfs=2)
    functions = [device(f"0000:3b:00.{n}", "abcd:0002", 0x0200, parent="0000:3a:00.0") for n in (1, 2)]
    third = device("0000:3b:00.3", "abcd:0002", 0x0200, parent="0000:3a:00.0")
    found = virtual_functions(host_of(card, *functions, third))
    assert found == {item.address: card.address for item in functions}, "it says it has two, not three"


def test_two_ports_are_two_cards() -> None:
    ports = [device(f"0000:3b:00.{n}", "8086:1572", 0x0200, parent="0000:3a:00.0", vfs=0) for n in (0, 1)]
    assert virtual_functions(host_of(*ports)) == {}


def test_gpu_functions_share_the_id_of_the_card() -> None:
    card = device("0000:3b:00.0", "10de:20b7", 0x0302)
    functions = [device(f"0000:3b:00.{n}", "10de:20b7", 0x0302) for n in (4, 5)]
    far = device("0000:5e:00.0", "10de:20b7", 0x0302)
    found = virtual_functions(host_of(card, *functions, far))
    assert found == {item.address: card.address for item in functions}


def dump_devices(test_data: Path) -> list[PciDevice]:
    """Return the PCI devices of a real (nested) host's dump."""
    dump = json.loads((test_data / "vcenter-dumps" / "pyvmomi_test_json_host_explode.json").read_text())
    return [
        PciDevice(
            address=PciAddress.parse(item["id"]),
            ids=PciIds.from_signed(
                item["vendorId"], item["deviceId"], item["subVendorId"], item["subDeviceId"]
            ),
            class_id=item["classId"],
            vendor_name=item["vendorName"],
            device_name=item["deviceName"],
            parent_bridge=PciAddress.parse(item["parentBridge"]) if item["parentBridge"] else None,
        )
        for item in dump["hardware"]["pciDevice"]
    ]


def test_a_nested_host_has_bridges_and_no_gpu(test_data: Path) -> None:
    devices = dump_devices(test_data)
    kinds = [device_kind(item) for item in devices]
    assert len(devices) == 48
    assert DeviceKind.GPU not in kinds
    assert sum(item.class_id == 0x0604 for item in devices) == 34
    assert kinds.count(DeviceKind.BRIDGE) >= 34
    assert {item.ids.vendor for item in devices} == {0x8086, 0x15AD}
    assert virtual_functions(host_of(*devices)) == {}
