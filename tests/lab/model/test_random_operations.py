"""Whatever is done, in whatever order, leaves a vCenter that can be."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import REPO
from tests.lab.model.invariants import check
from vplacer.inventory.load import load_inventory_file
from vplacer.inventory.site import Site
from vplacer.inventory.vm import AllowedDevice, DynamicBacking, SriovBacking, VgpuBacking
from vplacer.lab.model.card_choice import CardOrder, Luck
from vplacer.lab.model.edit import DeviceEdit, VmEdit
from vplacer.lab.model.faults import LabFault
from vplacer.lab.model.machine import Machine, MachineOptions
from vplacer.lab.model.making import CloneSpec
from vplacer.lab.model.state import LabState, seed_state
from vplacer.plan.changes import Action

HERE = Path(__file__).parent / "sites"
SITES = [
    HERE / "plain.yaml",
    HERE / "shared.yaml",
    HERE / "reserve.yaml",
    *(REPO / "fixtures/sites" / f"{name}.yaml" for name in ("nvswitch", "vgpu", "a30pairs")),
]

NUMBER = st.integers(0, 10_000)
OPERATIONS = st.lists(
    st.tuples(
        st.sampled_from(
            [
                *("power_on", "power_on", "power_on", "power_off", "relocate", "relocate", "suspend"),
                *("clone", "destroy", "upgrade", "size", "add", "remove", "shut_down", "lock"),
            ]
        ),
        NUMBER,
        NUMBER,
        st.sampled_from([0.0, 0.0, 2.0, 60.0]),
    ),
    min_size=1,
    max_size=25,
)


@cache
def _site(path: Path) -> Site:
    return load_inventory_file(path)


def _pick(items: Any, number: int) -> Any:
    return items[number % len(items)]


def _edit(machine: Machine, name: str, vm: str, number: int) -> VmEdit:
    found = machine.tables.vms[vm]
    if name == "size":
        return VmEdit(cpus=1 + number % 40, memory_mib=4096 * (1 + number % 30), cores_per_socket=0)
    if name == "lock":
        return VmEdit(memory_locked_to_max=number % 2 == 0)
    if name == "remove" and found.devices:
        key = _pick(found.devices, number).key
        return VmEdit(devices=(DeviceEdit(Action.REMOVE, key),))
    host = machine.tables.hosts[found.host or ""]
    cards = [card for card in host.pci_devices if card.passthrough is not None and card.passthrough.active]
    backings = [
        SriovBacking(None, None, None),
        *(VgpuBacking(profile.name) for profile in host.vgpu_profiles),
        *(DynamicBacking((AllowedDevice(card.ids.vendor, card.ids.device),)) for card in cards),
    ]
    add = DeviceEdit(Action.ADD, -1, _pick(backings, number))
    return VmEdit(memory_locked_to_max=True, devices=(add,))


def _do(machine: Machine, name: str, vm: str, number: int) -> None:
    host = _pick(list(machine.tables.hosts), number)
    match name:
        case "power_on":
            machine.power_on(vm, host if number % 3 == 0 else None)
        case "power_off" | "suspend" | "destroy" | "shut_down":
            getattr(machine, name)(vm)
        case "relocate":
            machine.relocate(vm, host)
        case "clone":
            machine.clone(vm, CloneSpec(f"clone-{number}", host))
        case "upgrade":
            machine.upgrade(vm, 19 + number % 4)
        case _:
            machine.reconfigure(vm, _edit(machine, name, vm, number))


@pytest.mark.parametrize("path", SITES, ids=lambda path: path.stem)
@given(operations=OPERATIONS, luck=st.sampled_from(list(Luck)), seed=st.integers(0, 5))
@settings(max_examples=25, deadline=None, derandomize=True)
def test_no_sequence_of_operations_leaves_what_cannot_be(
    path: Path, operations: list[tuple[str, int, int, float]], luck: Luck, seed: int
) -> None:
    site = _site(path)
    options = MachineOptions(order=CardOrder(luck, seed))
    machine = Machine(seed_state(site), site.overlays, options=options)
    for name, which, number, seconds in operations:
        vm = _pick(list(machine.tables.vms), which)
        try:
            _do(machine, name, vm, number)
        except LabFault:
            continue
        machine.advance(seconds)
    machine.run_out()
    check(machine)
    assert all(task.ended for task in machine.tasks())


@pytest.mark.parametrize("path", SITES, ids=lambda path: path.stem)
@given(operations=OPERATIONS)
@settings(max_examples=15, deadline=None, derandomize=True)
def test_a_task_that_fails_changes_nothing_and_a_write_moves_the_change_version(
    path: Path, operations: list[tuple[str, int, int, float]]
) -> None:
    site = _site(path)
    machine = Machine(seed_state(site), site.overlays)
    seen = {vm.moid: {vm.change_version} for vm in site.inventory.vms}
    for name, which, number, _ in operations:
        vm = _pick(list(machine.tables.vms), which)
        before = machine.state.inventory
        done = len(machine.tasks())
        try:
            _do(machine, name, vm, number)
        except LabFault:
            assert machine.state.inventory == before
            continue
        machine.run_out()
        now = machine.state.inventory
        tasks = machine.tasks()[done:]
        if tasks and tasks[0].fault is not None:
            assert now == before, f"{name} failed with {tasks[0].fault} and changed something"
        elif name in ("power_on", "upgrade", "size", "add", "remove", "lock"):
            version = now.vm_by_moid[vm].change_version
            assert version not in seen.setdefault(vm, set())
            seen[vm].add(version)


@pytest.mark.parametrize("path", SITES, ids=lambda path: path.stem)
def test_vms_of_a_snapshot_that_ran_have_cards_that_fit_what_is_told(path: Path) -> None:
    """A snapshot does not say which card is whose; all that is told must still hold, and be undone whole."""
    machine = Machine(LabState(_site(path).inventory), _site(path).overlays)
    check(machine)
    for vm in machine.state.inventory.vms:
        if vm.is_on and not vm.ownership.disabled_methods:
            machine.power_off(vm.moid)
    machine.run_out()
    check(machine)
    running = {vm.moid for vm in machine.state.inventory.vms if vm.is_on}
    assert {item.vm for item in machine.state.extras.held} <= running


@pytest.mark.parametrize("path", sorted((REPO / "fixtures/sites").glob("*.yaml")), ids=lambda path: path.stem)
def test_every_vm_of_an_example_that_runs_can_be_started_again(path: Path) -> None:
    site = _site(path)
    machine = Machine(seed_state(site), site.overlays)
    running = [vm for vm in site.inventory.vms if vm.is_on and not vm.ownership.disabled_methods]
    for vm in running:
        machine.power_off(vm.moid)
    machine.run_out()
    for vm in running:
        machine.power_on(vm.moid, vm.host)
    machine.run_out()
    assert [(task.entity_name, task.fault) for task in machine.tasks() if task.fault is not None] == []
    check(machine)
