"""A placement that shows that an option fits: cards that are free, dealt out one by one."""

from __future__ import annotations

from vplacer.constraints.state import DeviceAssignment, Placement
from vplacer.inventory.pci import PciAddress
from vplacer.request.demand import BoundBy, Demand
from vplacer.solver.host_state import HostState
from vplacer.solver.option import AskUse, Option
from vplacer.solver.vgpu_patterns import card_patterns


def witness(demand: Demand, option: Option, state: HostState) -> Placement:
    """Return a placement of a demand as an option says.

    Args:
        demand: the demand.
        option: one of its options that fits the host.
        state: the host; its cells are the cards that are free.
    """
    taken: dict[PciAddress, int] = {}
    vgpus = {address: list(held) for address, held in state.vgpu_held}
    devices: list[DeviceAssignment] = []
    for use in option.uses:
        if use.resource == "vgpu":
            cards = [_vgpu_card(state, vgpus, use.profile or "") for _ in range(use.count)]
            devices += [DeviceAssignment(use.ask, use.index, card, use.bound_by) for card in cards if card]
        elif use.resource == "group":
            devices += [
                DeviceAssignment(use.ask, use.index, address, use.bound_by, group=number)
                for number, group in enumerate(use.sets)
                for address in group
            ]
        else:
            devices += _cards(use, state, taken)
    return Placement(demand.id, state.host.moid, option.nodes, tuple(devices))


def _cards(use: AskUse, state: HostState, taken: dict[PciAddress, int]) -> list[DeviceAssignment]:
    found = []
    for cell, count in use.cells:
        card = state.cells[cell].card
        label = card.label if use.bound_by is BoundBy.LABEL else None
        most = max(1, card.sriov_free_vfs) if use.resource == "vf" else 1
        for _ in range(count):
            addresses = state.cells[cell].addresses
            address = next((a for a in addresses if taken.get(a, 0) < most), addresses[0])
            taken[address] = taken.get(address, 0) + 1
            found.append(DeviceAssignment(use.ask, use.index, address, use.bound_by, label))
    return found


def _vgpu_card(state: HostState, vgpus: dict[PciAddress, list[str]], profile: str) -> PciAddress | None:
    """Take the first card that has room; the first of all where none is sure to have it."""
    cells = [cell for cell in state.cells if cell.card.kind == "gpu" and cell.card.vgpu]
    for cell in cells:
        for address in cell.addresses:
            held = tuple(sorted(vgpus.get(address, ())))
            if max(counts[0] for counts in card_patterns(state.host, cell.card, held, (profile,))) > 0:
                vgpus.setdefault(address, []).append(profile)
                return address
    return cells[0].addresses[0] if cells else None
