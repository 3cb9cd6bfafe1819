"""Memory: of the host, and of each node that something is bound to."""

from __future__ import annotations

from collections.abc import Iterable

from vplacer.constraints.amount_limits import Resource, over
from vplacer.constraints.costs import LESS_CPU_OR_MEMORY
from vplacer.constraints.registry import Relaxation, host_check
from vplacer.constraints.state import Problem, State, Violation
from vplacer.request.demand import Demand

ID = "memory"


_MEMORY = Resource(
    ID,
    lambda amount: amount.memory_mib,
    "memory_mib",
    lambda used, room: f"{used} MiB taken of {room}",
)


def on_host(state: State, host: str) -> Iterable[Violation]:
    """Compare use and supply; what was over-full before may stay so, and not get worse."""
    return over(state, host, _MEMORY)


def relax(_problem: Problem, demand: Demand) -> tuple[Relaxation, ...]:
    """Less memory would do; half is what is offered."""
    half = demand.memory_mib // 2
    if half < 1:
        return ()
    text = f"ask for less memory ({half} MiB instead of {demand.memory_mib})"
    return (Relaxation(text, LESS_CPU_OR_MEMORY, demand.id, "memory", f"{half} MiB"),)


CHECK = host_check(ID, "Memory", on_host, relax)
