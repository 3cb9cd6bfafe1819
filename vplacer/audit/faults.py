"""What the judge says of VMs as they run: the violations that the rules on locality take."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from vplacer.audit.subject import Subject
from vplacer.constraints.judge import check_vm_today
from vplacer.constraints.repair import manifest_wish
from vplacer.constraints.state import Confidence, Violation
from vplacer.constraints.today import differences_today
from vplacer.inventory.finding import Certainty
from vplacer.inventory.vm import Vm

CERTAINTY: Mapping[Confidence, Certainty] = {
    Confidence.PROVED: Certainty.PROVED,
    Confidence.LIKELY: Certainty.LIKELY,
    Confidence.UNKNOWN: Certainty.UNKNOWN,
}


@dataclass(frozen=True, slots=True)
class Judged:
    """A running VM whose devices and vCPUs are all bound: what the judge faults, or why it could not judge.

    ``unjudged``: in what the VM differs from anything that could be judged; empty = it was judged.
    """

    vm: Vm
    violations: tuple[Violation, ...]
    unjudged: str = ""


def judged(subject: Subject) -> tuple[Judged, ...]:
    """Return the judge's word on every running VM with devices and ``numa.nodeAffinity``, in moid order.

    They are judged by what they are manifestly meant to be (`constraints.repair.manifest_wish`).
    """
    return subject.derive(_judged)


def faults(subject: Subject, *constraints: str) -> Iterator[tuple[Vm, Violation]]:
    """Yield the violations of some constraints, each with its VM."""
    for item in judged(subject):
        for violation in item.violations:
            if violation.constraint in constraints:
                yield item.vm, violation


def _judged(subject: Subject) -> tuple[Judged, ...]:
    plain = subject.problem
    vms = subject.inventory.vm_by_moid
    wishes = [
        manifest_wish(plain, vms[demand.id], demand)
        for demand in plain.request.demands
        if demand.has_devices and vms[demand.id].node_affinity
    ]
    problem = plain.with_request(
        replace(plain.request, demands=tuple(wishes), derived=tuple(wish.id for wish in wishes))
    )
    found = []
    for wish in wishes:
        differences = differences_today(problem, wish)
        violations = () if differences else check_vm_today(problem, wish)
        found.append(Judged(vms[wish.id], violations, differences[0] if differences else ""))
    return tuple(found)
