"""Nearness is insisted on, and nobody can make sure of it: the platform chooses the card."""

from __future__ import annotations

from collections.abc import Iterable

from vplacer.constraints.checks import interconnect, locality
from vplacer.constraints.costs import OTHER_BINDING
from vplacer.constraints.nearness import NOT_STEERABLE, breaks
from vplacer.constraints.registry import Relaxation, host_check
from vplacer.constraints.state import Problem, State, Violation
from vplacer.request.demand import AffinityMode, Demand


def on_host(state: State, host: str) -> Iterable[Violation]:
    """Name asks that hold for some choices of the platform and not for all."""
    return breaks(state, host, NOT_STEERABLE)


def relax(problem: Problem, demand: Demand) -> tuple[Relaxation, ...]:
    """A label, a static backing, or the wish as a preference would do.

    vGPUs and device groups take neither label nor static backing.
    """
    found = [*locality.relax(problem, demand), *interconnect.relax(problem, demand)]
    steerable = all(ask.profile is None and ask.group is None for ask in demand.gpus)
    if steerable and demand.mode is AffinityMode.HINT:
        text = "use affinity mode 'label' (labels node by node: vplacer labels)"
        found.append(Relaxation(text, OTHER_BINDING, demand.id, "affinity", "label"))
    if steerable and demand.mode is not AffinityMode.PIN:
        text = "use affinity mode 'pin' (static DirectPath I/O: no vMotion, HA restart or DRS)"
        found.append(Relaxation(text, OTHER_BINDING + 5, demand.id, "affinity", "pin"))
    return tuple(sorted(found, key=lambda relaxation: relaxation.cost))


CHECK = host_check(NOT_STEERABLE, "Steerable", on_host, relax)
