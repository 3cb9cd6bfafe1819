"""No more power cycles and moves of existing VMs than allowed: what fits a maintenance window."""

from __future__ import annotations

from collections.abc import Iterable

from vplacer.constraints.disturbance import disturbance_of
from vplacer.constraints.registry import Check
from vplacer.constraints.state import State, Violation
from vplacer.request.demand import RequestOptions

ID = "change-limits"

POWER_CYCLES = "power_cycles"
MOVES = "moves"
"""What is limited; also the keys of the request under ``limits``."""

_WORDS = {POWER_CYCLES: "power cycle{} of running VMs", MOVES: "VM{} moved to another host"}


def limits_of(options: RequestOptions) -> dict[str, int]:
    """Return what is limited, and to how many."""
    stated = {POWER_CYCLES: options.max_power_cycles, MOVES: options.max_moves}
    return {name: most for name, most in stated.items() if most is not None}


def check(state: State) -> Iterable[Violation]:
    """Count what the placements do to existing VMs, over all hosts."""
    limits = limits_of(state.problem.request.options)
    if not limits:
        return
    changes = [(item.demand, disturbance_of(state.problem, item)) for item in state.placements]
    counted = {
        POWER_CYCLES: [demand for demand, change in changes if change.power_cycle],
        MOVES: [demand for demand, change in changes if change.moves],
    }
    for name, most in limits.items():
        number = len(counted[name])
        if number > most:
            counted_as = _WORDS[name].format("" if number == 1 else "s")
            text = f"{number} {counted_as}, at most {most} allowed"
            yield Violation(ID, counted[name][-1], text, numbers=((name, number), ("most", most)))


CHECK = Check(ID, "Limits of power cycles and moves", "across", check)
