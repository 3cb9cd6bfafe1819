"""A label goes together with node affinity only where it stands for one node on every host."""

from __future__ import annotations

from collections.abc import Iterable

from vplacer.constraints.costs import OTHER_BINDING
from vplacer.constraints.labels import scope_of, why_not_portable
from vplacer.constraints.registry import Relaxation, host_check
from vplacer.constraints.state import Confidence, Problem, State, Violation
from vplacer.request.demand import AffinityMode, BoundBy, Demand

ID = "label-portable"


def on_host(state: State, host: str) -> Iterable[Violation]:
    """Check the labels of placements that are bound to nodes."""
    home = state.problem.inventory.host_by_moid[host]
    for placement in state.placements_by_host.get(host, ()):
        if not placement.nodes:
            continue
        labels = {a.label for a in placement.devices if a.bound_by is BoundBy.LABEL and a.label}
        for label in sorted(labels):
            why = why_not_portable(state.problem, scope_of(home), label)
            if why is not None:
                sure = Confidence.UNKNOWN if "unknown" in why else Confidence.PROVED
                yield Violation(ID, placement.demand, why, sure, host)


def relax(_problem: Problem, demand: Demand) -> tuple[Relaxation, ...]:
    """Labels set node by node, or a mode that needs none, would do."""
    if demand.mode is not AffinityMode.LABEL:
        return ()
    return (
        Relaxation(
            "set one label a NUMA node on every host of the cluster: vplacer labels", OTHER_BINDING - 2
        ),
        Relaxation("use affinity mode 'hint'", OTHER_BINDING, demand.id, "affinity", "hint"),
        Relaxation("use affinity mode 'pin'", OTHER_BINDING + 5, demand.id, "affinity", "pin"),
    )


CHECK = host_check(ID, "Labels portable", on_host, relax)
