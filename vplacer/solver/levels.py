"""The objective: levels in lexicographic order, and what each counts."""

from __future__ import annotations

from dataclasses import dataclass

from vplacer.constraints.supply import holds_devices
from vplacer.errors import UsageError
from vplacer.inventory.vm import Vm
from vplacer.request.demand import Demand
from vplacer.solver.classes import DemandClass

POWER_CYCLE = 10
COLD_MOVE = 12
LIVE_MOVE = 3
OFF_MOVE = 1
RESEAT = 1
"""Costs of level 3: a running VM power-cycled where it is, power-cycled and moved, moved while it
runs; a powered-off VM moved; a VM power-cycled where it is that gets other nodes or cards than it has."""


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
    known = ("placed", "locality", "moves", "room", "hosts")
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
        elif name == "moves":
            found.append(Level("moves", "power cycles and moves", "cost", False))
        elif name == "room":
            found.append(Level("room", "future room", "points", True))
        elif hosts_goal == "spread":
            found.append(Level("hosts", "evenness (sum of squared VMs a host)", "VMs squared", False))
        else:
            found.append(Level("hosts", "hosts used", "hosts", False))
    return tuple(found)


def change_cost(
    demand: Demand, vm: Vm | None, same_host: bool, meets_today: bool, other_seat: bool = False
) -> int:
    """Return what placing a demand costs at level 3, unless it stays as it is.

    ``other_seat``: the VM would not keep its nodes and cards (`reseat.reseated`); told of its own host only.
    """
    if vm is None:
        return 0
    if not vm.is_on:
        return 0 if same_host else OFF_MOVE
    if meets_today and not same_host and not holds_devices(vm) and not demand.has_devices:
        return LIVE_MOVE
    if not same_host:
        return COLD_MOVE
    return POWER_CYCLE + (RESEAT if other_seat else 0)


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
