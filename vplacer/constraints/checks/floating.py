"""VMs that float between nodes have room on some assignment, beside what is bound."""

from __future__ import annotations

from collections.abc import Iterable

from vplacer.constraints.loads import floating_fit, load_of, load_today, placed_consumers, residuals
from vplacer.constraints.packing import Fit
from vplacer.constraints.registry import host_check
from vplacer.constraints.state import Confidence, State, Violation
from vplacer.constraints.supply import Consumer

ID = "floating"


def on_host(state: State, host: str) -> Iterable[Violation]:
    """Pack the floating VMs; what no bounded search decides counts as not fitting.

    Where they do not fit today either, only placements that take no more than their VM does today,
    in the same way, are accepted.
    """
    problem = state.problem
    load = load_of(state, host)
    if not state.placements_by_host.get(host) or not load.bound:
        return
    fit = floating_fit(problem, host, load)
    if fit is Fit.YES:
        return
    before = load_today(problem, host)
    if floating_fit(problem, host, before) is not Fit.YES:
        taken = {consumer.vm: consumer for consumer in before.consumers}
        if all(_no_more(consumer, taken.get(consumer.vm)) for consumer in placed_consumers(state, host)):
            return
    left = residuals(problem, host, load)
    rooms = ", ".join(f"{room.millicores / 1000:g} cores and {room.memory_mib} MiB" for room in left)
    floats = sum(parts for _, parts, _ in load.items)
    text = (
        f"{floats} NUMA clients of floating VMs do not fit together into what is left of the nodes ({rooms})"
    )
    if fit is Fit.UNDECIDED:
        text = f"whether floating VMs fit was not decided within the work allowed ({rooms} left)"
    confidence = Confidence.UNKNOWN if fit is Fit.UNDECIDED else Confidence.PROVED
    yield Violation(ID, host, text, confidence, host, (("numa_clients", floats),))


def _no_more(consumer: Consumer, before: Consumer | None) -> bool:
    return (
        before is not None
        and consumer.seat is before.seat
        and consumer.nodes == before.nodes
        and consumer.parts == before.parts
        and consumer.part.millicores <= before.part.millicores
        and consumer.part.memory_mib <= before.part.memory_mib
    )


CHECK = host_check(ID, "Room for floating VMs", on_host)
