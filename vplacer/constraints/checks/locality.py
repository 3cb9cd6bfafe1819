"""Devices are on the node, or socket, of the VM's CPUs and memory where that is insisted on."""

from __future__ import annotations

from collections.abc import Iterable

from vplacer.constraints.costs import LOOSER_LOCALITY
from vplacer.constraints.nearness import LOCALITY, breaks
from vplacer.constraints.registry import Relaxation, host_check
from vplacer.constraints.state import Problem, State, Violation
from vplacer.request.demand import Demand, GpuAsk, NicAsk, Policy


def on_host(state: State, host: str) -> Iterable[Violation]:
    """Name asks whose policy required or socket does not hold for sure.

    Unknown locality satisfies neither.
    """
    return breaks(state, host, LOCALITY)


def relax(_problem: Problem, demand: Demand) -> tuple[Relaxation, ...]:
    """Step the strictest policies down: required, socket, preferred."""
    asks: list[tuple[str, GpuAsk | NicAsk]] = [
        *((f"gpus[{index}]", gpu) for index, gpu in enumerate(demand.gpus)),
        *((f"nics[{index}]", nic) for index, nic in enumerate(demand.nics)),
    ]
    found = []
    for name, ask in asks:
        steps = {Policy.REQUIRED: (Policy.SOCKET, Policy.PREFERRED), Policy.SOCKET: (Policy.PREFERRED,)}
        for step, policy in enumerate(steps.get(ask.policy, ())):
            found.append(
                Relaxation(
                    f"policy {policy.value} instead of {ask.policy.value} for {name}",
                    LOOSER_LOCALITY + step,
                    demand.id,
                    f"{name}.policy",
                    policy.value,
                )
            )
    return tuple(found)


CHECK = host_check(LOCALITY, "NUMA locality", on_host, relax)
