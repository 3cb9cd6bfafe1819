"""Hosts as places with amounts: cores and memory in all and of each NUMA node, and what is left of each card.

The amounts are what the policy compares. They are necessary, not sufficient: whether VMs that float, vGPUs of
different sizes or rules agree is asked of the judge afterwards.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from vplacer.constraints.state import Placement, Problem
from vplacer.constraints.supply import Seat, consumer_of_demand
from vplacer.inventory.pci import PciAddress
from vplacer.inventory.vm import Vm
from vplacer.request.demand import Demand
from vplacer.solver.arrivals.policy import Ways
from vplacer.solver.arrivals.slots import SlotBook
from vplacer.solver.host_state import HostState, build_host_state, untouched_state
from vplacer.solver.listing import listing_of
from vplacer.solver.option import AskUse, Option
from vplacer.topology.vgpu_room import profile_shape

WHOLE = 1000
"""Shares of a card; a vGPU takes its part of the framebuffer."""

CORES, MEMORY, FIRST_NODE = 0, 1, 2
PER_NODE = 2


@dataclass(frozen=True, slots=True)
class _Host:
    """A host's state, and the column of each card."""

    state: HostState
    column: Mapping[PciAddress, int]


class HostPlaces:
    """The hosts of a problem as places, in the order of the inventory.

    Nobody on them is touched but the VM that arrives, if it exists: what it holds today is free for it.
    """

    def __init__(self, problem: Problem, arriving: Vm | None = None) -> None:
        self._problem = problem
        self.hosts = tuple(h.moid for h in problem.inventory.hosts if h.moid in problem.topologies)
        self.number = {moid: number for number, moid in enumerate(self.hosts)}
        self._hosts = {moid: _host(_state(problem, moid, arriving)) for moid in self.hosts}
        rows = [_free(self._hosts[moid]) for moid in self.hosts]
        self.width = max((len(row) for row in rows), default=0)
        self.free = np.array([self._padded(row) for row in rows], dtype=np.int64).reshape(-1, self.width)

    def _padded(self, row: Sequence[int]) -> list[int]:
        return [*row, *[0] * (self.width - len(row))]

    def takes(self, demand: Demand, placement: Placement) -> tuple[int, ...]:
        """Return what a placement takes of its host."""
        here = self._hosts[placement.host]
        row = self._cores_and_memory(demand, placement.nodes, here)
        for device in placement.devices:
            at = here.column.get(device.address)
            if at is None:
                continue
            if device.ask == "gpu":
                row[at] += self._share(here, device.address, demand.gpus[device.index].profile)
            else:
                virtual = demand.nics[device.index].kind == "sriov"
                row[at] += 1 if virtual else int(self.free[self.number[placement.host], at])
        return tuple(row)

    def ways(self, demand: Demand, open_hosts: Iterable[str], book: SlotBook) -> Ways:
        """Return how a demand could sit on hosts beside what runs there, one way an option and vGPU card.

        Of cards that are alike those are taken on which slots of the least value are kept. Less waste: nearer
        cards first, then the host with less of its cards left.
        """
        places: list[int] = []
        takes: list[list[int]] = []
        points: list[int] = []
        for moid in open_hosts:
            here = self._hosts[moid]
            for option in listing_of(self._problem).options(self._problem, demand, here.state).options:
                for row in self._rows(demand, option, here, book):
                    places.append(self.number[moid])
                    takes.append(row)
                    points.append(option.points)
        at = np.array(places, dtype=np.int64)
        left = self.free[at, :].sum(axis=1) if places else np.zeros(0, dtype=np.int64)
        near = np.array(points, dtype=np.int64)
        farther = near.max(initial=0) - near
        return Ways(at, np.array(takes, dtype=np.int64).reshape(-1, self.width), farther * (1 << 40) + left)

    def _cores_and_memory(self, demand: Demand, nodes: tuple[int, ...], here: _Host) -> list[int]:
        row = [0] * self.width
        consumer = consumer_of_demand(demand, nodes, here.state.host, self._problem.request.options)
        if consumer is None:
            return row
        row[CORES], row[MEMORY] = consumer.whole.millicores, consumer.whole.memory_mib
        if consumer.seat is Seat.BOUND and here.state.node_ids:
            for node in consumer.nodes:
                at = FIRST_NODE + PER_NODE * here.state.node_position(node)
                row[at] += consumer.part.millicores
                row[at + 1] += consumer.part.memory_mib
        return row

    def _rows(self, demand: Demand, option: Option, here: _Host, book: SlotBook) -> list[list[int]]:
        """Return what an option takes; several rows where one vGPU may go on several cards."""
        rows = [self._cores_and_memory(demand, option.nodes, here)]
        for use in option.uses:
            if use.resource == "vgpu":
                rows = [more for row in rows for more in self._vgpus(row, use, here, book)]
            else:
                for row in rows:
                    self._cards(row, use, here, book)
        return rows

    def _cards(self, row: list[int], use: AskUse, here: _Host, book: SlotBook) -> None:
        place = self.number[here.state.host.moid]
        if use.resource == "group":
            for address in (address for group in use.sets for address in group):
                row[here.column[address]] += WHOLE
            return
        for cell, count in use.cells:
            columns = [here.column[address] for address in here.state.cells[cell].addresses]
            if use.resource == "vf":
                roomiest = max(columns, key=lambda at: int(self.free[place, at]) - row[at])
                row[roomiest] += count
                continue
            untaken = [at for at in columns if not row[at]]
            for at in sorted(untaken, key=lambda at: (_held(book, place, at), at))[:count]:
                row[at] += int(self.free[place, at])

    def _vgpus(self, row: list[int], use: AskUse, here: _Host, book: SlotBook) -> list[list[int]]:
        """Put vGPUs on cards: one on each that has room, several on those with the cheapest slots."""
        place = self.number[here.state.host.moid]
        cards = [
            (at, self._share(here, address, use.profile))
            for cell in here.state.cells
            if cell.card.kind == "gpu" and cell.card.vgpu
            for address in cell.addresses
            for at in (here.column[address],)
        ]
        cards.sort(key=lambda item: (_held(book, place, item[0]), item[0]))
        if use.count == 1:
            return [
                _more(row, at, share) for at, share in cards if row[at] + share <= int(self.free[place, at])
            ]
        found, open_asks = [*row], use.count
        for at, share in cards:
            while open_asks and found[at] + share <= int(self.free[place, at]):
                found[at] += share
                open_asks -= 1
        return [] if open_asks else [found]

    def _share(self, here: _Host, address: PciAddress, profile: str | None) -> int:
        return WHOLE if profile is None else _part(here.state, address, profile)


def _state(problem: Problem, moid: str, arriving: Vm | None) -> HostState:
    if arriving is None or arriving.host != moid:
        return untouched_state(problem, moid)
    here = problem.inventory.vms_by_host.get(moid, ())
    standing = tuple(vm for vm in here if not vm.template and vm.moid != arriving.moid)
    return build_host_state(problem, problem.inventory.host_by_moid[moid], standing, ())


def _host(state: HostState) -> _Host:
    first = FIRST_NODE + PER_NODE * len(state.node_ids)
    addresses = sorted(address for cell in state.cells for address in cell.addresses)
    return _Host(state, {address: first + number for number, address in enumerate(addresses)})


def _free(here: _Host) -> list[int]:
    """Return a host's free amounts; one that is over-full has none."""
    state = here.state
    row = [state.total_room.millicores, state.total_room.memory_mib]
    for room in state.room:
        row += [room.millicores, room.memory_mib]
    row += [0] * len(here.column)
    held = dict(state.vgpu_held)
    for cell in state.cells:
        for address in cell.addresses:
            taken = sum(_part(state, address, profile) for profile in held.get(address, ()))
            functions = cell.card.kind == "nic" and not cell.card.passthrough
            row[here.column[address]] = cell.card.sriov_free_vfs if functions else WHOLE - taken
    return [max(0, amount) for amount in row]


def _part(state: HostState, address: PciAddress, profile: str) -> int:
    """Return the thousandths of a card's framebuffer that a vGPU takes; all of it where that is unknown."""
    shape = profile_shape(state.host, profile)
    card = next((c.card for c in state.cells if address in c.addresses), None)
    if shape is None or card is None or not card.framebuffer_mib:
        return WHOLE
    return min(WHOLE, WHOLE * shape.framebuffer_mib // card.framebuffer_mib)


def _held(book: SlotBook, place: int, column: int) -> int:
    """Return the value of the slots that hold some of a card."""
    return sum(slot.value for slot in book.at(place) if slot.takes[column])


def _more(row: list[int], at: int, amount: int) -> list[int]:
    return [*row[:at], row[at] + amount, *row[at + 1 :]]
