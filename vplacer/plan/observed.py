"""What a plan remembers of an object: its fields as plain values that can be compared and shown.

The same names stand in preconditions, in checks and in drift, and each says one thing. A device is a
text by content, without the key vSphere gave it and without the card it happens to hold now.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import assert_never

from vplacer.inventory.device_kind import DeviceKind, device_kind, physical_devices
from vplacer.inventory.host import Host, PciDevice
from vplacer.inventory.moids import moid_order
from vplacer.inventory.vcenter import Inventory
from vplacer.inventory.vm import (
    Backing,
    DvxBacking,
    DynamicBacking,
    NetworkBacking,
    SriovBacking,
    StaticBacking,
    UnknownBacking,
    VgpuBacking,
    Vm,
    VmPower,
)
from vplacer.plan.changes import DeviceValue, Field
from vplacer.plan.device_match import device_value
from vplacer.plan.mmio import SIZE_GB, USE_64BIT
from vplacer.plan.model import Fact, ObjectKind, Observed
from vplacer.plan.settings import (
    AUTOSIZE_STATE,
    MAX_PER_VIRTUAL_NODE,
    NODE_AFFINITY,
    PREFER_HT,
    manual_cores_per_node,
)

EXTRA_PREFIX = "extra."
PLANNED_KEYS = (NODE_AFFINITY, PREFER_HT, MAX_PER_VIRTUAL_NODE, USE_64BIT, SIZE_GB, *AUTOSIZE_STATE)
"""The extraConfig keys a plan reads or writes."""

_NOT_OBSERVED = frozenset({"name", *(EXTRA_PREFIX + key for key in AUTOSIZE_STATE)})
"""Names decide nothing, and ESXi writes its own vNUMA state whenever it likes."""

_RESIDENT_FIELDS = (
    "host",
    "power",
    Field.CPUS.value,
    Field.MEMORY_MIB.value,
    "memory_reserved_mib",
    Field.LATENCY_SENSITIVITY.value,
    EXTRA_PREFIX + NODE_AFFINITY,
    "devices",
)
"""What decides how much a VM that is not changed takes of its host."""


def vm_facts(vm: Vm) -> dict[str, Fact]:
    """Return the fields of a VM that a plan may change or that decide whether it may.

    What is unset and means the same as a value is told as that value: not every server writes the
    default out (vSphere API: memoryReservationLockedToMax, latencySensitivity, ResourceAllocationInfo).
    """
    sockets = None if vm.cores_per_socket_auto else vm.cores_per_socket
    locked = bool(vm.memory_locked_to_max)
    facts: dict[str, Fact] = {
        "name": vm.name,
        "instance_uuid": vm.instance_uuid,
        "host": vm.host,
        "pool": vm.pool,
        "power": vm.power.value,
        "connection": vm.connection.value,
        "template": vm.template,
        "hardware_version": vm.hardware_version,
        "firmware": vm.firmware,
        "has_snapshots": vm.snapshot_count > 0,
        "busy": _busy(vm),
        "cpu_hot_add": vm.cpu_hot_add,
        Field.CPUS.value: vm.cpus,
        Field.CORES_PER_SOCKET.value: sockets,
        Field.CORES_PER_NUMA_NODE.value: manual_cores_per_node(vm),
        Field.VNUMA_ON_HOT_ADD.value: vm.vnuma.exposed_on_hot_add,
        Field.MEMORY_MIB.value: vm.memory_mib,
        Field.MEMORY_LOCKED_TO_MAX.value: locked,
        "memory_reserved_mib": vm.memory_mib if locked else (vm.memory_reservation_mib or 0),
        Field.MEMORY_LIMIT_MIB.value: vm.memory_limit_mib if (vm.memory_limit_mib or 0) >= 0 else None,
        Field.CPU_RESERVATION_MHZ.value: vm.cpu_reservation_mhz or 0,
        Field.LATENCY_SENSITIVITY.value: vm.latency_sensitivity or "normal",
        Field.CPU_AFFINITY.value: tuple(str(cpu) for cpu in vm.cpu_affinity),
        "devices": device_texts(device_value(vm, device) for device in vm.devices),
    }
    for key in PLANNED_KEYS:
        facts[EXTRA_PREFIX + key] = vm.extra(key)
    return facts


def observe_vm(vm: Vm) -> Observed:
    """Return all of a VM that is changed, or of a template that is cloned."""
    return _observed_vm(vm, {k: v for k, v in vm_facts(vm).items() if k not in _NOT_OBSERVED})


def observe_resident(vm: Vm) -> Observed:
    """Return what a VM that is not changed takes of its host."""
    facts = vm_facts(vm)
    return _observed_vm(vm, {name: facts[name] for name in _RESIDENT_FIELDS})


def _observed_vm(vm: Vm, facts: dict[str, Fact]) -> Observed:
    return Observed(ObjectKind.VM, vm.moid, vm.name, tuple(sorted(facts.items())), vm.change_version)


def observe_host(host: Host, vms: Iterable[Vm]) -> Observed:
    """Return a host: its state, nodes, cards, what its driver offers, and the VMs that run on it."""
    kinds = (DeviceKind.GPU, DeviceKind.NIC)
    cards = [card for card in physical_devices(host) if device_kind(card) in kinds]
    running = sorted((vm.moid for vm in vms if vm.is_on), key=moid_order)
    facts: dict[str, Fact] = {
        "uuid": host.uuid,
        "cluster": host.cluster,
        "connection": host.connection.value,
        "power": host.power.value,
        "maintenance": host.in_maintenance,
        "quarantine": host.in_quarantine,
        "version": host.version,
        "cores": host.core_count,
        "memory_bytes": host.memory_bytes,
        "numa_nodes": tuple(
            f"{node.id}: {node.core_count} cores, {_text(node.memory_bytes)} bytes, "
            f"package {_text(node.package)}"
            for node in host.numa_nodes
        ),
        "cards": tuple(_card_text(host, card) for card in cards),
        "vgpu_profiles": tuple(sorted({*host.vgpu_types, *(item.name for item in host.vgpu_profiles)})),
        "device_groups": tuple(sorted(group.name for group in host.device_groups)),
        "running": tuple(running),
    }
    return Observed(ObjectKind.HOST, host.moid, host.name, tuple(sorted(facts.items())))


def observe_vcenter(inventory: Inventory) -> Observed:
    """Return the vCenter itself: a plan is never applied to another one."""
    facts: dict[str, Fact] = {"instance_uuid": inventory.about.instance_uuid}
    return Observed(ObjectKind.VCENTER, "vcenter", inventory.about.name, tuple(sorted(facts.items())))


def running_vms(vms: Iterable[Vm]) -> tuple[Vm, ...]:
    """Return those that run, in the order of their ids."""
    found = [vm for vm in vms if vm.power is not VmPower.OFF and not vm.template]
    return tuple(sorted(found, key=lambda vm: moid_order(vm.moid)))


def device_texts(devices: Iterable[DeviceValue]) -> tuple[str, ...]:
    """Return devices as sorted texts; two equal devices are two equal texts."""
    return tuple(sorted(device_text(device) for device in devices))


def device_text(device: DeviceValue) -> str:
    """Return a device by content, for comparison and for people."""
    text = backing_text(device.backing)
    if device.group is not None:
        text += f" in {device.group.name}"
    if device.numa_node is not None and device.numa_node >= 0:
        text += f" vNUMA {device.numa_node}"
    return text


def backing_text(backing: Backing) -> str:
    """Return a backing by content. The card a Dynamic device holds at the moment is left out."""
    match backing:
        case StaticBacking():
            stored = f"{backing.vendor_id & 0xFFFF:04x}:{backing.device_id}"
            return f"static {backing.address} {backing.ids or stored}"
        case DynamicBacking():
            allowed = ",".join(
                f"{item.vendor:04x}:{item.device:04x}" + _sub_text(item.sub_vendor, item.sub_device)
                for item in backing.allowed
            )
            return f"dynamic {allowed}" + (f" label {backing.label}" if backing.label else "")
        case VgpuBacking():
            return f"vgpu {backing.profile}"
        case DvxBacking():
            params = "".join(f" {key}={value}" for key, value in backing.params)
            return f"dvx {backing.device_class}{params}"
        case SriovBacking():
            port = str(backing.physical_function) if backing.physical_function is not None else "any port"
            return f"sriov {port}" + (f" on {backing.network}" if backing.network else "")
        case NetworkBacking():
            return f"network {backing.card}" + (f" on {backing.network}" if backing.network else "")
        case UnknownBacking():
            return f"unknown {backing.type_name}"
        case _:
            assert_never(backing)


def _sub_text(vendor: int | None, device: int | None) -> str:
    if vendor is None and device is None:
        return ""
    return "".join(":any" if value is None else f":{value:04x}" for value in (vendor, device))


def _busy(vm: Vm) -> tuple[str, ...]:
    """Signs that somebody else works on the VM or owns it."""
    own = vm.ownership
    signs = [f"managed by {own.managed_by}"] if own.managed_by else []
    signs += [f"disabled {method}" for method in own.disabled_methods]
    signs += ["pending question"] if own.pending_question else []
    signs += ["fault tolerance"] if own.fault_tolerance else []
    signs += ["agent"] if own.is_agent else []
    signs += ["consolidation needed"] if own.consolidation_needed else []
    return tuple(sorted(signs))


def _card_text(host: Host, card: PciDevice) -> str:
    node = host.node_of(card.address)
    # One vendor and device id may stand for several models: the subsystem tells an A2 from an A16.
    sub = "" if card.ids.sub_device is None else _sub_text(card.ids.sub_vendor, card.ids.sub_device)
    parts = [str(card.address), f"{card.ids}{sub}", f"pNUMA {_text(node)}"]
    if card.physical_slot is not None:
        parts.append(f"slot {card.physical_slot}")
    state = card.passthrough
    if state is not None:
        parts.append("passthrough" if state.active else "no passthrough")
        if state.label:
            parts.append(f"label {state.label}")
    if card.graphics is not None:
        parts.append(f"{card.graphics.type} {card.graphics.mode.value}")
    if card.sriov is not None and card.sriov.active:
        parts.append(f"{card.sriov.vf_present} VFs")
    return " ".join(parts)


def _text(value: int | None) -> str:
    return "?" if value is None else str(value)
