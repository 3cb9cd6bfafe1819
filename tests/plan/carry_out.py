"""Carries a plan out on an inventory, strictly: a tiny vCenter that refuses what does not fit a step.

Written from the change values alone, without the planner's own idea of their effects, so that it can
catch a wrong precondition, check or undo.
"""

from __future__ import annotations

from dataclasses import replace

from vplacer.inventory.vcenter import Inventory
from vplacer.inventory.vm import (
    DynamicBacking,
    StaticBacking,
    Vm,
    VmDevice,
    VmDeviceGroup,
    VmPower,
    VnumaConfig,
)
from vplacer.plan.changes import (
    Action,
    Change,
    Clone,
    Delete,
    DeviceChange,
    Field,
    OverrideDrs,
    Power,
    Reconfigure,
    Relocate,
    UpgradeHardware,
)
from vplacer.plan.model import Plan
from vplacer.plan.observed import vm_facts


class World:
    """VMs by moid; a VM to be made is found under its demand id."""

    def __init__(self, inventory: Inventory) -> None:
        self.inventory = inventory
        self.vms: dict[str, Vm] = dict(inventory.vm_by_moid)
        self.clusters = {cluster.moid: cluster for cluster in inventory.clusters}
        self.next_key = 50_000

    def result(self) -> Inventory:
        """Return the inventory as it is now; made VMs keep their demand id as moid."""
        return replace(self.inventory, vms=tuple(self.vms.values()), clusters=tuple(self.clusters.values()))

    def carry_out(self, plan: Plan) -> None:
        """Make all steps in the plan's order, holding each to its dependencies, preconditions and checks."""
        done: set[str] = set()
        for step in plan.steps:
            assert done.issuperset(step.depends_on), f"{step.id} comes before {step.depends_on}"
            for fact in step.preconditions:
                assert self._fact(fact.object, fact.field) == fact.value, f"{step.id}: {fact}"
            self.apply(step.vm, step.change)
            for fact in step.checks:
                assert self._fact(fact.object, fact.field) == fact.value, f"{step.id}: {fact}"
            self._no_card_twice(step.id)
            done.add(step.id)

    def take_back(self, plan: Plan) -> None:
        """Undo all steps in the opposite order; a hardware upgrade stays."""
        for step in reversed(plan.steps):
            if step.undo is not None:
                self.apply(step.vm, step.undo)

    def _fact(self, vm: str, field: str) -> object:
        if field == "exists":
            return vm in self.vms
        if field == "drs_override":
            return next(
                (own[vm] for cluster in self.clusters.values() if vm in (own := dict(cluster.drs_overrides))),
                None,
            )
        return vm_facts(self.vms[vm])[field]

    def _no_card_twice(self, step: str) -> None:
        held: set[tuple[str | None, object]] = set()
        for vm in self.vms.values():
            for device in vm.devices if vm.is_on else ():
                if isinstance(device.backing, StaticBacking):
                    card = (vm.host, device.backing.address)
                    assert card not in held, f"{step}: {card} is held twice"
                    held.add(card)

    def apply(self, vm_id: str, change: Change) -> None:
        if isinstance(change, Clone):
            template = self.vms[change.template]
            assert template.template
            self.vms[vm_id] = replace(
                template,
                moid=vm_id,
                name=change.name,
                template=False,
                host=change.host,
                pool=change.pool,
                power=VmPower.OFF,
                instance_uuid=None,
            )
            return
        if isinstance(change, Delete):
            assert not self.vms.pop(vm_id).is_on
            return
        vm = self.vms[vm_id]
        match change:
            case UpgradeHardware():
                assert vm.power is VmPower.OFF
                vm = replace(vm, hardware_version=change.after)
            case Power():
                assert vm.power is change.before
                assert change.after is not VmPower.ON or change.host == vm.host
                vm = replace(vm, power=change.after)
            case Relocate():
                assert vm.host == change.host_before
                assert vm.power is (VmPower.ON if change.live else VmPower.OFF)
                if change.live:
                    assert not any(isinstance(d.backing, StaticBacking | DynamicBacking) for d in vm.devices)
                assert not any(isinstance(d.backing, StaticBacking) for d in vm.devices)
                vm = replace(vm, host=change.host_after, pool=change.pool_after)
            case OverrideDrs():
                self._override(vm_id, change)
            case Reconfigure():
                vm = self._reconfigured(vm, change)
        self.vms[vm_id] = vm

    def _override(self, vm_id: str, change: OverrideDrs) -> None:
        cluster = self.clusters[change.cluster]
        own = dict(cluster.drs_overrides)
        assert own.pop(vm_id, None) == change.before
        if change.after is not None:
            own[vm_id] = change.after
        self.clusters[change.cluster] = replace(cluster, drs_overrides=tuple(sorted(own.items())))

    def _reconfigured(self, vm: Vm, change: Reconfigure) -> Vm:
        for item in change.fields:
            vm = _with_field(vm, item.field, item.after)
        extra = dict(vm.extra_config)
        for key_change in change.extra_config:
            assert (extra.get(key_change.key) or None) == key_change.before
            if key_change.after is None:
                extra.pop(key_change.key, None)
            else:
                extra[key_change.key] = key_change.after
        vm = replace(vm, extra_config=tuple(sorted(extra.items())))
        if change.devices or change.groups:
            assert vm.power is VmPower.OFF, "devices change with the VM off"
        return self._with_devices(vm, change)

    def _with_devices(self, vm: Vm, change: Reconfigure) -> Vm:
        devices = list(vm.devices)
        groups = list(vm.device_groups)
        keys: dict[str, int] = {}
        for group in change.groups:
            if group.action is Action.ADD:
                keys[group.group.ref] = self._key()
                groups.append(VmDeviceGroup(keys[group.group.ref], group.group.name))
            else:
                # Without a key it is one that a step before added: the last.
                fits = [g for g in groups if group.key in (None, g.key) and g.name == group.group.name]
                gone = fits[-1]
                groups.remove(gone)
                keys[group.group.ref] = gone.key
        for item in change.devices:
            if item.action is Action.ADD:
                assert item.after is not None
                value = item.after
                key = keys[value.group.ref] if value.group is not None else None
                devices.append(
                    VmDevice(self._key(), item.ref, value.backing, value.numa_node, key, value.sequence)
                )
                continue
            found = _find(devices, item, keys)
            devices.remove(found)
            if item.action is Action.EDIT:
                assert item.after is not None
                devices.append(replace(found, numa_node=item.after.numa_node))
        members = {device.group_key for device in devices if device.group_key is not None}
        assert members == {group.key for group in groups}, "a device group is added and removed whole"
        return replace(vm, devices=tuple(devices), device_groups=tuple(groups))

    def _key(self) -> int:
        self.next_key += 1
        return self.next_key


def _find(devices: list[VmDevice], item: DeviceChange, groups: dict[str, int]) -> VmDevice:
    """Find a device by its key, else by content; a member of a group, in that group and no equal one."""
    assert item.before is not None
    group = None if item.before.group is None else groups.get(item.before.group.ref)
    for device in devices:
        if item.key is not None and device.key != item.key:
            continue
        if group is not None and device.group_key != group:
            continue
        if device.backing == item.before.backing and device.numa_node == item.before.numa_node:
            return device
    raise AssertionError(f"there is no {item.before} to change")


def _with_field(vm: Vm, field: Field, value: object) -> Vm:
    cores = vm.vnuma.cores_per_node
    match field:
        case Field.CPUS:
            return replace(vm, cpus=value)  # type: ignore[arg-type]
        case Field.CORES_PER_SOCKET:
            return replace(vm, cores_per_socket=value, cores_per_socket_auto=value is None)  # type: ignore[arg-type]
        case Field.CORES_PER_NUMA_NODE:
            shape = VnumaConfig(value, value is None, vm.vnuma.exposed_on_hot_add)  # type: ignore[arg-type]
            return replace(vm, vnuma=shape)
        case Field.VNUMA_ON_HOT_ADD:
            return replace(vm, vnuma=VnumaConfig(cores, vm.vnuma.auto, value))  # type: ignore[arg-type]
        case Field.MEMORY_MIB:
            return replace(vm, memory_mib=value)  # type: ignore[arg-type]
        case Field.MEMORY_LOCKED_TO_MAX:
            return replace(vm, memory_locked_to_max=value)  # type: ignore[arg-type]
        case Field.MEMORY_RESERVED_MIB:
            return replace(vm, memory_reservation_mib=value)  # type: ignore[arg-type]
        case Field.MEMORY_LIMIT_MIB:
            return replace(vm, memory_limit_mib=value)  # type: ignore[arg-type]
        case Field.CPU_RESERVATION_MHZ:
            return replace(vm, cpu_reservation_mhz=value)  # type: ignore[arg-type]
        case Field.LATENCY_SENSITIVITY:
            return replace(vm, latency_sensitivity=value)  # type: ignore[arg-type]
        case Field.CPU_AFFINITY:
            return replace(vm, cpu_affinity=value)  # type: ignore[arg-type]
