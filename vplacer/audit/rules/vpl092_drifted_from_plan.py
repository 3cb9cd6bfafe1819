"""Something moved since the last plan."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from vplacer.audit.model import Hit, NotEvaluated, Outcome, Rule, Severity
from vplacer.audit.subject import Subject
from vplacer.inventory.finding import Certainty
from vplacer.plan.drift_words import change_text
from vplacer.plan.model import DriftItem, ObjectKind


def find(subject: Subject) -> Iterator[Outcome]:
    """Yield the objects that are not as the plan saw or meant them, each once with all its fields."""
    if subject.since is None:
        return
    objects: dict[tuple[ObjectKind, str], list[DriftItem]] = {}
    for item in subject.since.items:
        objects.setdefault((item.kind, item.object), []).append(item)
    for (kind, moid), items in objects.items():
        yield _of_object(subject, kind, moid, items, subject.since.created)


def _of_object(
    subject: Subject, kind: ObjectKind, moid: str, items: Sequence[DriftItem], created: str
) -> Outcome:
    inventory = subject.inventory
    vm = inventory.vm_by_moid.get(moid) if kind is ObjectKind.VM else None
    host = inventory.host_by_moid.get(moid) if kind is ObjectKind.HOST else None
    name = items[0].name
    if vm is None and host is None and kind is not ObjectKind.VCENTER:
        if inventory.gaps:
            return NotEvaluated(
                f"whether {name} is gone is not known: part of the inventory could not be read"
            )
        return Hit(f"{name}, which the plan of {created} saw, is gone", Certainty.PROVED, key=moid)
    if any(gap.object == moid for gap in inventory.gaps) or (vm is not None and not vm.readable):
        why = f"part of it could not be read: what moved since the plan of {created} is not known"
        return NotEvaluated(why, vm=moid if vm else None, host=moid if host else None)
    return Hit(
        f"differs from the plan of {created}: {'; '.join(change_text(item) for item in items)}",
        Certainty.PROVED,
        vm=moid if vm is not None else None,
        host=moid if host is not None else None,
        numbers=(("fields", len(items)),),
    )


RULE = Rule(
    id="VPL092",
    name="drifted-from-plan",
    title="Not as the last plan saw or left it",
    severity=Severity.WARNING,
    cause="Somebody, or vSphere itself, has changed what a plan rested on: VMs, cards or hosts that moved, a "
    "setting that was taken back. What the plan promised does not hold any more.",
    evidence="Each field that the plan of --since observed, beside what it is now; one with the value the "
    "plan would have given it is none. With --since PLAN only.",
    fix="Find out who changed it (the vCenter's events tell), and plan anew: vplacer plan --since PLAN, or "
    "vplacer plan --repair.",
    sample="differs from the plan of 2026-03-01T02:00:00Z: host: esx01 -> esx04; cpus: 8 -> 16",
    find=find,
    needs="--since PLAN",
)
