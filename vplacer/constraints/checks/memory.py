"""Memory: of the host, and of each node that something is bound to."""

from __future__ import annotations

from collections.abc import Iterable

from vplacer.constraints.costs import LESS_CPU_OR_MEMORY
from vplacer.constraints.loads import load_of, load_today, supply_of
from vplacer.constraints.registry import Relaxation, host_check
from vplacer.constraints.state import Problem, State, Violation
from vplacer.request.demand import Demand

ID = "memory"


def on_host(state: State, host: str) -> Iterable[Violation]:
    """Compare use and supply; what was over-full before may stay so, and not get worse."""
    supply = supply_of(state.problem, host)
    load, before = load_of(state, host), load_today(state.problem, host)
    yield from _compare(
        host,
        "the host",
        load.whole.memory_mib,
        supply.total.memory_mib,
        before.whole.memory_mib,
    )
    for node in supply.nodes:
        yield from _compare(
            host,
            f"node {node.id}",
            load.bound[node.id].memory_mib,
            node.amount.memory_mib,
            before.bound[node.id].memory_mib,
        )


def _compare(host: str, where: str, used: int, room: int, before: int) -> Iterable[Violation]:
    if used > room and used > before:
        yield Violation(
            ID,
            host,
            f"{where}: {used} MiB taken of {room}",
            host=host,
            numbers=(("memory_mib_used", used), ("memory_mib", room)),
        )


def relax(_problem: Problem, demand: Demand) -> tuple[Relaxation, ...]:
    """Less memory would do; half is what is offered."""
    half = demand.memory_mib // 2
    if half < 1:
        return ()
    text = f"ask for less memory ({half} MiB instead of {demand.memory_mib})"
    return (Relaxation(text, LESS_CPU_OR_MEMORY, demand.id, "memory", f"{half} MiB"),)


CHECK = host_check(ID, "Memory", on_host, relax)
