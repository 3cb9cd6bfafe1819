"""What the VMs of a host take of its CPU and memory: today, and in a state.

A host that is over-full today may stay so and may not get worse; so every check of amounts compares
the two.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from vplacer.constraints.packing import Divisible, Fit, Item, fits
from vplacer.constraints.state import Problem, State, of_one_host
from vplacer.constraints.supply import (
    ZERO,
    Amount,
    Consumer,
    HostSupply,
    Seat,
    consumer_of_demand,
    consumer_of_vm,
    host_supply,
    total,
)
from vplacer.request.demand import RequestOptions


@dataclass(frozen=True, slots=True)
class Load:
    """The consumers of a host, summed. ``bound`` by node id; ``items`` and ``divisible`` float."""

    consumers: tuple[Consumer, ...]
    whole: Amount
    bound: dict[int, Amount]
    items: tuple[Item, ...]
    divisible: tuple[Divisible, ...]


def supply_of(problem: Problem, host: str) -> HostSupply:
    """Return `host_supply` of a host, computed once for all requests with the same options."""
    return problem.derive_fact(_supply, host, problem.request.options)


@of_one_host
def _supply(problem: Problem, host: str, options: RequestOptions) -> HostSupply:
    return host_supply(problem.inventory.host_by_moid[host], options)


def vm_consumer(problem: Problem, vm: str) -> Consumer | None:
    """Return what a VM takes today on the host it is on, computed once for requests with the same options."""
    return problem.derive_fact(_vm_consumer, vm, problem.request.options)


@of_one_host
def _vm_consumer(problem: Problem, moid: str, options: RequestOptions) -> Consumer | None:
    vm = problem.inventory.vm_by_moid[moid]
    host = problem.inventory.host_by_moid.get(vm.host or "")
    return consumer_of_vm(vm, host, options) if host is not None else None


def load_today(problem: Problem, host: str) -> Load:
    """Return what all VMs on a host take today."""
    return problem.derive(_load_today, host)


def _load_today(problem: Problem, host: str) -> Load:
    vms = problem.inventory.vms_by_host.get(host, ())
    consumers = [c for vm in vms if (c := vm_consumer(problem, vm.moid)) is not None]
    return _sum(problem, host, consumers)


def load_of(state: State, host: str) -> Load:
    """Return what all VMs on a host take in a state."""
    return state.derive(_load_of, host)


def _load_of(state: State, host: str) -> Load:
    problem = state.problem
    standing = state.standing_by_host.get(host, ())
    consumers = [c for vm in standing if (c := vm_consumer(problem, vm.moid)) is not None]
    consumers += placed_consumers(state, host)
    return _sum(problem, host, consumers)


def placed_consumers(state: State, host: str) -> list[Consumer]:
    """Return what the placements that change or make a VM take on a host."""
    problem = state.problem
    home = problem.inventory.host_by_moid[host]
    consumers = []
    for placement in state.placements_by_host.get(host, ()):
        demand = problem.demand_by_id[placement.demand]
        found = consumer_of_demand(demand, placement.nodes, home, problem.request.options)
        if found is not None:
            consumers.append(found)
    return consumers


def _sum(problem: Problem, host: str, consumers: Iterable[Consumer]) -> Load:
    order = [node.id for node in supply_of(problem, host).nodes]
    position = {node: index for index, node in enumerate(order)}
    bound = dict.fromkeys(order, ZERO)
    items: list[Item] = []
    divisible: list[Divisible] = []
    every = tuple(consumers)
    for consumer in every:
        if consumer.seat is Seat.BOUND:
            for node in consumer.nodes:
                bound[node] = bound.get(node, ZERO) + consumer.part
            continue
        allowed = tuple(sorted(position[node] for node in consumer.nodes if node in position))
        if consumer.seat is Seat.ITEM:
            items.append((consumer.part, consumer.parts, allowed))
        else:
            divisible.append((consumer.whole, allowed))
    items.sort(key=lambda item: (item[0].millicores, item[0].memory_mib, item[1], item[2]))
    divisible.sort(key=lambda entry: (entry[0].millicores, entry[0].memory_mib, entry[1]))
    return Load(every, total(c.whole for c in every), bound, tuple(items), tuple(divisible))


def residuals(problem: Problem, host: str, load: Load) -> tuple[Amount, ...]:
    """Return what bound VMs leave of each node, in the order of the supply; may be negative."""
    return tuple(node.amount - load.bound[node.id] for node in supply_of(problem, host).nodes)


def floating_fit(problem: Problem, host: str, load: Load) -> Fit:
    """Say whether the floating VMs of a load have room beside the bound ones."""
    return fits(residuals(problem, host, load), load.items, load.divisible)
