"""Writing to vcsim, unmodified: what it stores must be what vplacer reads back."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.conftest import REPO
from tests.credentials import RECORD_PASSWORD, RECORD_USER
from tests.witness_programs import connect_options, serving
from vplacer.errors import StaleError, VSphereFault
from vplacer.inventory.cluster import VmHostRule, VmVmRule
from vplacer.inventory.pci import PciAddress
from vplacer.inventory.vm import AllowedDevice, DynamicBacking, StaticBacking, VgpuBacking, Vm, VmPower
from vplacer.jobs.lab_export import export_site
from vplacer.jobs.world import World
from vplacer.plan.changes import (
    Action,
    Clone,
    Delete,
    DeviceChange,
    DeviceValue,
    ExtraConfigChange,
    Field,
    FieldChange,
    OverrideDrs,
    Power,
    Reconfigure,
    Relocate,
    UpgradeHardware,
    inverse,
)
from vplacer.plan.device_match import device_value
from vplacer.plan.observed import device_texts
from vplacer.port import Port, RuleChange, Task, TaskResult, TaskState
from vplacer.vsphere.credentials import Credentials
from vplacer.vsphere.secret import Secret
from vplacer.vsphere.session import Session
from vplacer.vsphere.writer import VCenterPort

pytestmark = pytest.mark.live

CREDENTIALS = Credentials(RECORD_USER, Secret(RECORD_PASSWORD), "a test", "a test")


@pytest.fixture(scope="module")
def url(witness_bin: Callable[[str], Path]) -> Iterator[str]:
    with serving(witness_bin("vcsim"), "-api-version", "8.0.3.0") as address:
        yield address


@pytest.fixture
def port(url: str) -> Iterator[VCenterPort]:
    with Session.connect(connect_options(url), CREDENTIALS) as session:
        yield VCenterPort(session)


def done(port: Port, task: Task) -> TaskResult:
    (result,) = port.wait([task], 20)
    assert result.task == task
    return result


def succeeded(port: Port, task: Task) -> TaskResult:
    result = done(port, task)
    assert result.state is TaskState.SUCCESS, result
    return result


def vm_now(port: Port, moid: str) -> Vm:
    (vm,) = port.read_part(vms=[moid]).vms
    return vm


def switch_off(port: Port, vm: Vm) -> None:
    if vm_now(port, vm.moid).is_on:
        succeeded(port, port.power(vm.moid, Power(VmPower.ON, VmPower.OFF, vm.host), "op"))


def added(ref: str, backing: DynamicBacking | StaticBacking | VgpuBacking, node: int | None) -> DeviceChange:
    return DeviceChange(Action.ADD, ref, None, None, DeviceValue(backing, node))


CHANGE = Reconfigure(
    (
        FieldChange(Field.CPUS, 1, 8),
        FieldChange(Field.MEMORY_MIB, 32, 64),
        FieldChange(Field.MEMORY_LOCKED_TO_MAX, False, True),
        FieldChange(Field.CPU_RESERVATION_MHZ, 0, 500),
        FieldChange(Field.LATENCY_SENSITIVITY, "normal", "high"),
    ),
    (ExtraConfigChange("numa.nodeAffinity", None, "1"),),
    (
        added("gpu0", DynamicBacking((AllowedDevice(0x10DE, 0x20B7),), "n0"), 1),
        added("gpu1", DynamicBacking((AllowedDevice(0x10DE, 0x20B7),), "n0"), 1),
        added("gpu2", VgpuBacking("grid_a100-10c"), None),
        added("nic0", StaticBacking(PciAddress.parse("0000:3b:00.0"), "8086", 0x8086, "sys", "NIC"), -1),
    ),
)


def test_reconfigure_and_its_undo(port: VCenterPort) -> None:
    before = next(vm for vm in port.read().vms if vm.name == "DC0_H0_VM0")
    switch_off(port, before)
    version = before.change_version or ""
    succeeded(port, port.reconfigure(before.moid, CHANGE, version, "vplacer-p-1"))
    now = vm_now(port, before.moid)
    assert (now.cpus, now.memory_mib, now.memory_locked_to_max) == (8, 64, True)
    assert (now.cpu_reservation_mhz, now.latency_sensitivity) == (500, "high")
    assert now.extra("numa.nodeAffinity") == "1"
    wanted = [item.after for item in CHANGE.devices if item.after is not None]
    had = [device_value(before, device) for device in before.devices]
    assert device_texts(device_value(now, device) for device in now.devices) == device_texts([*wanted, *had])
    nic = next(device for device in now.devices if isinstance(device.backing, StaticBacking))
    assert nic.numa_node == -1
    assert isinstance(nic.backing, StaticBacking)
    assert (nic.backing.device_id, nic.backing.vendor_id) == ("8086", 0x8086)
    told = next(device for device in now.devices if device.numa_node == 1)
    edit = DeviceChange(
        Action.EDIT,
        "gpu0",
        told.key,
        device_value(now, told),
        DeviceValue(told.backing, -1),
    )
    succeeded(port, port.reconfigure(now.moid, Reconfigure(devices=(edit,)), "x", "vplacer-p-2"))
    edited = next(device for device in vm_now(port, before.moid).devices if device.key == told.key)
    assert (edited.numa_node, edited.backing) == (-1, told.backing)
    undo = inverse(Reconfigure(devices=(edit,)))
    assert isinstance(undo, Reconfigure)
    succeeded(port, port.reconfigure(now.moid, undo, "x", "vplacer-p-3"))
    back = inverse(CHANGE)
    assert isinstance(back, Reconfigure)
    succeeded(port, port.reconfigure(before.moid, back, "x", "vplacer-p-4"))
    after = vm_now(port, before.moid)
    assert (after.cpus, after.memory_mib, after.devices) == (before.cpus, before.memory_mib, before.devices)
    assert after.extra_config == before.extra_config
    assert after.memory_locked_to_max is False


def test_power_and_its_refusal(port: VCenterPort) -> None:
    vm = next(vm for vm in port.read().vms if vm.name == "DC0_H0_VM1")
    switch_off(port, vm)
    result = done(port, port.power(vm.moid, Power(VmPower.ON, VmPower.OFF, vm.host), "op"))
    assert result.state is TaskState.ERROR
    assert result.fault == "InvalidPowerState"
    succeeded(port, port.power(vm.moid, Power(VmPower.OFF, VmPower.ON, vm.host), "op"))
    assert vm_now(port, vm.moid).is_on


def test_upgrade_twice(port: VCenterPort) -> None:
    vm = next(vm for vm in port.read().vms if vm.name == "DC0_H0_VM0")
    switch_off(port, vm)
    for _ in range(2):
        succeeded(port, port.upgrade(vm.moid, UpgradeHardware(13, 20), "op"))
        assert vm_now(port, vm.moid).hardware_version == 20


def test_move_and_drs(port: VCenterPort) -> None:
    inventory = port.read()
    (cluster,) = inventory.clusters
    vm = next(vm for vm in inventory.vms if vm.name == "DC0_C0_RP0_VM0")
    there = next(host.moid for host in inventory.hosts if host.cluster and host.moid != vm.host)
    succeeded(port, port.relocate(vm.moid, Relocate(vm.host or "", there, vm.pool, vm.pool, True), "op"))
    assert vm_now(port, vm.moid).host == there
    for level in ("manual", "disabled"):
        change = OverrideDrs(cluster.moid, None, level)
        succeeded(port, port.override_drs(vm.moid, change, "op"))
        assert port.read_part(clusters=[cluster.moid]).clusters[0].drs_overrides == ((vm.moid, level),)
    for _ in range(2):
        succeeded(port, port.override_drs(vm.moid, OverrideDrs(cluster.moid, "manual", None), "op"))
        assert port.read_part(clusters=[cluster.moid]).clusters[0].drs_overrides == ()


def test_rules(port: VCenterPort) -> None:
    inventory = port.read()
    (cluster,) = inventory.clusters
    vms = tuple(vm.moid for vm in inventory.vms if vm.name.startswith("DC0_C0"))
    hosts = tuple(host.moid for host in inventory.hosts if host.cluster)[:2]
    apart = VmVmRule(0, "apart", True, True, vms)
    on = VmHostRule(0, "on these", True, False, vms[:1], hosts, False)
    changes = [RuleChange(cluster.moid, None, apart), RuleChange(cluster.moid, None, on)]
    for task in port.edit_rules(changes, "op"):
        succeeded(port, task)
    now = port.read_part(clusters=[cluster.moid]).clusters[0]
    (apart_now,), (on_now,) = now.vm_vm_rules, now.vm_host_rules
    assert (apart_now.name, apart_now.apart, apart_now.vms) == ("apart", True, vms)
    assert (on_now.name, on_now.vms, on_now.hosts, on_now.apart) == ("on these", vms[:1], hosts, False)
    removals = [RuleChange(cluster.moid, apart_now, None), RuleChange(cluster.moid, on_now, None)]
    for task in port.edit_rules(removals, "op"):
        succeeded(port, task)
    now = port.read_part(clusters=[cluster.moid]).clusters[0]
    assert (now.vm_vm_rules, now.vm_host_rules) == ((), ())
    with pytest.raises(StaleError, match="no DRS rule 'apart' any more"):
        port.edit_rules(removals, "op")


def test_clone_and_delete(port: VCenterPort) -> None:
    vm = next(vm for vm in port.read().vms if vm.name == "DC0_H0_VM1")
    clone = Clone(vm.moid, "made", vm.host or "", None, None, vm.folder)
    made = succeeded(port, port.clone(clone, "op")).result
    assert made is not None
    now = vm_now(port, made)
    assert (now.name, now.power, now.folder, now.host) == ("made", VmPower.OFF, vm.folder, vm.host)
    again = done(port, port.clone(clone, "op"))
    assert (again.state, again.fault) == (TaskState.ERROR, "DuplicateName")
    with pytest.raises(StaleError, match="left alone"):
        port.delete(vm.moid, Delete("made"), "op")
    succeeded(port, port.delete(made, Delete("made"), "op"))
    assert port.read_part(vms=[made]).vms == ()
    with pytest.raises(StaleError, match="no longer exists"):
        port.delete(made, Delete("made"), "op")


def test_tasks_are_found_again(port: VCenterPort) -> None:
    vm = next(vm for vm in port.read().vms if vm.name == "DC0_H0_VM0")
    switch_off(port, vm)
    started = port.server_time()
    change = Reconfigure(extra_config=(ExtraConfigChange("numa.nodeAffinity", None, "0"),))
    task = port.reconfigure(vm.moid, change, "x", "op")
    result = succeeded(port, task)
    refused = port.power(vm.moid, Power(VmPower.ON, VmPower.OFF, vm.host), "op")
    assert done(port, refused).state is TaskState.ERROR
    first, second = port.tasks_since(vm.moid, started)
    assert (first.task, first.result) == (task, result)
    assert second.task == refused
    assert second.result is not None
    assert second.result.fault == "InvalidPowerState"
    assert port.tasks_since(vm.moid, port.server_time()) == ()


def test_a_task_that_nobody_knows(port: VCenterPort) -> None:
    lost = Task("task-999999", "VirtualMachine.reconfigure", "vm-1")
    (result,) = port.wait([lost], 5)
    assert result.state is TaskState.UNKNOWN


def test_checks(port: VCenterPort) -> None:
    """vcsim warns of CPUs; it has no check of power-on, which is said and is no refusal."""
    vm = next(vm for vm in port.read().vms if vm.name == "DC0_H0_VM0")
    change = Reconfigure((FieldChange(Field.CPUS, 1, 8),))
    (finding,) = port.check(vm.moid, vm.host or "", change)
    assert (finding.blocking, finding.fault) == (False, "NotEnoughCpus")
    assert "8 CPUs" in finding.message
    (finding,) = port.check(vm.moid, vm.host or "", None)
    assert (finding.blocking, finding.fault) == (False, "NotChecked")
    assert vm_now(port, vm.moid).cpus == vm.cpus


def test_what_the_server_has_not(port: VCenterPort) -> None:
    vm = next(vm for vm in port.read().vms if vm.name == "DC0_H0_VM0")
    with pytest.raises(VSphereFault, match="MethodNotFound"):
        port.log_event(vm.moid, "changed by vplacer")


def test_a_site_handed_to_vcsim_can_be_changed(witness_bin: Callable[[str], Path], tmp_path: Path) -> None:
    world = World(environ={}, clock=lambda: datetime.now(UTC), seconds=time.monotonic, warn=print)
    export_site(str(REPO / "fixtures/sites/a30pairs.yaml"), tmp_path / "files", world)
    card = DynamicBacking((AllowedDevice(0x10DE, 0x20B7),), "gpu-n0")
    change = Reconfigure(
        (FieldChange(Field.CPUS, 16, 8),),
        (ExtraConfigChange("numa.nodeAffinity", None, "0"),),
        (added("gpu0", card, -1),),
    )
    with (
        serving(witness_bin("vcsim"), "-load", str(tmp_path / "files")) as address,
        Session.connect(connect_options(address), CREDENTIALS) as session,
    ):
        port = VCenterPort(session)
        before = next(vm for vm in port.read().vms if vm.name == "spare")
        succeeded(port, port.reconfigure(before.moid, change, before.change_version or "", "op"))
        now = vm_now(port, before.moid)
        assert (now.cpus, now.extra("numa.nodeAffinity")) == (8, "0")
        assert card in [device.backing for device in now.devices]
        succeeded(port, port.power(before.moid, Power(VmPower.OFF, VmPower.ON, before.host), "op"))
        succeeded(port, port.power(before.moid, Power(VmPower.ON, VmPower.OFF, before.host), "op"))
        undo = inverse(change)
        assert isinstance(undo, Reconfigure)
        succeeded(port, port.reconfigure(before.moid, undo, "", "op"))
        after = vm_now(port, before.moid)
    assert (after.cpus, after.devices, after.extra_config) == (
        before.cpus,
        before.devices,
        before.extra_config,
    )
