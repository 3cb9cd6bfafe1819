"""What a column leaves of its host: devices of slots, cores and memory of nodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from vplacer.constraints.supply import Amount
from vplacer.solver.tables.evictions import TodaysSeat, seat_of
from vplacer.solver.tables.families import Member
from vplacer.solver.tables.movers import Mover
from vplacer.solver.tables.seatings import Part, Seating, Slot


@dataclass
class RoomLeft:
    """Devices per node position and slot; cores and memory of each node, and in all."""

    sizes: dict[tuple[int, Slot], int]
    nodes: list[Amount]
    whole: Amount

    def take(self, parts: Sequence[Part], count: int = 1) -> None:
        """Take the parts of a seat some times."""
        for part in parts:
            amount = Amount(part.amount.millicores * count, part.amount.memory_mib * count)
            if part.position >= 0:
                self.nodes[part.position] = self.nodes[part.position] - amount
            self.whole = self.whole - amount
            for slot, taken in part.takes:
                self.sizes[part.position, slot] = self.sizes.get((part.position, slot), 0) - taken * count

    def has(self, seating: Seating | TodaysSeat) -> bool:
        """Whether a seating finds its devices, cores and memory; shares of cards are not looked at."""
        for part in seating.parts:
            if part.position >= 0 and not part.amount.fits(self.nodes[part.position]):
                return False
            if not part.amount.fits(self.whole):
                return False
            if any(self.sizes.get((part.position, slot), 0) < count for slot, count in part.takes):
                return False
        return True


def room_left(
    member: Member, stays: Sequence[Mover], seats: Sequence[tuple[Seating, int]]
) -> RoomLeft | None:
    """Return what is left of a host; None where that is not told by nodes and slots.

    Args:
        member: the host, without its movers if some of them leave.
        stays: those who stay then.
        seats: what is seated.
    """
    state = member.kind.task.state
    if state.items or state.divisible:
        return None
    left = RoomLeft(dict(member.sizes), list(state.room), state.total_room)
    for mover in stays:
        seat = seat_of(mover, member)
        if seat is None:
            return None
        left.take(seat.parts)
    for seating, count in seats:
        left.take(seating.parts, count)
    return left
