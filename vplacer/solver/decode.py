"""From counts per cell to named cards: placements of single demands."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from vplacer.constraints.seating import static_cards
from vplacer.constraints.state import DeviceAssignment, Placement
from vplacer.errors import InternalError
from vplacer.inventory.pci import PciAddress
from vplacer.request.demand import BoundBy
from vplacer.solver.classes import DemandClass
from vplacer.solver.host_model import HostTask
from vplacer.solver.host_plan import HostPlan
from vplacer.solver.option import AskUse, Option


def decode(
    classes: tuple[DemandClass, ...], answers: Iterable[tuple[HostTask, HostPlan]]
) -> tuple[Placement, ...]:
    """Give every chosen seat a demand and every counted card an address.

    Members of a class are dealt in the order of their ids, hosts in the order given.
    """
    dealt = {cls.index: iter(cls.members) for cls in classes}
    placements: list[Placement] = []
    for task, plan in answers:
        deck = _Deck(task, plan, classes)
        for index in plan.stays:
            stay = classes[index].stay
            if stay is None:
                raise InternalError(
                    "a VM that does not meet its demand was said to stay", obj=classes[index].members[0]
                )
            placements.append(stay)
            next(dealt[index])
        for index, number, count in plan.chosen:
            option = task.options[index][number]
            for _ in range(count):
                member = next(dealt[index])
                placements.append(_placement(member, option, task, deck, classes[index]))
    return tuple(sorted(placements, key=lambda placement: placement.demand))


def _placement(member: str, option: Option, task: HostTask, deck: _Deck, cls: DemandClass) -> Placement:
    mine = deck.own(cls)
    devices: list[DeviceAssignment] = []
    for use in option.uses:
        devices += deck.take(use, mine)
    return Placement(member, task.state.host.moid, option.nodes, tuple(devices))


class _Deck:
    """The free cards of one host, handed out one by one."""

    def __init__(self, task: HostTask, plan: HostPlan, classes: tuple[DemandClass, ...]) -> None:
        self.state = task.state
        self.free: dict[int, list[PciAddress]] = {
            cell.index: list(cell.addresses) for cell in self.state.cells
        }
        self.functions: dict[PciAddress, int] = {
            address: cell.card.sriov_free_vfs for cell in self.state.cells for address in cell.addresses
        }
        self.vgpus: dict[str, list[int]] = defaultdict(list)
        self.holdings: dict[int, set[PciAddress]] = {}
        for cell, profile, count in plan.vgpus:
            self.vgpus[profile] += [cell] * count
        keeping = set(plan.stays) | set(plan.as_is)
        for active in self.state.actives:
            cards = {h.address for h in active.holdings if h.address is not None}
            self.holdings[active.class_index] = cards
            if active.class_index not in keeping:
                continue
            for holding in active.holdings:
                where = (holding.address,) if holding.address is not None else holding.candidates
                for card in where:
                    if holding.kind == "vf":
                        self.functions[card] = self.functions.get(card, 0) - 1
                    elif holding.kind == "vgpu" and holding.group is None and holding.profile is not None:
                        self._remove_vgpu(holding.profile, card)
                    elif holding.address is not None:
                        self._remove(card)
        self.reserved = self._reserved(plan, task, classes)

    def _reserved(self, plan: HostPlan, task: HostTask, classes: tuple[DemandClass, ...]) -> set[PciAddress]:
        """Cards that the VMs they are bound to take again: others are dealt them last."""
        found: set[PciAddress] = set()
        for index, number, _ in plan.chosen:
            own = self.own(classes[index])
            for use in task.options[index][number].uses if own else ():
                for cell, _ in use.cells:
                    found |= own.intersection(self.state.cells[cell].addresses)
        return found

    def _remove(self, address: PciAddress) -> None:
        for cards in self.free.values():
            if address in cards:
                cards.remove(address)

    def _remove_vgpu(self, profile: str, address: PciAddress) -> None:
        for cell in self.state.cells:
            if address in cell.addresses and cell.index in self.vgpus[profile]:
                self.vgpus[profile].remove(cell.index)

    def own(self, cls: DemandClass) -> set[PciAddress]:
        """Cards the VM holds today on this host: it keeps them where they serve."""
        if cls.home != self.state.host.moid:
            return set()
        return self.holdings.get(cls.index, set()) | static_cards(cls.vm)

    def take(self, use: AskUse, mine: set[PciAddress]) -> list[DeviceAssignment]:
        """Hand out the cards of one ask."""
        if use.resource == "vgpu":
            cells = [self.vgpus[use.profile or ""].pop(0) for _ in range(use.count)]
            return [
                DeviceAssignment(use.ask, use.index, self.state.cells[cell].addresses[0], use.bound_by)
                for cell in cells
            ]
        if use.resource == "group":
            for group in use.sets:
                for address in group:
                    self._remove(address)
            return [
                DeviceAssignment(use.ask, use.index, address, use.bound_by, group=number)
                for number, group in enumerate(use.sets)
                for address in group
            ]
        devices = []
        for cell, count in use.cells:
            for _ in range(count):
                address = self._function(cell) if use.resource == "vf" else self._card(cell, mine)
                label = self.state.cells[cell].card.label if use.bound_by is BoundBy.LABEL else None
                devices.append(DeviceAssignment(use.ask, use.index, address, use.bound_by, label))
        return devices

    def _card(self, cell: int, mine: set[PciAddress]) -> PciAddress:
        cards = self.free[cell]
        if not cards:
            raise InternalError("more cards were counted than the host has", obj=self.state.host.name)
        chosen = min(cards, key=lambda card: (card not in mine, card in self.reserved, card))
        cards.remove(chosen)
        return chosen

    def _function(self, cell: int) -> PciAddress:
        for address in self.state.cells[cell].addresses:
            if self.functions.get(address, 0) > 0:
                self.functions[address] -= 1
                return address
        raise InternalError("more virtual functions were counted than the host has", obj=self.state.host.name)
