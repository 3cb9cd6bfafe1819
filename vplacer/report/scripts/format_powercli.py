"""A plan as a PowerShell script for VMware PowerCLI: every change as objects of the vSphere API."""

from __future__ import annotations

from typing import Final

from vplacer.inventory.vm import VmPower
from vplacer.plan.changes import (
    Change,
    Clone,
    Delete,
    OverrideDrs,
    Power,
    Reconfigure,
    Relocate,
    UpgradeHardware,
)
from vplacer.plan.model import Fact, ObjectKind
from vplacer.plan.script.model import Consent, Script, ScriptStep, Target, Written
from vplacer.report.scripts.formats import ScriptFormat
from vplacer.report.scripts.powercli_library import FUNCTIONS, MAIN, PARAMETERS
from vplacer.report.scripts.powershell_text import ascii_comment, fact, quoted, vim_lines
from vplacer.report.scripts.vim_objects import DeviceWork, NewDevice, NewGroup, device_work, spec_members
from vplacer.report.scripts.words import api_name, checked_facts, comment, head_lines, step_title

_NEEDS: Final = (
    "Needs VMware PowerCLI (VCF PowerCLI) and a connection: Connect-VIServer asks for the account.",
    "-Check compares and changes nothing; consents: -AllowPowerCycle, -AllowMigration, -AllowHwUpgrade.",
    "Fields newer than the vCenter are read back as unset, and then stop the script: use a PowerCLI that is",
    "not older than vSphere 8.0.",
)


def write(script: Script) -> Written:
    """Return the script; there is no step that it cannot say."""
    lines = [*_comment(head_lines(script, _NEEDS)), "", PARAMETERS, *_constants(script), FUNCTIONS]
    lines += [*_before(script), ""]
    for item in script.steps:
        lines += [*_step(item), ""]
    return Written("\n".join([*lines, MAIN.strip("\n")]) + "\n", ())


def _comment(lines: list[str]) -> list[str]:
    return comment([ascii_comment(line) for line in lines])


def _constants(script: Script) -> list[str]:
    needs = {item: fact(item in script.consents) for item in Consent}
    return [
        f"$InstanceUuid = {quoted(script.plan.source.instance_uuid)}",
        f"$Total = {len(script.steps)}",
        f"$NeedsPowerCycle = {needs[Consent.POWER_CYCLE]}",
        f"$NeedsMigration = {needs[Consent.MIGRATION]}",
        f"$NeedsHwUpgrade = {needs[Consent.HW_UPGRADE]}",
        f"$NeedsHardPowerOff = {needs[Consent.HARD_POWER_OFF]}",
    ]


def _before(script: Script) -> list[str]:
    lines = ["# All that is compared before the first change.", "function Compare-All {"]
    for guard in script.before:
        word = "Host" if guard.kind is ObjectKind.HOST else "Vm"
        lines.append(
            f"  Assert-{word} {quoted(guard.name)} {quoted(guard.moid or '')} {_facts(guard.facts, '  ')}"
        )
    names = [item.must_be_new for item in script.steps if item.must_be_new is not None]
    return [*lines, *(f"  Assert-New {quoted(name)}" for name in names), "}"]


def _step(item: ScriptStep) -> list[str]:
    body = []
    for guard in item.guards:
        target = Target(guard.name, guard.moid)
        body.append(f"Assert-Vm {quoted(target.name)} {_id(target)} {_facts(guard.facts)}")
    if item.must_be_new is not None:
        body.append(f"Assert-New {quoted(item.must_be_new)}")
    if item.pause:
        body.append("Start-Sleep -Seconds $PowerOnGapSeconds")
    body += change_lines(item.step.change, item.target, item.hardware_version)
    if facts := checked_facts(item):
        body.append(f"Confirm-Vm {quoted(item.target.name)} {_id(item.target)} {_facts(facts)}")
    head = _comment([step_title(item), *_undo(item)])
    return [*head, f"function Invoke-Step{item.number} {{", *(f"  {line}" for line in body), "}"]


def _id(target: Target) -> str:
    return f"(Get-MadeId {quoted(target.name)})" if target.moid is None else quoted(target.moid)


def _facts(facts: tuple[tuple[str, Fact], ...], indent: str = "") -> str:
    inside = "\n".join(f"{indent}    {quoted(name)} = {fact(value)}" for name, value in facts)
    return f"@{{\n{inside}\n{indent}  }}" if facts else "@{}"


def change_lines(change: Change, target: Target, hardware_version: int | None) -> list[str]:
    """Return the lines that carry out a change."""
    name, moid = quoted(target.name), _id(target)
    match change:
        case Clone():
            where = " ".join(
                quoted(text or "") for text in (change.template, change.host, change.pool, change.datastore)
            )
            return [f"New-PlanClone {name} {quoted(api_name(change.name))} {where}"]
        case Delete():
            return [f"Wait-PlanTask {name} ((Get-PlanVm {moid}).Destroy_Task()) | Out-Null"]
        case UpgradeHardware():
            version = quoted(f"vmx-{change.after}")
            return [f"Wait-PlanTask {name} ((Get-PlanVm {moid}).UpgradeVM_Task({version})) | Out-Null"]
        case Power():
            return _power(change, name, moid)
        case Relocate():
            pool = quoted(change.pool_after or "")
            return [f"Move-PlanVm {name} {moid} {quoted(change.host_after)} {pool}"]
        case OverrideDrs():
            levels = f"{fact(change.before)} {fact(change.after)}"
            return [f"Set-PlanOverride {name} {moid} {quoted(change.cluster)} {levels}"]
        case Reconfigure():
            return _reconfigure(change, name, moid, hardware_version)


def _power(change: Power, name: str, moid: str) -> list[str]:
    if change.after is VmPower.ON:
        return [f"Start-PlanVm {name} {moid} {quoted(change.host or '')}"]
    if change.before is VmPower.SUSPENDED:
        return [
            "# Its suspended memory is given up.",
            f"Wait-PlanTask {name} ((Get-PlanVm {moid}).PowerOffVM_Task()) | Out-Null",
        ]
    return [f"Stop-PlanVm {name} {moid}"]


def _reconfigure(change: Reconfigure, name: str, moid: str, hardware_version: int | None) -> list[str]:
    lines = [f"$vm = Get-PlanVm {moid}", "$spec = New-Object VMware.Vim.VirtualMachineConfigSpec"]
    for member, value in spec_members(change, hardware_version):
        first, *rest = vim_lines(value)
        lines += [f"$spec.{member[0].upper()}{member[1:]} = {first}", *rest]
    work = device_work(change)
    lines += _device_lines(work, name)
    return [*lines, f"Invoke-Reconfigure {name} $vm $spec"]


def _device_lines(work: DeviceWork, name: str) -> list[str]:
    lines = []
    for key in work.removed:
        lines.append(f"$changes += New-Change remove (Get-PlanDevice {name} $vm {key})")
    for key, node in work.edited:
        lines += [
            f"$device = Get-PlanDevice {name} $vm {key}",
            f"$device.NumaNode = {node}",
            "$device.DeviceGroupInfo = $null",
            "$changes += New-Change edit $device",
        ]
    for new in work.added:
        lines += _added(new)
    for group in work.groups:
        lines += _group(group, name)
    if not lines:
        return []
    lines = ["$changes = @()", *lines, "$spec.DeviceChange = $changes"]
    if work.groups:
        lines.append(
            "$spec.DeviceGroups = New-Vim VirtualMachineVirtualDeviceGroups @{ DeviceGroup = $groups }"
        )
    return ["$groups = @()", *lines] if work.groups else lines


def _added(new: NewDevice) -> list[str]:
    first, *rest = vim_lines(new.device)
    lines = [f"# {new.ref}", f"$device = {first}", *rest]
    if new.network is not None:
        lines.append(f"$device.Backing = New-NetworkBacking {quoted(new.network)}")
    if new.ports[0] is not None:
        lines.append(
            "$device.SriovBacking = New-Vim VirtualSriovEthernetCardSriovBackingInfo @{ "
            f"PhysicalFunctionBacking = (New-FunctionBacking $vm {quoted(new.ports[0])}) }}"
        )
    if new.ports[0] is not None and new.ports[1] is not None:
        function = f"New-FunctionBacking $vm {quoted(new.ports[1])}"
        lines.append(f"$device.SriovBacking.VirtualFunctionBacking = {function}")
    return [*lines, "$changes += New-Change add $device"]


def _group(group: NewGroup, name: str) -> list[str]:
    members = ", ".join(
        f"@{{ Sequence = {one.sequence}; NumaNode = {fact(one.numa_node)}; Network = {fact(one.network)} }}"
        for one in group.members
    )
    kind, called = "VirtualMachineVirtualDeviceGroupsVendorDeviceGroup", quoted(group.name)
    return [
        f"$groups += New-Vim {kind} @{{ GroupInstanceKey = {group.key}; DeviceGroupName = {called} }}",
        f"$changes += New-GroupChanges {name} $vm {quoted(group.name)} {group.key} @({members})",
    ]


def _undo(item: ScriptStep) -> list[str]:
    undo = item.step.undo
    if undo is None:
        return [f"Cannot be undone: {item.step.irreversible}."]
    if isinstance(undo, Reconfigure) and any(one.key is None for one in undo.devices if one.after is None):
        return ["Undo: `vplacer rollback`, or these lines, and take away by hand the devices it added:"] + [
            f"  {line}" for line in change_lines(undo, item.target, item.hardware_version)
        ]
    return ["Undo:", *(f"  {line}" for line in change_lines(undo, item.target, item.hardware_version))]


FORMAT = ScriptFormat(write)
