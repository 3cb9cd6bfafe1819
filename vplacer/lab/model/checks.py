"""CheckVmConfig and CheckPowerOn: the rules of the real operations, without their effect.

A power state that only the moment's is: a VM that must be off for a change is not told so here, as the
change is meant for when it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from vplacer.inventory.host import Host
from vplacer.inventory.vm import Vm, VmPower
from vplacer.lab.model.admission import place_faults
from vplacer.lab.model.card_choice import CardOrder
from vplacer.lab.model.edit import VmEdit
from vplacer.lab.model.faults import LabFault
from vplacer.lab.model.power import start_faults
from vplacer.lab.model.reconfigure import edit_faults, edited
from vplacer.lab.model.start_rules import vnuma_faults
from vplacer.lab.model.tables import Tables


@dataclass(frozen=True, slots=True)
class Finding:
    """What a check says. ``error`` False = a warning."""

    error: bool
    fault: LabFault


def check_config(tables: Tables, moid: str, host: str, edit: VmEdit) -> tuple[Finding, ...]:
    """Return what a vCenter says of a change of a VM that would be at a host.

    Raises:
        LabFault: ``ManagedObjectNotFound``.
    """
    vm, target = tables.vm(moid), tables.host(host)
    off = replace(vm, power=VmPower.OFF)
    faults = list(edit_faults(off, target, edit, hot_plug=moid in tables.fixed_hot_plug))
    if not faults:
        after = edited(off, edit).vm
        faults += [*place_faults(tables, after, target), *vnuma_faults(after)]
        return (*(Finding(True, fault) for fault in faults), *_warnings(after, target))
    return tuple(Finding(True, fault) for fault in faults)


def check_power_on(tables: Tables, moid: str, host: str, order: CardOrder) -> tuple[Finding, ...]:
    """Return what a vCenter says of a start of a VM at a host; errors as `check_config`."""
    vm, target = tables.vm(moid), tables.host(host)
    found = [Finding(True, fault) for fault in start_faults(tables, vm, target, order)]
    return (*found, *_warnings(vm, target))


def _warnings(vm: Vm, host: Host) -> Iterator[Finding]:
    """What works, and hardly as it was meant."""
    told = [device for device in vm.devices if device.numa_node is not None and device.numa_node >= 0]
    nodes = vm.cpus // vm.vnuma.cores_per_node if vm.vnuma.cores_per_node and not vm.vnuma.auto else None
    for device in told:
        if vm.firmware is not None and vm.firmware != "efi":
            yield _warning(f"{device.label}: a NUMA node is told to guests with EFI firmware only.")
        if nodes is None:
            yield _warning(f"{device.label}: a NUMA node needs a virtual NUMA topology set by hand.")
        elif device.numa_node is not None and device.numa_node >= nodes:
            yield _warning(f"{device.label}: there is no virtual NUMA node {device.numa_node}.")
    known = {node.id for node in host.numa_nodes}
    beyond = sorted(set(vm.node_affinity) - known)
    if known and beyond:
        yield _warning(f"numa.nodeAffinity: host {host.name} has no node {', '.join(map(str, beyond))}.")


def _warning(text: str) -> Finding:
    return Finding(False, LabFault("GenericVmConfigFault", text, reason=text))
