"""What placements take of a host's cards, as far as anybody can tell which."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from vplacer.constraints.cards import devices_of_host
from vplacer.constraints.holdings import AssignableDevice
from vplacer.constraints.matching import gpu_matches, nic_matches
from vplacer.constraints.state import DeviceAssignment, Placement, Problem
from vplacer.inventory.host import Host
from vplacer.inventory.pci import PciAddress
from vplacer.request.demand import BoundBy, Demand, GpuAsk, NicAsk
from vplacer.solver.host_state import HostState
from vplacer.solver.option import AskUse, Option

Cards = frozenset[PciAddress]


@dataclass(frozen=True, slots=True)
class Taken:
    """``count`` devices, each one of ``cards``: a single cell where the plan names it, else a choice.

    ``profile``: vGPUs of it. Virtual functions count as a port each, since each may be on another.
    """

    cards: Cards
    count: int
    profile: str | None = None


def taken_by_option(problem: Problem, demand: Demand, option: Option, state: HostState) -> tuple[Taken, ...]:
    """Return what an option takes."""
    return tuple(taken for use in option.uses for taken in _of_use(problem, demand, use, state))


def _of_use(problem: Problem, demand: Demand, use: AskUse, state: HostState) -> Iterator[Taken]:
    if use.resource == "vgpu":
        cards = choice(problem, state.host, demand, use.ask, use.index, None)
        yield Taken(cards, use.count, use.profile)
    for index, count in use.cells:
        cell = state.cells[index]
        if use.bound_by is BoundBy.STATIC or (use.resource == "group" and cell.card.kind == "nic"):
            yield Taken(frozenset(cell.addresses), count)
        else:
            label = cell.card.label if use.bound_by is BoundBy.LABEL else None
            yield Taken(choice(problem, state.host, demand, use.ask, use.index, label), count)


def taken_by_placements(
    problem: Problem, host: Host, placements: Iterable[Placement], state: HostState
) -> tuple[Taken, ...]:
    """Return what placements on a host take; cards of ``state`` that form a cell are one to another."""
    cell_of = {address: cell for cell in state.cells for address in cell.addresses}
    found = []
    for placement in placements:
        demand = problem.demand_by_id[placement.demand]
        for item in placement.devices:
            cell = cell_of.get(item.address)
            if cell is not None:
                found.append(_of_assignment(problem, host, demand, item, cell.card))
    return tuple(found)


def _of_assignment(
    problem: Problem, host: Host, demand: Demand, item: DeviceAssignment, card: AssignableDevice
) -> Taken:
    if item.ask == "gpu" and demand.gpus[item.index].profile is not None:
        cards = choice(problem, host, demand, item.ask, item.index, None)
        return Taken(cards, 1, demand.gpus[item.index].profile)
    if item.bound_by is BoundBy.STATIC or (item.group is not None and card.kind == "nic"):
        return Taken(frozenset((item.address,)), 1)
    label = card.label if item.bound_by is BoundBy.LABEL else None
    return Taken(choice(problem, host, demand, item.ask, item.index, label), 1)


def choice(problem: Problem, host: Host, demand: Demand, ask: str, index: int, label: str | None) -> Cards:
    """Return the cards of a host among which vSphere chooses one for an ask, whoever holds them now.

    ``label``: those that carry it; it is the plan that names a label.
    """
    wish = demand.gpus[index] if ask == "gpu" else demand.nics[index]
    return problem.derive(_choice, host.moid, wish, label)


def _choice(problem: Problem, moid: str, wish: GpuAsk | NicAsk, label: str | None) -> Cards:
    host = problem.inventory.host_by_moid[moid]
    return frozenset(
        card.address
        for card in devices_of_host(problem, moid)
        if label in (None, card.label)
        and (gpu_matches(host, card, wish) if isinstance(wish, GpuAsk) else nic_matches(card, wish))
    )
