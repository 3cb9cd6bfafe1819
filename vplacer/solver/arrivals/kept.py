"""Slots on hosts: room for one VM of a shape, down to NUMA nodes and cards."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from vplacer.constraints.state import DeviceAssignment, Placement, Problem
from vplacer.request.demand import Demand, FutureShape, Rules


@dataclass(frozen=True, slots=True)
class KeptSlot:
    """A slot: where one VM of a shape would go. ``number`` tells the slots of one set apart.

    ``nodes`` and ``devices`` as in `Placement`. ``value``: what losing it costs, the shape's weight in
    thousandths.
    """

    number: int
    shape: str
    host: str
    nodes: tuple[int, ...]
    devices: tuple[DeviceAssignment, ...]
    value: int

    @property
    def id(self) -> str:
        """The id of the demand that stands for it."""
        return slot_id(self.number)

    @property
    def placement(self) -> Placement:
        """It as a placement."""
        return Placement(self.id, self.host, self.nodes, self.devices)


def slot_id(number: int) -> str:
    """Return the id of the demand that stands for a slot; no VM and no demand of a request is called so."""
    return f"new:slot {number:06}"


def slot_demand(shape: Demand, number: int) -> Demand:
    """Return the demand that stands for a slot of a shape."""
    return replace(shape, id=slot_id(number), name=f"slot of {shape.name}")


def with_slots(
    problem: Problem, demands: Iterable[Demand], slots: Iterable[KeptSlot], mix: Iterable[FutureShape]
) -> Problem:
    """Return the problem that asks for some demands and, beside them, for what slots stand for."""
    shapes = {shape.name: shape.demand for shape in mix}
    asked = (*demands, *(slot_demand(shapes[slot.shape], slot.number) for slot in slots))
    return problem.with_request(replace(problem.request, demands=asked))


def rules_for(problem: Problem, demand: Demand) -> Rules:
    """Return the rules as they bind a demand that is placed by itself.

    VMs of the request that are still to be made are named by rules and do not exist: they bind nobody.
    """
    there = {vm.moid for vm in problem.inventory.vms} | {demand.id}
    rules = problem.request.rules
    return Rules(
        apart=tuple(replace(rule, vms=tuple(vm for vm in rule.vms if vm in there)) for rule in rules.apart),
        together=tuple(
            replace(rule, vms=tuple(vm for vm in rule.vms if vm in there)) for rule in rules.together
        ),
        on_hosts=tuple(
            replace(rule, vms=tuple(vm for vm in rule.vms if vm in there)) for rule in rules.on_hosts
        ),
    )
