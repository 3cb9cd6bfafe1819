"""Which slots of an earlier day are still there: what has become of their hosts, cores and cards."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from vplacer.constraints.judge import check, check_hosts
from vplacer.constraints.state import Problem, State
from vplacer.request.demand import FutureShape, Rules
from vplacer.solver.arrivals.kept import KeptSlot, with_slots


@dataclass(frozen=True, slots=True)
class Lost:
    """A slot that is no longer there, and why."""

    slot: KeptSlot
    why: str


def still_there(
    problem: Problem, slots: Iterable[KeptSlot], mix: Sequence[FutureShape]
) -> tuple[tuple[KeptSlot, ...], tuple[Lost, ...]]:
    """Return the slots that fit beside what runs today, as the judge sees it, and those that do not.

    Of slots that no longer fit together on a host, those of the lowest numbers stay.
    """
    plain = problem.with_request(replace(problem.request, demands=(), rules=Rules()))
    by_host: dict[str, list[KeptSlot]] = {}
    kept: list[KeptSlot] = []
    lost: list[Lost] = []
    for slot in slots:
        if slot.host in problem.topologies:
            by_host.setdefault(slot.host, []).append(slot)
        else:
            lost.append(Lost(slot, "its host is not in the inventory"))
    for here in by_host.values():
        stay, gone = _on_host(plain, here, mix)
        kept += stay
        lost += gone
    kept, gone = _across(plain, sorted(kept, key=lambda slot: slot.number), mix)
    return tuple(kept), tuple(sorted((*lost, *gone), key=lambda item: item.slot.number))


def _on_host(
    problem: Problem, slots: Sequence[KeptSlot], mix: Sequence[FutureShape]
) -> tuple[list[KeptSlot], list[Lost]]:
    """Keep the slots of one host that fit it; all at once where they do, else one by one."""
    if _fault(problem, slots, mix) is None:
        return [*slots], []
    stay: list[KeptSlot] = []
    gone: list[Lost] = []
    for slot in sorted(slots, key=lambda slot: slot.number):
        fault = _fault(problem, [*stay, slot], mix)
        if fault is None:
            stay.append(slot)
        else:
            gone.append(Lost(slot, fault))
    return stay, gone


def _fault(problem: Problem, slots: Sequence[KeptSlot], mix: Sequence[FutureShape]) -> str | None:
    state = State(with_slots(problem, (), slots, mix), tuple(slot.placement for slot in slots))
    found = check_hosts(state, {slot.host for slot in slots})
    return found[0].evidence if found else None


def _across(
    problem: Problem, slots: list[KeptSlot], mix: Sequence[FutureShape]
) -> tuple[list[KeptSlot], list[Lost]]:
    """Give up slots, the last first, while sums over hosts are exceeded."""
    gone: list[Lost] = []
    while slots:
        state = State(with_slots(problem, (), slots, mix), tuple(slot.placement for slot in slots))
        found = check(state)
        if not found:
            break
        gone.append(Lost(slots.pop(), found[0].evidence))
    return slots, gone
