"""Each NIC has a GPU of the VM as near as is insisted on, GPUs shared out evenly."""

from __future__ import annotations

from collections.abc import Iterable

from vplacer.constraints.costs import LOOSER_LOCALITY
from vplacer.constraints.nearness import NIC_NEAR_GPU, breaks
from vplacer.constraints.registry import Relaxation, host_check
from vplacer.constraints.state import Problem, State, Violation
from vplacer.request.demand import Demand
from vplacer.topology.levels import LEVELS, Level


def on_host(state: State, host: str) -> Iterable[Violation]:
    """Name NIC asks that cannot be shared out over near GPUs for every choice of cards."""
    return breaks(state, host, NIC_NEAR_GPU)


def relax(_problem: Problem, demand: Demand) -> tuple[Relaxation, ...]:
    """A farther level, or the level as a preference, would do."""
    found = []
    for index, ask in enumerate(demand.nics):
        if not (ask.near_gpu and ask.at_required) or ask.at is Level.ANY:
            continue
        for step, level in enumerate(LEVELS[ask.at.rank + 1 : -1]):
            text = f"NICs at {level.value} instead of {ask.at.value} for nics[{index}]"
            found.append(
                Relaxation(text, LOOSER_LOCALITY + step, demand.id, f"nics[{index}].at", level.value)
            )
        text = f"prefer near NICs for nics[{index}] instead of requiring them"
        field = f"nics[{index}].at_policy"
        found.append(Relaxation(text, LOOSER_LOCALITY + 3, demand.id, field, "preferred"))
    return tuple(found)


CHECK = host_check(NIC_NEAR_GPU, "NICs near GPUs", on_host, relax)
