"""Cores: of the host, and of each node that something is bound to."""

from __future__ import annotations

from collections.abc import Iterable

from vplacer.constraints.amount_limits import Resource, over
from vplacer.constraints.costs import LESS_CPU_OR_MEMORY
from vplacer.constraints.registry import Relaxation, host_check
from vplacer.constraints.state import Problem, State, Violation
from vplacer.request.demand import Demand

ID = "cpu"


_CORES = Resource(
    ID,
    lambda amount: amount.millicores,
    "millicores",
    lambda used, room: f"{used / 1000:g} cores taken of {room / 1000:g}",
)


def on_host(state: State, host: str) -> Iterable[Violation]:
    """Compare use and supply; what was over-full before may stay so, and not get worse."""
    return over(state, host, _CORES)


def relax(_problem: Problem, demand: Demand) -> tuple[Relaxation, ...]:
    """Fewer vCPUs would do; half as many is what is offered."""
    if demand.cpus < 2:
        return ()
    half = demand.cpus // 2
    return (
        Relaxation(
            f"ask for fewer vCPUs ({half} instead of {demand.cpus})",
            LESS_CPU_OR_MEMORY,
            demand.id,
            "cpus",
            str(half),
        ),
    )


CHECK = host_check(ID, "CPU cores", on_host, relax)
