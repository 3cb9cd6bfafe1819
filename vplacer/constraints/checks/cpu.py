"""Cores: of the host, and of each node that something is bound to."""

from __future__ import annotations

from collections.abc import Iterable

from vplacer.constraints.costs import LESS_CPU_OR_MEMORY
from vplacer.constraints.loads import load_of, load_today, supply_of
from vplacer.constraints.registry import Relaxation, host_check
from vplacer.constraints.state import Problem, State, Violation
from vplacer.request.demand import Demand

ID = "cpu"


def on_host(state: State, host: str) -> Iterable[Violation]:
    """Compare use and supply; what was over-full before may stay so, and not get worse."""
    supply = supply_of(state.problem, host)
    load, before = load_of(state, host), load_today(state.problem, host)
    yield from _compare(
        host,
        "the host",
        load.whole.millicores,
        supply.total.millicores,
        before.whole.millicores,
    )
    for node in supply.nodes:
        yield from _compare(
            host,
            f"node {node.id}",
            load.bound[node.id].millicores,
            node.amount.millicores,
            before.bound[node.id].millicores,
        )


def _compare(host: str, where: str, used: int, room: int, before: int) -> Iterable[Violation]:
    if used > room and used > before:
        yield Violation(
            ID,
            host,
            f"{where}: {used / 1000:g} cores taken of {room / 1000:g}",
            host=host,
            numbers=(("millicores_used", used), ("millicores", room)),
        )


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
