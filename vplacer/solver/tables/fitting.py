"""What of a pattern a host takes exactly: tables round sizes, and relax where VMs float."""

from __future__ import annotations

from collections.abc import Sequence

from vplacer.constraints.packing import Fit, fits
from vplacer.constraints.supply import Amount
from vplacer.solver.host_state import HostState
from vplacer.solver.tables.seatings import Seating

Seats = list[tuple[Seating, int]]


def fitting(state: HostState, wanted: Seats) -> Seats:
    """Drop VMs until the rest fits a host exactly, beside the VMs that float on it."""
    kept = _within(state, wanted)
    if not kept or not (state.items or state.divisible) or packs(state, kept):
        return kept
    return _packed(state, kept)


def packs(state: HostState, seats: Sequence[tuple[Seating, int]]) -> bool:
    """Whether the VMs that float on a host have room beside some seats."""
    taken = [[0, 0] for _ in state.room]
    for seating, count in seats:
        for part in seating.parts:
            if part.position >= 0:
                taken[part.position][0] += part.amount.millicores * count
                taken[part.position][1] += part.amount.memory_mib * count
    left = tuple(
        Amount(room.millicores - cores, room.memory_mib - memory)
        for room, (cores, memory) in zip(state.room, taken, strict=True)
    )
    return fits(left, state.items, state.divisible) is Fit.YES


def _packed(state: HostState, wanted: Seats) -> Seats:
    """Drop the VMs with the fewest devices first; one alone, if that is enough."""
    for number in sorted(range(len(wanted)), key=lambda n: _little(wanted[n][0])):
        kept = _less(wanted, number)
        if packs(state, kept):
            return kept
    kept = wanted
    while kept:
        kept = _less(kept, min(range(len(kept)), key=lambda n: _little(kept[n][0])))
        if packs(state, kept):
            break
    return kept


def _less(seats: Seats, number: int) -> Seats:
    """Seats less one VM."""
    seating, count = seats[number]
    mine = [(seating, count - 1)] if count > 1 else []
    return [*seats[:number], *mine, *seats[number + 1 :]]


def _little(seating: Seating) -> tuple[int, int]:
    """How little is lost with a VM: the devices it takes; of equal ones the largest goes first."""
    devices = sum(n for part in seating.parts for _, n in part.takes) + sum(n for _, n in seating.tokens)
    return devices, -sum(part.amount.millicores for part in seating.parts)


def _within(state: HostState, wanted: Seats) -> Seats:
    """Drop VMs until all fits each node and the host: tables round sizes down to whole units."""
    cores = [max(0, room.millicores) for room in state.room]
    memory = [max(0, room.memory_mib) for room in state.room]
    left = [max(0, state.total_room.millicores), max(0, state.total_room.memory_mib)]
    kept: Seats = []
    for seating, count in wanted:
        most = count
        for what, room in ((0, cores), (1, memory)):
            total = 0
            for part in seating.parts:
                size = part.amount.memory_mib if what else part.amount.millicores
                total += size
                if size:
                    most = min(most, room[part.position] // size)
            if total:
                most = min(most, left[what] // total)
        if most <= 0:
            continue
        for part in seating.parts:
            if part.position >= 0:
                cores[part.position] -= part.amount.millicores * most
                memory[part.position] -= part.amount.memory_mib * most
            left[0] -= part.amount.millicores * most
            left[1] -= part.amount.memory_mib * most
        kept.append((seating, most))
    return kept
