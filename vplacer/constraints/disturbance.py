"""What a place does to a running VM: nothing, a move while it runs, a power cycle, or both."""

from __future__ import annotations

from dataclasses import dataclass

from vplacer.constraints.judge import breaks_rules_only
from vplacer.constraints.migration import can_move_live
from vplacer.constraints.seating import Seating, same_seat, seating_of_placement
from vplacer.constraints.state import Placement, Problem
from vplacer.constraints.today import has_what_it_asks
from vplacer.inventory.vm import Vm
from vplacer.request.demand import Demand


@dataclass(frozen=True, slots=True)
class Disturbance:
    """``running``: the VM runs now, ``power_cycle``: stopped on the way, ``moves``: its host changes."""

    running: bool = False
    power_cycle: bool = False
    moves: bool = False

    @property
    def untouched(self) -> bool:
        """Whether a running VM goes on as it is."""
        return self.running and not (self.power_cycle or self.moves)


NONE = Disturbance()


@dataclass(frozen=True, slots=True)
class AsItIs:
    """What of a demand's VM need not be changed.

    ``seated``: it is all that is asked where it is, but for rules between it and others. ``live``: it has
    the size, settings and devices asked for, and vMotion can move it so.
    """

    seated: bool = False
    live: bool = False


NEW = AsItIs()


def as_it_is(problem: Problem, demand: Demand) -> AsItIs:
    """Say what of a demand's VM need not be changed; nothing for a VM to be made."""
    vm = problem.inventory.vm_by_moid.get(demand.vm or "")
    if vm is None:
        return NEW
    home = problem.inventory.host_by_moid.get(vm.host or "")
    live = has_what_it_asks(problem, demand) and can_move_live(vm, home)
    return AsItIs(breaks_rules_only(problem, demand), live)


def disturbance(vm: Vm | None, today: AsItIs, same_host: bool, seating: Seating) -> Disturbance:
    """Return what a place does to a VM, unless it is left as it is.

    One that is changed where it is needs a power cycle, unless it keeps its seat and a rule was all that was
    wrong with it: others went away. One that moves goes by vMotion if nothing of it
    changes: a node number in ``numa.nodeAffinity`` that changes counts only after a power cycle.

    Args:
        vm: the VM, None = to be made.
        today: what need not be changed.
        same_host: whether the place is on the VM's host.
        seating: the nodes and cards of the place.
    """
    if vm is None:
        return NONE
    if not vm.is_on:
        return Disturbance(False, False, not same_host)
    if same_host:
        return Disturbance(True, not (today.seated and same_seat(vm, seating)), False)
    nodes = tuple(sorted(seating.nodes))
    return Disturbance(True, not (today.live and nodes == vm.node_affinity), True)


def disturbance_of(problem: Problem, placement: Placement) -> Disturbance:
    """Return what a placement does to its VM."""
    demand = problem.demand_by_id[placement.demand]
    vm = problem.inventory.vm_by_moid.get(demand.vm or "")
    if vm is None or placement.stays:
        return NONE
    today = problem.derive(_of_demand, demand.id)
    return disturbance(vm, today, vm.host == placement.host, seating_of_placement(demand, placement))


def _of_demand(problem: Problem, demand: str) -> AsItIs:
    return as_it_is(problem, problem.demand_by_id[demand])
