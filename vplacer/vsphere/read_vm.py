"""VirtualMachine to `Vm`: unset stays unset; only the extraConfig keys that placement uses are kept."""

from __future__ import annotations

from typing import Final

from vplacer.inventory.host import ConnectionState
from vplacer.inventory.moids import moid_order
from vplacer.inventory.vm import Ownership, Vm, VmDeviceGroup, VmPower, VnumaConfig
from vplacer.vsphere.raw import Data, Notes, RawObject
from vplacer.vsphere.read_host import option_text, read_word
from vplacer.vsphere.read_limits import read_version
from vplacer.vsphere.read_names import shown_name
from vplacer.vsphere.read_vm_devices import is_linked_clone, read_vm_devices

_MIB: Final = 1024 * 1024
_AGENT_MANAGER: Final = "com.vmware.vim.eam"
"""ESX Agent Manager: vCLS and other agent VMs."""

_KEPT_KEYS: Final = ("numa.", "pcipassthru", "sched.", "cpuid.")
"""Prefixes of extraConfig keys that are kept. The rest may hold secrets (guestinfo) and decides nothing."""


def read_vm(
    raw: RawObject, *, datacenter: str | None, folder: str, tags: tuple[str, ...], notes: Notes
) -> Vm:
    """Read one VM or template.

    Args:
        raw: its properties (`property_paths.VM`).
        datacenter: moid of the datacenter it is in.
        folder: path of its folder below the datacenter.
        tags: its tags, "category:name".
        notes: told of what was left out.
    """
    props = raw.props
    name = shown_name(props.text("name")) or raw.ref.moid
    devices = props.items("config.hardware.device")
    memory = props.data("config.memoryAllocation")
    cpu = props.data("config.cpuAllocation")
    latency = props.data("config.latencySensitivity")
    affinity = props.data("config.cpuAffinity")
    host, pool = props.ref("runtime.host"), props.ref("resourcePool")
    cpus = props.number("config.hardware.numCPU")
    return Vm(
        moid=raw.ref.moid,
        name=name,
        instance_uuid=props.text("config.instanceUuid") or None,
        datacenter=datacenter,
        folder=folder,
        host=host.moid if host else None,
        pool=pool.moid if pool else None,
        power=read_word(VmPower, props.text("runtime.powerState"), VmPower.OFF, name, notes),
        connection=read_word(
            ConnectionState, props.text("runtime.connectionState"), ConnectionState.INVALID, name, notes
        ),
        template=props.flag("config.template") is True,
        readable=cpus is not None,
        hardware_version=read_version(props.text("config.version")),
        change_version=props.text("config.changeVersion") or None,
        cpus=cpus or 0,
        cores_per_socket=props.number("config.hardware.numCoresPerSocket"),
        cores_per_socket_auto=props.flag("config.hardware.autoCoresPerSocket"),
        simultaneous_threads=props.number("config.hardware.simultaneousThreads") or None,
        memory_mib=props.number("config.hardware.memoryMB") or 0,
        memory_reservation_mib=memory.number("reservation") if memory else None,
        memory_limit_mib=limit_of(memory),
        memory_locked_to_max=props.flag("config.memoryReservationLockedToMax"),
        cpu_reservation_mhz=cpu.number("reservation") if cpu else None,
        overhead_mib=_overhead(props.data("config.initialOverhead")),
        latency_sensitivity=latency.text("level") or None if latency else None,
        cpu_hot_add=props.flag("config.cpuHotAddEnabled"),
        memory_hot_add=props.flag("config.memoryHotAddEnabled"),
        firmware=props.text("config.firmware") or None,
        guest_id=props.text("config.guestId") or None,
        vnuma=_vnuma(props.data("config.numaInfo")),
        cpu_affinity=tuple(sorted(affinity.numbers("affinitySet"))) if affinity else (),
        devices=read_vm_devices(devices, name, notes),
        device_groups=_groups(props.data("config.deviceGroups"), name, notes),
        extra_config=_extra_config(props),
        datastores=tuple(sorted({ref.moid for ref in props.refs("datastore")}, key=moid_order)),
        networks=tuple(sorted({ref.moid for ref in props.refs("network")}, key=moid_order)),
        snapshot_count=_snapshots(props.data("snapshot")),
        linked_clone=is_linked_clone(devices) if cpus is not None else None,
        ownership=_ownership(props),
        tags=tags,
    )


def limit_of(allocation: Data | None) -> int | None:
    """Return a ResourceAllocationInfo's limit; -1 and unset are no limit."""
    limit = allocation.number("limit") if allocation else None
    return None if limit is None or limit < 0 else limit


def _overhead(overhead: Data | None) -> int | None:
    size = overhead.number("initialMemoryReservation") if overhead else None
    return None if size is None else -(-size // _MIB)


def _vnuma(info: Data | None) -> VnumaConfig:
    if info is None:
        return VnumaConfig(None, None, None)
    return VnumaConfig(
        cores_per_node=info.number("coresPerNumaNode"),
        auto=info.flag("autoCoresPerNumaNode"),
        exposed_on_hot_add=info.flag("vnumaOnCpuHotaddExposed"),
    )


def _groups(groups: Data | None, name: str, notes: Notes) -> tuple[VmDeviceGroup, ...]:
    found = []
    for group in groups.items("deviceGroup") if groups else ():
        if group.text("deviceGroupName") is None:
            notes.add(f"{name}: a device group of type {group.type} has no name")
        found.append(
            VmDeviceGroup(group.number("groupInstanceKey") or 0, group.text("deviceGroupName") or "")
        )
    return tuple(sorted(found, key=lambda group: group.key))


def _extra_config(props: Data) -> tuple[tuple[str, str], ...]:
    found = []
    for item in props.items("config.extraConfig"):
        key, value = item.text("key"), item.get("value")
        if key and value is not None and key.lower().startswith(_KEPT_KEYS):
            found.append((key, option_text(value)))
    return tuple(sorted(found))


def _snapshots(info: Data | None) -> int:
    return sum(_tree_size(tree) for tree in info.items("rootSnapshotList")) if info else 0


def _tree_size(tree: Data) -> int:
    return 1 + sum(_tree_size(child) for child in tree.items("childSnapshotList"))


def _ownership(props: Data) -> Ownership:
    manager = props.data("config.managedBy")
    key = manager.text("extensionKey") or None if manager else None
    is_agent = key == _AGENT_MANAGER
    tolerance = props.text("runtime.faultToleranceState")
    return Ownership(
        managed_by=None if is_agent else key,
        disabled_methods=tuple(sorted(set(props.texts("disabledMethod")))),
        pending_question=props.data("runtime.question") is not None,
        fault_tolerance=tolerance not in (None, "", "notConfigured"),
        is_agent=is_agent,
        consolidation_needed=props.flag("runtime.consolidationNeeded") is True,
    )
