"""The objective: levels in lexicographic order, and what each counts."""

from __future__ import annotations

from dataclasses import dataclass

from vplacer.constraints.disturbance import Disturbance
from vplacer.errors import UsageError
from vplacer.request.demand import Demand
from vplacer.solver.classes import DemandClass

POWER_CYCLE = 10
COLD_MOVE = 2
LIVE_MOVE = 3
OFF_MOVE = 1
RESEAT = 1
"""Costs of level "moves": a running VM power-cycled; moved besides, while it is off; moved while it runs; a
powered-off VM moved; a VM power-cycled where it is that gets other nodes or cards than it has."""


@dataclass(frozen=True, slots=True)
class Level:
    """One level; all are maximised (costs are negative)."""

    id: str
    title: str
    unit: str
    maximise: bool


def levels_for(
    order: tuple[str, ...], classes: tuple[DemandClass, ...], hosts_goal: str, wishes: bool = False
) -> tuple[Level, ...]:
    """Return the levels in the order asked for; "placed" becomes one level a priority.

    ``wishes``: some rule is a preference.

    Raises:
        UsageError: an unknown level name, or "placed" is not first.
    """
    known = ("placed", "locality", "power_cycles", "moves", "room", "hosts")
    for name in order:
        if name not in known:
            raise UsageError(f"unknown objective level '{name}'", hint=f"levels: {', '.join(known)}")
    if order[:1] != ("placed",) or len(set(order)) != len(order):
        raise UsageError("the objective must start with 'placed' and name each level once")
    found: list[Level] = []
    for name in order:
        if name == "placed":
            for priority in sorted({c.demand.priority for c in classes}, reverse=True):
                found.append(Level(f"placed:{priority}", f"placed, priority {priority}", "milli-GPU", True))
        elif name == "locality":
            title = "preferred locality and rules" if wishes else "preferred locality"
            found.append(Level("locality", title, "points", True))
        elif name == "power_cycles":
            found.append(Level("power_cycles", "power cycles", "power cycles", False))
        elif name == "moves":
            found.append(Level("moves", "power cycles and moves", "cost", False))
        elif name == "room":
            found.append(Level("room", "future room", "points", True))
        elif hosts_goal == "spread":
            found.append(Level("hosts", "evenness (sum of squared VMs a host)", "VMs squared", False))
        else:
            found.append(Level("hosts", "hosts used", "hosts", False))
    return tuple(found)


def change_cost(change: Disturbance, other_seat: bool = False) -> int:
    """Return what a change costs at level "moves"; one that is both stopped and moved costs both.

    ``other_seat``: the VM, changed where it is, would not keep its nodes and cards (`seating.reseated`).
    """
    if change.moves and not change.running:
        return OFF_MOVE
    if change.power_cycle:
        return POWER_CYCLE + (COLD_MOVE if change.moves else RESEAT if other_seat else 0)
    return LIVE_MOVE if change.moves else 0


def cpu_only_cost(
    demand: Demand, nodes: tuple[int, ...], gpu_nodes: frozenset[int], host_has_gpu: bool
) -> int:
    """Return the points a CPU-only VM costs at level "room": its vCPUs on nodes with GPUs.

    A floating one may be on any node of the host.
    """
    if demand.has_devices or not host_has_gpu:
        return 0
    if not nodes:
        return demand.cpus
    return demand.cpus * sum(1 for node in nodes if node in gpu_nodes) // len(nodes)
