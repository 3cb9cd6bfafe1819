"""What was measured of a host's VMs and nodes, beside the VMs that run on it in the inventory."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from vplacer.inventory.finding import Certainty, Finding
from vplacer.inventory.host import Host
from vplacer.inventory.measured import ESXCLI, ESXCLI_DIFFERS, MeasuredHome, NodeMemory
from vplacer.inventory.overlay import Overlay
from vplacer.inventory.overlay_file import belongs_to
from vplacer.inventory.vcenter import Inventory
from vplacer.inventory.vm import Vm


@dataclass(frozen=True, slots=True)
class MeasuredVm:
    """A VM that runs on the host; ``home`` None = it was not measured there."""

    moid: str
    name: str
    home: MeasuredHome | None


@dataclass(frozen=True, slots=True)
class HostMeasurement:
    """The last measurement of a host.

    ``at``: ISO 8601 UTC; ``age_s``: seconds from then to the inventory, negative = made after it, None = a
    time cannot be read. ``notes``: what was not measured, a sentence each.
    """

    at: str
    age_s: int | None
    vms: tuple[MeasuredVm, ...]
    nodes: tuple[NodeMemory, ...]
    notes: tuple[str, ...]


def host_measurement(
    host: Host, vms: Iterable[Vm], overlays: Sequence[Overlay], taken_at: str
) -> HostMeasurement | None:
    """Return the last measurement of a host, None = it was never measured.

    Args:
        host: the host.
        vms: those registered on it.
        overlays: of any host and vCenter.
        taken_at: time of the inventory, ISO 8601 UTC.
    """
    found = [o for o in overlays if (o.homes or o.node_memory) and belongs_to(o, host)]
    if not found:
        return None
    last = max(found, key=lambda overlay: (overlay.created, overlay.source))
    homes = {item.vm_uuid: item.home for item in last.homes}
    return HostMeasurement(
        at=last.created,
        age_s=_seconds(last.created, taken_at),
        vms=tuple(MeasuredVm(vm.moid, vm.name, homes.get(vm.instance_uuid or "")) for vm in vms if vm.is_on),
        nodes=last.node_memory,
        notes=last.notes,
    )


def esxcli_findings(host: Host, overlays: Sequence[Overlay]) -> tuple[Finding, ...]:
    """Return what a host's esxcli told that is not used, or that vCenter contradicts, as findings.

    Args:
        host: the host.
        overlays: of any host and vCenter.
    """
    return tuple(
        Finding(ESXCLI_DIFFERS, note, Certainty.LIKELY, host=host.moid)
        for overlay in overlays
        if overlay.source == ESXCLI and belongs_to(overlay, host)
        for note in overlay.notes
    )


def measured_homes(
    inventory: Inventory, overlays: Sequence[Overlay], moids: Collection[str]
) -> tuple[tuple[str, HostMeasurement], ...]:
    """Return the last measurement of each host that runs some of the VMs, with its name; only those VMs.

    Hosts that were never measured are left out.
    """
    found = []
    for host in inventory.hosts:
        vms = [vm for vm in inventory.vms_by_host.get(host.moid, ()) if vm.moid in moids and vm.is_on]
        measured = host_measurement(host, vms, overlays, inventory.taken_at) if vms else None
        if measured is not None:
            found.append((host.name, measured))
    return tuple(found)


def _seconds(then: str, now: str) -> int | None:
    try:
        return int((datetime.fromisoformat(now) - datetime.fromisoformat(then)).total_seconds())
    except (ValueError, TypeError):
        return None
