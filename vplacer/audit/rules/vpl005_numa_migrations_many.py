"""Measured: the NUMA scheduler moves a VM often."""

from __future__ import annotations

from collections.abc import Iterator

from vplacer.audit.measured_vms import measured_vms
from vplacer.audit.model import Hit, NotEvaluated, Outcome, Rule, Severity
from vplacer.audit.subject import Subject
from vplacer.inventory.finding import Certainty
from vplacer.inventory.measured import MeasuredHome


def find(subject: Subject) -> Iterator[Outcome]:
    """Yield VMs that moved while they were measured, and those that moved very often since power-on."""
    for item in measured_vms(subject):
        if isinstance(item, NotEvaluated):
            yield item
            continue
        vm, home = item
        if home.migrations is None and home.migrations_seen is None:
            yield NotEvaluated("the host did not tell how often it moved (NMIG)", vm=vm.moid)
            continue
        told = _told(subject, home)
        if told is not None:
            text, severity = told
            yield Hit(
                text,
                Certainty.MEASURED,
                vm=vm.moid,
                host=vm.host,
                severity=severity,
                numbers=_numbers(home),
            )


def _told(subject: Subject, home: MeasuredHome) -> tuple[str, Severity] | None:
    seen, in_all = home.migrations_seen, home.migrations
    since = "" if in_all is None else f"; {in_all} since power-on"
    if seen is not None and seen >= subject.settings.migrations_seen:
        moves = "once" if seen == 1 else f"{seen} times"
        text = f"it moved between NUMA nodes {moves} while {home.samples} samples were taken{since}"
        return f"{text} (measured {home.at})", Severity.WARNING
    if in_all is not None and in_all >= subject.settings.migrations_in_all:
        quiet = "" if seen is None else f", none of them while {home.samples} samples were taken"
        text = f"it moved between NUMA nodes {in_all} times since power-on{quiet}"
        return f"{text} (measured {home.at})", Severity.NOTE
    return None


def _numbers(home: MeasuredHome) -> tuple[tuple[str, int], ...]:
    known = (("migrations_seen", home.migrations_seen), ("migrations", home.migrations))
    return tuple((name, value) for name, value in known if value is not None)


RULE = Rule(
    id="VPL005",
    name="numa-migrations-many",
    title="NUMA scheduler moves the VM often",
    severity=Severity.WARNING,
    cause="A move takes the vCPUs to another node at once, and the memory follows page by page: until it "
    "has, every access is remote. Moves every few seconds cost CPU in the host that the guest does not see, "
    "and a VM that is near its GPU now may not be in a moment.",
    evidence="esxtop's NMIG. That it grew between the first and the last sample, some seconds apart, is a "
    "warning: a healthy VM moves a few times a day. Without that, 1,000 moves since power-on are a note, "
    "since how long ago the power-on was is not told.",
    fix="Set numa.nodeAffinity of VMs with devices (vplacer plan places them). On hosts below ESX 9.1 whose "
    "VMs move every few seconds, set the host option Numa.LocalityWeightActionAffinity to 0 (esxcli system "
    "settings advanced set -o /Numa/LocalityWeightActionAffinity -i 0): see VPL008.",
    sample="it moved between NUMA nodes 2 times while 3 samples were taken; 5120 since power-on (measured "
    "2026-03-01T02:00:00Z)",
    find=find,
)
