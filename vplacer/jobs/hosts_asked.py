"""Asks the hosts of a vCenter, in the session that read it, what vCenter itself does not know."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from vplacer.inventory.finding import Finding
from vplacer.inventory.measured import ESXCLI_DIFFERS, ESXCLI_SILENT, NOT_MEASURED
from vplacer.inventory.overlay import Overlay
from vplacer.inventory.vcenter import Inventory
from vplacer.jobs.world import World

if TYPE_CHECKING:
    from vplacer.vsphere.session import Session

SAMPLES = 3
INTERVAL_S = 2.0
"""The shortest refresh interval that esxtop itself takes (vSphere documentation: esxtop, option -d)."""
_SHOWN_HOSTS = 3
_SHOWN_REASONS = 5
_SUBJECTS = {
    NOT_MEASURED: "VMs not measured",
    ESXCLI_SILENT: "places of devices not told by esxcli",
    ESXCLI_DIFFERS: "not all that esxcli told is used",
}


@dataclass(frozen=True, slots=True)
class Asking:
    """What hosts are asked.

    Args:
        measured: where running VMs are (esxtop).
        samples: of esxtop.
        interval_s: between two samples.
        esxcli: on which NUMA node devices sit, where vCenter does not tell.
    """

    measured: bool = False
    samples: int = SAMPLES
    interval_s: float = INTERVAL_S
    esxcli: bool = False


@dataclass(frozen=True, slots=True)
class Told:
    """What a source told: its inventory, and what its hosts said when asked."""

    inventory: Inventory
    overlays: tuple[Overlay, ...] = ()
    findings: tuple[Finding, ...] = ()


def ask_hosts(
    session: Session,
    inventory: Inventory,
    asking: Asking,
    workers: int,
    progress: Callable[[str, int, int | None], None],
    *,
    waits: bool,
) -> Told:
    """Ask the hosts of an inventory that was read in this session.

    Args:
        session: still open.
        inventory: what was read.
        asking: what to ask.
        workers: hosts asked at a time.
        progress: told of every step.
        waits: whether the interval between samples passes in truth.

    Raises:
        VSphereError: the connection or the session is lost. What a host refuses is a finding.
    """
    if not asking.measured and not asking.esxcli:
        return Told(inventory)
    from vplacer.vsphere.collector import server_time
    from vplacer.vsphere.measure import Measurement, MeasureOptions, ask_esxcli, measure_homes
    from vplacer.vsphere.retrieve import SessionReader

    reader = SessionReader(session)
    options = MeasureOptions(
        workers=workers, samples=asking.samples, interval_s=asking.interval_s if waits else 0.0
    )

    def now() -> str:
        return server_time(session)

    devices, homes = Measurement(), Measurement()
    if asking.esxcli:
        devices = ask_esxcli(reader, inventory, now, options, progress)
    if asking.measured:
        manager = session.service("serviceManager")
        homes = measure_homes(reader, manager, inventory, now, options, progress)
    return Told(inventory, (*devices.overlays, *homes.overlays), (*devices.findings, *homes.findings))


def tell_findings(findings: tuple[Finding, ...], inventory: Inventory, world: World) -> None:
    """Warn of hosts that told nothing, or what cannot be; those of one reason together."""
    names = {host.moid: host.name for host in inventory.hosts}
    kinds: dict[str, dict[str, list[str]]] = {}
    for finding in findings:
        host = names.get(finding.host or "", finding.host or "")
        kinds.setdefault(finding.kind, {}).setdefault(finding.text, []).append(host)
    for kind, grouped in kinds.items():
        if len(grouped) > _SHOWN_REASONS:
            hosts = [host for found in grouped.values() for host in found]
            first = next(iter(grouped))
            world.warn(f"{_SUBJECTS[kind]} on {_few(hosts)}, for {len(grouped)} reasons, the first: {first}")
            continue
        for text, hosts in grouped.items():
            world.warn(f"{_SUBJECTS[kind]} on {_few(hosts)}: {text}")


def _few(hosts: list[str]) -> str:
    shown = ", ".join(hosts[:_SHOWN_HOSTS])
    return f"{shown} and {len(hosts) - _SHOWN_HOSTS} more" if len(hosts) > _SHOWN_HOSTS else shown
