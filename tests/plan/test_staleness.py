"""Staleness and drift: which fields count, and what is said of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tests.plan.carry_out import World
from tests.plan.cases import case_named
from vplacer.inventory.host import Host
from vplacer.inventory.pci import PciAddress
from vplacer.inventory.vcenter import Inventory
from vplacer.inventory.vm import Vm, VmPower
from vplacer.plan.staleness import drift, moved_cards, stale_fields

CASE = case_named("a bit of everything")
PLAN = CASE.plan()
NOW = CASE.problem.inventory


def _with_vm(name: str, /, **changes: Any) -> Inventory:
    assert any(vm.name == name for vm in NOW.vms)
    return replace(NOW, vms=tuple(replace(vm, **changes) if vm.name == name else vm for vm in NOW.vms))


def _with_host(name: str, change: Callable[[Host], Host]) -> Inventory:
    return replace(NOW, hosts=tuple(change(host) if host.name == name else host for host in NOW.hosts))


def _without_vm(name: str) -> Inventory:
    return replace(NOW, vms=tuple(vm for vm in NOW.vms if vm.name != name))


def _moved_card(host: Host) -> Host:
    old, new = PciAddress.parse("0000:17:00.0"), PciAddress.parse("0000:1a:00.0")
    devices = tuple(replace(d, address=new) if d.address == old else d for d in host.pci_devices)
    nodes = tuple(
        replace(node, devices=tuple(new if a == old else a for a in node.devices)) for node in host.numa_nodes
    )
    return replace(host, pci_devices=devices, numa_nodes=nodes)


TRAIN: Vm = next(vm for vm in NOW.vms if vm.name == "llm-train-01")
WEB: Vm = next(vm for vm in NOW.vms if vm.name == "web-1")

STALE = {
    "a VM to be changed has more CPUs": (_with_vm("llm-train-01", cpus=24), [("llm-train-01", "cpus")]),
    "its devices are others": (
        _with_vm("llm-train-01", devices=TRAIN.devices[1:]),
        [("llm-train-01", "devices")],
    ),
    "it has a snapshot now": (
        _with_vm("llm-train-01", snapshot_count=1),
        [("llm-train-01", "has_snapshots")],
    ),
    "it is off": (
        _with_vm("llm-train-01", power=VmPower.OFF),
        [("esx3", "running"), ("llm-train-01", "power")],
    ),
    "a neighbour grew": (_with_vm("web-1", memory_mib=99_000), [("web-1", "memory_mib")]),
    "a neighbour is gone": (_without_vm("web-1"), [("vdi2", "running"), ("web-1", "exists")]),
    "a VM came to a host of the plan": (
        replace(NOW, vms=(*NOW.vms, replace(WEB, moid="vm-999", name="new"))),
        [("vdi2", "running")],
    ),
    "a host went into maintenance": (
        _with_host("esx3", lambda host: replace(host, in_maintenance=True)),
        [("esx3", "maintenance")],
    ),
    "another vCenter": (
        replace(NOW, about=replace(NOW.about, instance_uuid="other")),
        [("vc-lab", "instance_uuid")],
    ),
    "the name is taken": (
        replace(NOW, vms=(*NOW.vms, replace(WEB, moid="vm-999", name="batch-1", power=VmPower.OFF))),
        [("batch-1", "exists")],
    ),
}


@pytest.mark.parametrize("name", STALE)
def test_stale(name: str) -> None:
    inventory, expected = STALE[name]
    assert sorted((item.name, item.field) for item in stale_fields(PLAN, inventory)) == sorted(expected)


NOT_STALE = {
    "nothing": NOW,
    "changeVersion moved": _with_vm("llm-train-01", change_version="later"),
    "renamed": _with_vm("llm-train-01", name="other"),
    "vSphere gave a card another id": _with_vm("llm-train-01", overhead_mib=999),
    "a neighbour was renamed and tagged": _with_vm("web-1", name="web-one", tags=("a:b",)),
    "a VM on a host that the plan does not use": _with_vm("notebook", cpus=99),
    "a neighbour that is off": replace(
        NOW, vms=(*NOW.vms, replace(WEB, moid="vm-999", name="new", power=VmPower.OFF))
    ),
}


@pytest.mark.parametrize("name", NOT_STALE)
def test_not_stale(name: str) -> None:
    assert stale_fields(PLAN, NOT_STALE[name]) == ()


def _bridge_in_its_place(host: Host) -> Host:
    """As after another card was put in: all behind it has another bus number (xcp-ng/xcp #412, #414)."""
    moved = _moved_card(host)
    bridge = next(device for device in host.pci_devices if device.class_id == 0x0604)
    there = replace(bridge, address=PciAddress.parse("0000:17:00.0"))
    return replace(moved, pci_devices=tuple(sorted((*moved.pci_devices, there), key=lambda d: d.address)))


@pytest.mark.parametrize("change", [_moved_card, _bridge_in_its_place])
def test_a_card_that_moved_is_not_missing_and_new(change: Callable[[Host], Host]) -> None:
    (item,) = stale_fields(PLAN, _with_host("esx1", change))
    assert (item.name, item.field) == ("esx1", "cards")
    assert item.detail == "10de:20b7 moved from 0000:17:00.0 to 0000:1a:00.0"


A16, A2 = "10de:25b6:10de:14a9", "10de:25b6:10de:157e"


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        # Two equal cards went up by one bus: at 66 nothing seems to have changed.
        (["65:00.0 A16", "66:00.0 A16"], ["66:00.0 A16", "67:00.0 A16"], ["65:00.0 67:00.0"]),
        (["65:00.0 A16 slot 1"], ["66:00.0 A16 slot 1"], ["65:00.0 66:00.0"]),
        # The same model in another slot is another card.
        (["65:00.0 A16 slot 1"], ["66:00.0 A16 slot 2"], []),
        # Where a slot is told it decides, whatever comes first.
        (
            ["65:00.0 A16", "66:00.0 A16 slot 2"],
            ["75:00.0 A16 slot 2", "76:00.0 A16"],
            ["65:00.0 76:00.0", "66:00.0 75:00.0"],
        ),
        # One device id, two models: an A2 in place of an A16, and an A2 elsewhere, are no move.
        (["65:00.0 A16"], ["65:00.0 A2"], []),
        (["65:00.0 A16"], ["66:00.0 A2"], []),
        (["65:00.0 A16"], [], []),
    ],
)
def test_cards_are_known_again(before: list[str], after: list[str], expected: list[str]) -> None:
    def cards(texts: list[str]) -> list[str]:
        found = []
        for text in texts:
            address, model, *slot = text.split(" ", 2)
            ids = {"A16": A16, "A2": A2}[model]
            found.append(" ".join([f"0000:{address}", ids, "pNUMA 0", *slot, "passthrough"]))
        return found

    moves = moved_cards(cards(before), cards(after))
    assert [card.what for card in moves] == [
        f"10de:25b6 moved from 0000:{old} to 0000:{new}" for old, new in (text.split() for text in expected)
    ]


def test_another_model_of_one_device_id_is_another_card() -> None:
    def exchanged(host: Host) -> Host:
        devices = tuple(
            replace(d, ids=replace(d.ids, sub_device=0xBEEF)) if d.ids.device == 0x20B7 else d
            for d in host.pci_devices
        )
        return replace(host, pci_devices=devices)

    (item,) = stale_fields(PLAN, _with_host("esx1", exchanged))
    assert (item.field, item.detail) == ("cards", None)


def test_drift_names_the_change_with_both_values() -> None:
    (item,) = drift(PLAN, _with_vm("web-1", memory_mib=99_000))
    assert (item.name, item.field, item.was, item.now) == ("web-1", "memory_mib", 16_384, 99_000)


def test_a_half_done_plan_leaves_only_what_others_did() -> None:
    """The first steps are done, and somebody else switched a neighbour off: only that is drift."""
    world = World(NOW)
    world.carry_out(replace(PLAN, steps=PLAN.steps[:2]))
    (web,) = [moid for moid, vm in world.vms.items() if vm.name == "web-1"]
    world.vms[web] = replace(world.vms[web], power=VmPower.OFF)
    found = [(item.name, item.field, item.now) for item in drift(PLAN, world.result())]
    assert ("web-1", "power", "poweredOff") in found
    assert {name for name, _, _ in found} == {"web-1", "vdi2", "llm-train-01"}
