"""What govc can say of a plan's changes, as commands; and of what it cannot, why.

From govmomi's command reference (govc/USAGE.md): `vm.change` knows CPUs, memory, reservations, latency
sensitivity and extraConfig, but no vNUMA, cores per socket or affinity; `device.pci.add` adds static
DirectPath devices by address, of whichever host of the cluster it finds; `gpu.vm.add` adds one vGPU. Nothing
adds Dynamic DirectPath devices, device groups or virtual functions of a port, and nothing tells a device its
vNUMA node.
"""

from __future__ import annotations

from typing import Final

from vplacer.inventory.vm import (
    Backing,
    DvxBacking,
    DynamicBacking,
    SriovBacking,
    StaticBacking,
    VgpuBacking,
    VmPower,
)
from vplacer.plan.changes import (
    Action,
    Change,
    Clone,
    Delete,
    DeviceChange,
    ExtraConfigChange,
    Field,
    FieldChange,
    OverrideDrs,
    Power,
    Reconfigure,
    Relocate,
    UpgradeHardware,
)
from vplacer.plan.script.model import ScriptStep
from vplacer.report.scripts.bash_text import quoted
from vplacer.report.scripts.words import api_name

_NO_OPTION: Final = {
    Field.CORES_PER_SOCKET: "cores per socket",
    Field.CORES_PER_NUMA_NODE: "the vNUMA topology",
    Field.VNUMA_ON_HOT_ADD: "vNUMA with CPU hot-add",
    Field.CPU_AFFINITY: "CPU affinity",
}
_SIGNED: Final = 0x8000
"""From this device id on, govc writes a static backing's id with a sign, and power-on fails."""


def reason_unsaid(change: Change) -> str | None:
    """Return what of a change govc cannot say; None = it can say all of it."""
    if not isinstance(change, Reconfigure):
        return None
    found = [_NO_OPTION[item.field] for item in change.fields if item.field in _NO_OPTION]
    if change.groups:
        found.append("device groups")
    for item in change.devices:
        why = _device_unsaid(item)
        if why is not None and why not in found:
            found.append(why)
    return f"govc cannot set {', '.join(found)}" if found else None


def _device_unsaid(item: DeviceChange) -> str | None:
    if item.action is Action.EDIT:
        return "the vNUMA node of a device"
    value = item.after if item.action is Action.ADD else item.before
    if value is None or value.group is not None:
        return "members of device groups"
    if item.action is Action.REMOVE:
        return (
            None if item.key is not None else "which of equal devices to remove, whose keys are not known yet"
        )
    if value.numa_node is not None and value.numa_node >= 0:
        return "the vNUMA node of a device"
    match value.backing:
        case StaticBacking(ids=ids):
            return None if ids is not None and ids.device < _SIGNED else "a static device with this id"
        case VgpuBacking():
            return None
        case DynamicBacking():
            return "Dynamic DirectPath devices"
        case SriovBacking():
            return "virtual functions"
        case DvxBacking():
            return "Enhanced DirectPath devices"
        case _:
            return "devices of this kind"


def commands_of(change: Change, use: list[str]) -> list[str]:
    """Return the lines that carry out a change which govc can say.

    ``use``: lines that put the VM's reference into ``$VM`` and its name into ``$NAME``.
    """
    match change:
        case Clone():
            return _clone(change, use)
        case Delete():
            return [*use, 'govc vm.destroy "$VM"']
        case UpgradeHardware():
            return [*use, f'change govc vm.upgrade -version={change.after} -vm "$VM"']
        case Power():
            return [*use, *_power(change)]
        case Relocate():
            pool = f" -pool ResourcePool:{change.pool_after}" if change.pool_after is not None else ""
            return [*use, f'change govc vm.migrate -host HostSystem:{change.host_after}{pool} "$VM"']
        case OverrideDrs():
            return [*use, *_override(change)]
        case Reconfigure():
            return [*use, *_reconfigure(change)]


def _clone(change: Clone, use: list[str]) -> list[str]:
    store = f"Datastore:{change.datastore}" if change.datastore is not None else ""
    lines = [
        f"clone_vm VirtualMachine:{change.template} HostSystem:{change.host} {quoted(store)} "
        f"{quoted(change.name)} {quoted(api_name(change.name))}",
        *use,
    ]
    if change.pool is not None:
        lines.append(f'into_pool "$VM" ResourcePool:{change.pool}')
    return lines


def _power(change: Power) -> list[str]:
    if change.after is VmPower.ON:
        return ['change govc vm.power -on "$VM"', f'check_host "$NAME" "$VM" {quoted(change.host or "")}']
    if change.before is VmPower.SUSPENDED:
        return ["# Its suspended memory is given up.", 'change govc vm.power -off "$VM"']
    return ['shut_down "$NAME" "$VM"']


def _override(change: OverrideDrs) -> list[str]:
    cluster = f"ClusterComputeResource:{change.cluster}"
    before = quoted(change.before or "")
    if change.after is None:
        return [f'change govc cluster.override.remove -cluster {cluster} -vm "$VM"']
    return [
        f'expect_override "$NAME" {cluster} "$VM" {before}',
        f'change govc cluster.override.change -cluster {cluster} -vm "$VM" -drs-enabled '
        f"-drs-mode {quoted(change.after)}",
        f'check_override "$NAME" {cluster} "$VM" {quoted(change.after)}',
    ]


def _reconfigure(change: Reconfigure) -> list[str]:
    options = [_field_option(item) for item in change.fields]
    options += [_extra_option(item) for item in change.extra_config]
    lines = []
    if options:
        lines.append(" \\\n    ".join(['change govc vm.change -vm "$VM"', *options]))
    removed = [item.key for item in change.devices if item.action is Action.REMOVE]
    if removed:
        names = " ".join(f'"$(device_name "$VM" {key})"' for key in removed)
        lines.append(f'change govc device.remove -vm "$VM" {names}')
    for item in change.devices:
        if item.action is Action.ADD and item.after is not None:
            lines.append(_add_device(item.after.backing))
    return lines


def _add_device(backing: Backing) -> str:
    match backing:
        case StaticBacking():
            return f'add_card "$VM" {backing.address} {quoted(backing.system_id)}'
        case VgpuBacking():
            return f'change govc gpu.vm.add -vm "$VM" -profile {quoted(backing.profile)}'
        case _:
            raise AssertionError(backing)


def _field_option(item: FieldChange) -> str:
    match item.field:
        case Field.CPUS:
            return f"-c {item.after}"
        case Field.MEMORY_MIB:
            return f"-m {item.after}"
        case Field.MEMORY_LOCKED_TO_MAX:
            return f"-memory-pin={'true' if item.after else 'false'}"
        case Field.MEMORY_LIMIT_MIB:
            return f"-mem.limit {-1 if item.after is None else item.after}"
        case Field.MEMORY_RESERVED_MIB:
            return f"-mem.reservation {item.after or 0}"
        case Field.CPU_RESERVATION_MHZ:
            return f"-cpu.reservation {item.after or 0}"
        case Field.LATENCY_SENSITIVITY:
            return f"-latency {quoted(str(item.after or 'normal'))}"
        case _:
            raise AssertionError(item.field)


def _extra_option(item: ExtraConfigChange) -> str:
    return "-e " + quoted(f"{item.key}={item.after or ''}")


def undo_lines(item: ScriptStep) -> list[str]:
    """Say how to take a step back, in govc's words where it has them."""
    undo = item.step.undo
    if undo is None:
        return [f"Cannot be undone: {item.step.irreversible}."]
    why = reason_unsaid(undo)
    if why is not None:
        return [f"Undo: with `vplacer rollback`, since {why}."]
    reference = f"VirtualMachine:{item.target.moid}" if item.target.moid else "VirtualMachine:ITS-ID"
    if isinstance(undo, Power) and undo.after is VmPower.OFF:
        return [f"Undo: govc vm.power -s {reference}"]
    commands = (command.removeprefix("change ") for command in commands_of(undo, []))
    return [
        "Undo: " + command.replace(" \\\n   ", "").replace('"$VM"', reference)
        for command in commands
        if command.startswith("govc ")
    ]
