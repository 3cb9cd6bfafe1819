"""Asks hosts what vCenter itself does not know, and makes overlays of the answers.

Two things: where VMs are now (esxtop), and on which node devices sit that vCenter places nowhere (esxcli).
A host that cannot be asked is a finding, never an error: the inventory is as good without.

Samples are taken in rounds over all hosts, so that the interval passes once a round and not once a host.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from vplacer.inventory.finding import Certainty, Finding
from vplacer.inventory.host import ConnectionState, Host
from vplacer.inventory.measured import (
    ESXCLI,
    ESXCLI_DIFFERS,
    ESXCLI_SILENT,
    ESXTOP,
    NOT_MEASURED,
    MeasuredHome,
    NodeMemory,
    Spread,
)
from vplacer.inventory.overlay import Overlay, OverlayHome
from vplacer.inventory.vcenter import Inventory
from vplacer.inventory.vm import Vm
from vplacer.vsphere import esxcli
from vplacer.vsphere.esxtop import Esxtop, HostSample, VmSample, open_esxtop, take_sample
from vplacer.vsphere.pool import map_bounded
from vplacer.vsphere.raw import MoRef, Progress, RawReader

_KIB_PER_MIB = 1024


@dataclass(frozen=True, slots=True)
class MeasureOptions:
    """How hosts are asked.

    Args:
        workers: how many at a time; 1 while a session is recorded or replayed.
        samples: of esxtop, at least 1.
        interval_s: from the start of one round of samples to the start of the next.
        sleep, seconds: the clock that the interval is waited for with.
    """

    workers: int = 8
    samples: int = 3
    interval_s: float = 2.0
    sleep: Callable[[float], None] = time.sleep
    seconds: Callable[[], float] = time.monotonic


@dataclass(frozen=True, slots=True)
class Measurement:
    """What hosts told: one overlay a host, and findings of hosts that told nothing, or what cannot be."""

    overlays: tuple[Overlay, ...] = ()
    findings: tuple[Finding, ...] = ()


def measure_homes(
    reader: RawReader,
    service_manager: MoRef | None,
    inventory: Inventory,
    now: Callable[[], str],
    options: MeasureOptions,
    progress: Progress | None = None,
) -> Measurement:
    """Measure where the running VMs of all connected hosts are.

    Args:
        reader: the vCenter.
        service_manager: from the service content.
        inventory: read just before, of the same vCenter.
        now: tells the vCenter's time, ISO 8601 UTC.
        options: how.
        progress: told of every host done.

    Raises:
        VSphereError: the connection or the session is lost.
    """
    hosts = [host for host in inventory.hosts if host.connection is ConnectionState.CONNECTED]
    rounds = _rounds(reader, service_manager, hosts, options, progress)
    at = now()
    found = [
        _host_overlay(host, inventory, [samples[number] for samples in rounds], at)
        for number, host in enumerate(hosts)
    ]
    return Measurement(
        tuple(item for item in found if isinstance(item, Overlay)),
        tuple(item for item in found if isinstance(item, Finding)),
    )


def _rounds(
    reader: RawReader,
    service_manager: MoRef | None,
    hosts: Sequence[Host],
    options: MeasureOptions,
    progress: Progress | None,
) -> list[list[HostSample]]:
    """Return the samples, round by round, each in the order of the hosts."""

    def opened(host: Host) -> Esxtop:
        return open_esxtop(reader, service_manager, host.name)

    def sampled(pair: tuple[Host, Esxtop]) -> HostSample:
        host, service = pair
        return take_sample(reader, service, [node.id for node in host.numa_nodes])

    services = map_bounded(hosts, opened, workers=options.workers, done=_step(progress, "esxtop services"))
    pairs = list(zip(hosts, services, strict=True))
    rounds: list[list[HostSample]] = []
    for number in range(1, options.samples + 1):
        started = options.seconds()
        done = _step(progress, f"NUMA homes, sample {number} of {options.samples}")
        rounds.append(map_bounded(pairs, sampled, workers=options.workers, done=done))
        if not any(service.command for service in services):
            break
        left = options.interval_s - (options.seconds() - started)
        if number < options.samples and left > 0:
            options.sleep(left)
    return rounds


def _step(progress: Progress | None, what: str) -> Callable[[int, int], None] | None:
    if progress is None:
        return None
    return lambda done, total: progress(what, done, total)


def _host_overlay(host: Host, inventory: Inventory, rounds: list[HostSample], at: str) -> Overlay | Finding:
    samples = [sample for sample in rounds if sample.not_measured is None]
    if not samples:
        reason = next((sample.not_measured for sample in rounds if sample.not_measured), "nobody asked")
        return Finding(NOT_MEASURED, reason, Certainty.UNKNOWN, host=host.moid)
    notes = [note for sample in samples for note in sample.notes]
    if len(samples) < len(rounds):
        notes.append(f"only {len(samples)} of {len(rounds)} samples could be taken")
    running = [vm for vm in inventory.vms_by_host.get(host.moid, ()) if vm.is_on]
    homes = _homes(running, samples, at, notes)
    return Overlay(
        host=host.name,
        host_uuid=host.uuid,
        vcenter_uuid=inventory.about.instance_uuid or None,
        created=at,
        source=ESXTOP,
        homes=homes,
        node_memory=_node_memory(samples),
        notes=tuple(dict.fromkeys(notes)),
    )


def _homes(
    running: Sequence[Vm], samples: Sequence[HostSample], at: str, notes: list[str]
) -> tuple[OverlayHome, ...]:
    """Match rows and VMs by name: esxtop names no id that vCenter knows."""
    by_name: dict[str, list[list[VmSample]]] = {}
    for number, sample in enumerate(samples):
        for vm_sample in sample.vms:
            rows = by_name.setdefault(vm_sample.name, [[] for _ in samples])
            rows[number].append(vm_sample)
    homes = []
    for vm in sorted(running, key=lambda item: item.moid):
        namesakes = sum(1 for other in running if other.name == vm.name)
        rows = by_name.get(vm.name, [])
        reason = _why_not(vm, namesakes, rows)
        if reason is not None:
            notes.append(f"{vm.name} was not measured: {reason}")
        elif vm.instance_uuid is not None:
            homes.append(OverlayHome(vm.instance_uuid, _home([row[0] for row in rows if row], at)))
    strangers = sorted(set(by_name) - {vm.name for vm in running})
    if strangers:
        shown = ", ".join(strangers[:3]) + (" ..." if len(strangers) > 3 else "")
        notes.append(f"esxtop tells of VMs that vCenter does not have running here: {shown}")
    return tuple(homes)


def _why_not(vm: Vm, namesakes: int, rows: Sequence[Sequence[VmSample]]) -> str | None:
    """Say why a running VM has no measurement, or None."""
    if "|" in vm.name:
        return "its name holds a bar, which shifts esxtop's columns"
    if namesakes > 1 or any(len(row) > 1 for row in rows):
        return "another VM of its name runs on the host"
    if vm.instance_uuid is None:
        return "vCenter tells no instance uuid of it"
    if not any(rows):
        return "esxtop has no row for it"
    if all(not row[0].managed for row in rows if row):
        return "the host's NUMA scheduler does not manage it"
    return None


def _home(rows: Sequence[VmSample], at: str) -> MeasuredHome:
    last = rows[-1]
    nodes = last.home_nodes or ()
    earlier = {node for row in rows for node in row.home_nodes or ()} - set(nodes)
    moves = [row.balance_migrations for row in rows if row.balance_migrations is not None]
    return MeasuredHome(
        nodes=nodes,
        at=at,
        locality_percent=Spread.of(row.locality_percent for row in rows),
        local_mib=_mib(row.local_kib for row in rows),
        remote_mib=_mib(row.remote_kib for row in rows),
        migrations=last.balance_migrations,
        # Less than before means that the VM was powered on anew in between.
        migrations_seen=moves[-1] - moves[0] if len(moves) > 1 and moves[-1] >= moves[0] else None,
        earlier_nodes=tuple(sorted(earlier)),
        samples=len(rows),
        nodes_told=last.home_text if last.home_nodes is None else None,
    )


def _mib(kib: Iterable[int | None]) -> Spread | None:
    return Spread.of(None if value is None else value // _KIB_PER_MIB for value in kib)


def _node_memory(samples: Sequence[HostSample]) -> tuple[NodeMemory, ...]:
    totals: dict[int, int | None] = {}
    free: dict[int, list[int | None]] = {}
    for sample in samples:
        for node in sample.nodes:
            totals[node.node] = node.total_kib
            free.setdefault(node.node, []).append(node.free_kib)
    return tuple(
        NodeMemory(node, None if total is None else total // _KIB_PER_MIB, _mib(free[node]))
        for node, total in sorted(totals.items())
    )


def ask_esxcli(
    reader: RawReader,
    inventory: Inventory,
    now: Callable[[], str],
    options: MeasureOptions,
    progress: Progress | None = None,
) -> Measurement:
    """Ask esxcli of those connected hosts of which vCenter places some GPU, NIC or NVSwitch nowhere.

    Raises:
        VSphereError: the connection or the session is lost.
    """
    asked = [
        host
        for host in inventory.hosts
        if host.connection is ConnectionState.CONNECTED and esxcli.places_unknown(host)
    ]
    answers = map_bounded(
        asked,
        lambda host: esxcli.read_pci_list(reader, MoRef("HostSystem", host.moid)),
        workers=options.workers,
        done=_step(progress, "devices by esxcli"),
    )
    at = now() if asked else ""
    overlays, findings = [], []
    for host, told in zip(asked, answers, strict=True):
        devices, notes = esxcli.placed_devices(host, told)
        if told.not_told is not None or not devices:
            reason = told.not_told or "; ".join(notes) or "esxcli names no NUMA node of these devices"
            findings.append(Finding(ESXCLI_SILENT, reason, Certainty.UNKNOWN, host=host.moid))
            continue
        differing = (*told.notes, *notes)
        if differing:
            text = "; ".join(differing)
            findings.append(Finding(ESXCLI_DIFFERS, text, Certainty.LIKELY, host=host.moid))
        overlays.append(
            Overlay(
                host=host.name,
                host_uuid=host.uuid,
                vcenter_uuid=inventory.about.instance_uuid or None,
                created=at,
                source=ESXCLI,
                devices=devices,
                notes=differing,
            )
        )
    return Measurement(tuple(overlays), tuple(findings))
