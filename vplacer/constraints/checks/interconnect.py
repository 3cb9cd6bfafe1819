"""GPUs of an ask are joined as nearly as is insisted on."""

from __future__ import annotations

from collections.abc import Iterable

from vplacer.constraints.costs import LOOSER_LOCALITY
from vplacer.constraints.nearness import INTERCONNECT, breaks
from vplacer.constraints.registry import Relaxation, host_check
from vplacer.constraints.state import Problem, State, Violation
from vplacer.request.demand import Demand
from vplacer.topology.levels import LEVELS, Level


def on_host(state: State, host: str) -> Iterable[Violation]:
    """Name asks of which two GPUs are not known to be within the level required."""
    return breaks(state, host, INTERCONNECT)


def relax(_problem: Problem, demand: Demand) -> tuple[Relaxation, ...]:
    """A farther level, or the level as a preference, would do."""
    found = []
    for index, ask in enumerate(demand.gpus):
        if not ask.interconnect_required or ask.interconnect is Level.ANY:
            continue
        field = f"gpus[{index}].interconnect"
        # NVLink may cross sockets, so what is farther than it in words may be nearer in fact: the
        # next step offered is the NUMA node.
        start = Level.NUMA.rank if ask.interconnect is Level.NVLINK else ask.interconnect.rank + 1
        for step, level in enumerate(LEVELS[start:-1]):
            text = f"interconnect {level.value} instead of {ask.interconnect.value} for gpus[{index}]"
            found.append(Relaxation(text, LOOSER_LOCALITY + step, demand.id, field, level.value))
        text = f"prefer {ask.interconnect.value} for gpus[{index}] instead of requiring it"
        policy = f"gpus[{index}].interconnect_policy"
        found.append(Relaxation(text, LOOSER_LOCALITY + 3, demand.id, policy, "preferred"))
    return tuple(found)


CHECK = host_check(INTERCONNECT, "GPU interconnect", on_host, relax)
