"""When a device a VM has is the one it must have."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.plan.cases import case_named, with_inventory
from vplacer.errors import InventoryIncomplete
from vplacer.inventory.host import Host
from vplacer.inventory.pci import PciAddress
from vplacer.inventory.vm import (
    AllowedDevice,
    Backing,
    DvxBacking,
    DynamicBacking,
    SriovBacking,
    StaticBacking,
    UnknownBacking,
    VgpuBacking,
)
from vplacer.plan.device_match import managed_kind, same_backing
from vplacer.plan.wanted_devices import WantedDevice
from vplacer.request.demand import BoundBy

CASE = case_named("what is as it should be is not touched")
HOST: Host = CASE.problem.inventory.hosts[0]
CARD = next(card for card in HOST.pci_devices if card.ids.device == 0x20B7)
NIC = next(card for card in HOST.pci_devices if card.ids.device == 0x101D)

STATIC = StaticBacking(CARD.address, "20b7", 0x10DE, "sys-1", "A30")
A30 = AllowedDevice(0x10DE, 0x20B7)
DYNAMIC = DynamicBacking((A30,), "gpu-n0")
VF = SriovBacking(NIC.address, None, "lan")
ANY_VF = SriovBacking(None, None, "lan")


@pytest.mark.parametrize(
    ("have", "want", "moves", "expected"),
    [
        (STATIC, STATIC, False, True),
        (replace(STATIC, vendor_id=0x10DE - 0x10000), STATIC, False, True),
        (replace(STATIC, device_id="20B7", device_name="other"), STATIC, False, True),
        (replace(STATIC, device_id="0x20b7"), STATIC, False, True),
        (replace(STATIC, device_id="0ff2"), replace(STATIC, device_id="ff2"), False, True),
        (replace(STATIC, device_id=str(0x20B7)), STATIC, False, False),
        (replace(STATIC, device_id=""), STATIC, False, False),
        (replace(STATIC, device_id="no id"), STATIC, False, False),
        (replace(STATIC, system_id="sys-2"), STATIC, False, False),
        (replace(STATIC, address=PciAddress(0, 1, 2, 3)), STATIC, False, False),
        (STATIC, STATIC, True, False),
        (replace(DYNAMIC, assigned_id="17"), DYNAMIC, True, True),
        (DynamicBacking((replace(A30, sub_vendor=0x10DE),), "gpu-n0"), DYNAMIC, False, None),
        (DynamicBacking((A30, AllowedDevice(0x10DE, 0x20F1)), "gpu-n0"), DYNAMIC, False, False),
        (DynamicBacking((), "gpu-n0"), DYNAMIC, False, False),
        (DynamicBacking((A30,)), DYNAMIC, False, False),
        (DynamicBacking((A30,), ""), DynamicBacking((A30,)), False, True),
        (DYNAMIC, STATIC, False, False),
        (VgpuBacking("a", migratable=True), VgpuBacking("a"), True, True),
        (VgpuBacking("a"), VgpuBacking("b"), False, False),
        (VF, VF, False, True),
        (VF, VF, True, False),
        (VF, ANY_VF, False, True),
        (ANY_VF, ANY_VF, True, True),
        (ANY_VF, VF, False, False),
        (replace(VF, network="wan"), VF, False, False),
    ],
)
def test_same_backing(have: Backing, want: Backing, moves: bool, expected: bool | None) -> None:
    """``expected`` None: it depends on whether the card has those subsystem ids."""
    if expected is None:
        expected = CARD.ids.sub_vendor == 0x10DE
    wanted = WantedDevice("gpu0", "gpu", 0, want, CARD.address, BoundBy.PLATFORM)
    assert same_backing(have, wanted, HOST, moves) is expected


@pytest.mark.parametrize(
    ("backing", "kind"),
    [
        (STATIC, "gpu"),
        (DYNAMIC, "gpu"),
        (DynamicBacking((AllowedDevice(0x15B3, 0x101D),)), "nic"),
        (DynamicBacking((AllowedDevice(0x144D, 0xA80A),)), None),
        (replace(STATIC, address=PciAddress(0, 9, 9, 0), device_id="not hex"), None),
        (VgpuBacking("a"), "gpu"),
        (VF, "nic"),
        (DvxBacking("x"), None),
        (UnknownBacking("x"), None),
    ],
)
def test_which_devices_a_request_speaks_of(backing: Backing, kind: str | None) -> None:
    assert managed_kind(backing, [HOST]) == kind


def test_a_static_backing_needs_the_system_id_of_the_host() -> None:
    case = case_named("static pins card and nodes and costs vMotion HA DRS and snapshots")
    inventory = case.problem.inventory
    hosts = tuple(
        replace(host, pci_devices=tuple(replace(card, system_id=None) for card in host.pci_devices))
        for host in inventory.hosts
    )
    with pytest.raises(
        InventoryIncomplete, match=r"esx1: the host does not tell the system id of 0000:4b:00\.0"
    ):
        with_inventory(case, replace(inventory, hosts=hosts)).plan()


def test_a_device_id_stored_in_decimal_is_put_right() -> None:
    """Hosts need hexadecimal; decimal makes power-on fail (govmomi #2248)."""
    case = case_named("a VM that stays is not held against its own settings")
    inventory = case.problem.inventory
    vms = tuple(
        replace(
            vm,
            cpus=16,
            devices=tuple(
                replace(device, backing=replace(device.backing, device_id=str(0x20B7)))
                if isinstance(device.backing, StaticBacking)
                else device
                for device in vm.devices
            ),
        )
        for vm in inventory.vms
    )
    placements = tuple(replace(placement, stays=False) for placement in case.solution.placements)
    request = replace(
        case.problem.request,
        demands=tuple(replace(demand, cpus=16) for demand in case.problem.request.demands),
    )
    problem = replace(case.problem, inventory=replace(inventory, vms=vms), request=request)
    solution = replace(case.solution, placements=placements)
    plan = replace(case, problem=problem, solution=solution).plan()
    (change,) = [step.change for step in plan.steps if step.kind == "reconfigure"]
    ids = [(item.action.value, (item.before or item.after).backing.device_id) for item in change.devices]  # type: ignore[union-attr]
    assert ids == [("remove", "8375"), ("remove", "8375"), ("add", "20b7"), ("add", "20b7")]


def test_clearing_a_vnuma_node_says_so_and_taking_it_back_restores_what_was() -> None:
    """Unset means "keep" in a change, "none" in a configuration (vSphere API: VirtualDevice.numaNode)."""
    plan = case_named("a vNUMA node that no longer exists is cleared and none stays none").plan()
    (step,) = [step for step in plan.steps if step.kind == "reconfigure"]
    (change,) = step.change.devices  # type: ignore[union-attr]
    assert change.before is not None
    assert change.after is not None
    assert (change.action.value, change.before.numa_node, change.after.numa_node) == ("edit", 1, -1)
    (undo,) = step.undo.devices  # type: ignore[union-attr]
    assert undo.after is not None
    assert undo.after.numa_node == 1


def test_taking_back_a_vnuma_node_where_none_was_told_clears_it() -> None:
    plan = case_named("unset and none are the same and a wrong vNUMA node is corrected").plan()
    (step,) = [step for step in plan.steps if step.kind == "reconfigure"]
    first = step.change.devices[0]  # type: ignore[union-attr]
    assert (first.before.numa_node, first.after.numa_node) == (None, 0)
    undone = step.undo.devices[0]  # type: ignore[union-attr]
    assert undone.ref == first.ref
    assert undone.after.numa_node == -1
