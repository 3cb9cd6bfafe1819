"""Future room: which blocks of cards a host still has whole. The fourth level of the objective.

A block is a set of free cards worth keeping together: the cards of an NVLink group, all GPUs of a
NUMA node, all GPUs of a host, the GPUs and NICs of one PCIe switch. A block counts its size while
every card in it is free. Cards that the platform chooses count at their worst: each may fall into
another block of the family. CPU-only VMs on a host (or node) with GPUs cost their vCPUs.

Close in spirit to the fragmentation gradient of Weng et al., "Beware of Fragmentation" (USENIX ATC
2023): what counts is not how much is free but what can still be asked for.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from vplacer.inventory.pci import PciAddress
from vplacer.solver.cells import Cell
from vplacer.solver.host_state import HostState


@dataclass(frozen=True, slots=True)
class Block:
    """Cells that make a block, all of their cards; ``worth`` points while all are free."""

    family: str
    cells: tuple[int, ...]
    worth: int


def blocks_of(state: HostState) -> tuple[Block, ...]:
    """Return the blocks of a host that no untouchable VM has broken."""
    cell_of: dict[PciAddress, Cell] = {a: cell for cell in state.cells for a in cell.addresses}
    broken = {address for address, profiles in state.vgpu_held if profiles}
    groups: list[tuple[str, tuple[PciAddress, ...], int]] = []
    gpus = [gpu.address for gpu in state.topology.gpus]
    groups += [("nvlink", group, len(group)) for group in state.topology.nvlink_groups]
    by_node: dict[int, list[PciAddress]] = defaultdict(list)
    by_switch: dict[PciAddress, list[PciAddress]] = defaultdict(list)
    kinds: dict[PciAddress, list[str]] = defaultdict(list)
    for device in state.topology.devices:
        kind = "gpu" if device.address in gpus else "nic" if device.address in cell_of else ""
        if kind == "gpu" and device.node is not None:
            by_node[device.node].append(device.address)
        if kind and device.switch is not None:
            by_switch[device.switch].append(device.address)
            kinds[device.switch].append(kind)
    groups += [("node", tuple(cards), len(cards)) for _, cards in sorted(by_node.items()) if len(cards) > 1]
    if len(gpus) > 1:
        groups.append(("host", tuple(gpus), len(gpus)))
    for switch, cards in sorted(by_switch.items()):
        pairs = min(kinds[switch].count("gpu"), kinds[switch].count("nic"))
        if pairs:
            groups.append(("switch", tuple(cards), pairs))
    blocks = []
    for family, addresses, worth in groups:
        if any(address not in cell_of or address in broken for address in addresses):
            continue
        cells = tuple(sorted({cell_of[address].index for address in addresses}))
        if sum(state.cells[index].size for index in cells) == len(addresses):
            blocks.append(Block(family, cells, worth))
    return tuple(blocks)


@dataclass(frozen=True, slots=True)
class Loose:
    """How many cards lie where somebody else decides: chosen by vSphere, or held by VMs nobody names
    the card of."""

    gpus: int = 0
    nics: int = 0

    def may_break(self, family: str) -> int:
        """Return how many blocks of a family they may break, each another one."""
        return self.gpus + self.nics if family == "switch" else self.gpus


def unnamed(state: HostState) -> Loose:
    """Return the cards that untouchable VMs hold, nobody knows which."""
    gpus = sum(count for cells, count in state.scarce if cells and state.cells[cells[0]].card.kind == "gpu")
    return Loose(gpus, sum(count for cells, count in state.scarce if cells) - gpus)


def room_value(
    blocks: tuple[Block, ...], sure: Mapping[int, int], chosen: Mapping[int, int], loose: Loose
) -> int:
    """Points of the blocks left whole.

    Args:
        blocks: the host's blocks.
        sure: cards per cell that are taken for sure: by static backings, and by VMs that stay.
        chosen: cards per cell that the platform or a label chooses, at their witness.
        loose: how many cards those are, and those held by VMs nobody names the card of. Each may fall
            into another block that is not broken for sure.
    """
    families: dict[str, list[Block]] = defaultdict(list)
    for block in blocks:
        if not any(sure.get(cell, 0) for cell in block.cells):
            families[block.family].append(block)
    points = 0
    for family, members in families.items():
        whole = sorted(
            block.worth for block in members if not any(chosen.get(cell, 0) for cell in block.cells)
        )
        most = max(0, len(members) - loose.may_break(family))
        points += sum(whole[max(0, len(whole) - most) :])
    return points
