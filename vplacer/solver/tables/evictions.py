"""What a host can begin with when some of its VMs move away: members of its family with more left.

Each set of VMs that leave makes one more beginning of the host. Those that can be said as devices of slots
and as amounts of nodes, given back one VM at a time, are made here; for the others it is all or nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from vplacer.constraints.holdings import VF, VGPU
from vplacer.constraints.supply import Amount, Seat, total
from vplacer.solver.host_state import HostState
from vplacer.solver.kinds import HostKind
from vplacer.solver.tables.families import Family, Member
from vplacer.solver.tables.movers import Mover
from vplacer.solver.tables.seatings import Part, Place, Slot, cell_position

MOST_SETS = 32
"""Sets of VMs that may leave a host, the small ones first, beside the one of all of them."""


@dataclass(frozen=True, slots=True)
class TodaysSeat:
    """Where a mover sits today, as a seating would say it."""

    parts: tuple[Part, ...]
    tokens: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True)
class Beginning:
    """A member of a family as one beginning of a host: the host's number, who left it."""

    host: int
    gone: tuple[Mover, ...]
    member: Member


def seat_of(mover: Mover, member: Member) -> TodaysSeat | None:
    """Return where a mover sits on its host without movers; None where no seating can say it."""
    active, state = mover.active, member.kind.task.state
    if active.consumer is None or active.consumer.seat is not Seat.BOUND:
        return None
    amounts: dict[int, Amount] = {}
    for node in active.consumer.nodes:
        if node not in state.node_ids:
            return None
        amounts[state.node_position(node)] = active.consumer.part
    at = _places(member)
    devices: dict[int, dict[Slot, int]] = {}
    tokens: dict[str, int] = {}
    for holding in active.holdings:
        if holding.kind == VGPU and holding.group is None and holding.profile is not None:
            tokens[holding.profile] = tokens.get(holding.profile, 0) + 1
            continue
        if holding.kind == VF or holding.address is None:
            return None
        place = at.get(holding.address)
        if place is None:
            return None
        here = devices.setdefault(place[0], {})
        here[place[1]] = here.get(place[1], 0) + 1
    parts = tuple(
        Part(
            position,
            tuple(sorted(devices.get(position, {}).items(), key=str)),
            amounts.get(position, Amount(0, 0)),
        )
        for position in sorted({*amounts, *devices})
    )
    return TodaysSeat(parts, tuple(sorted(tokens.items())))


def _places(member: Member) -> dict[object, Place]:
    state = member.kind.task.state
    found: dict[object, Place] = {}
    for number, (cell, slot) in enumerate(zip(state.cells, member.slots, strict=True)):
        for address in cell.addresses:
            found[address] = (cell_position(state, number), slot)
    return found


def with_evictions(
    family: Family, hosts: Mapping[int, tuple[int, bool]], movers: Sequence[Sequence[Mover]]
) -> tuple[Family, dict[int, Beginning]]:
    """Add to a family what its hosts without movers become when some of them stay.

    Args:
        family: with hosts as they are and without movers.
        hosts: by id of a member's kind: number of the host, and whether all its movers left it.
        movers: those of each host.

    Returns:
        The family, the members added last, and the beginning by id of each member's kind.
    """
    members = list(family.members)
    beginnings: dict[int, Beginning] = {}
    copies: dict[int, list[int]] = {}
    for number, member in enumerate(family.members):
        host, bare = hosts[id(member.kind)]
        beginnings[id(member.kind)] = Beginning(host, tuple(movers[host]) if bare else (), member)
        if not bare:
            continue
        for gone, kind, sizes in _parts(member, movers[host]):
            copies.setdefault(number, []).append(len(members))
            members.append(Member(kind, member.slots, sizes))
            beginnings[id(kind)] = Beginning(host, gone, member)
    only = {
        name: frozenset({*numbers, *(copy for number in numbers for copy in copies.get(number, ()))})
        for name, numbers in family.only.items()
    }
    return Family(tuple(members), family.seatings, only), beginnings


def _parts(
    member: Member, movers: Sequence[Mover]
) -> Iterator[tuple[tuple[Mover, ...], HostKind, dict[tuple[int, Slot], int]]]:
    """Yield who leaves, and what is then left of the host; equal ones once."""
    state = member.kind.task.state
    seats = {mover.demand: seat_of(mover, member) for mover in movers}
    if any(seat is None or seat.tokens for seat in seats.values()) or state.items or state.divisible:
        return
    seen: set[object] = set()
    count = 0
    for gone in _sets(movers):
        if count == MOST_SETS:
            return
        stay = [mover for mover in movers if mover not in gone]
        sizes = dict(member.sizes)
        room = list(state.room)
        for mover in stay:
            for part in seats[mover.demand].parts:  # type: ignore[union-attr]
                for slot, taken in part.takes:
                    sizes[part.position, slot] -= taken
                if part.position >= 0:
                    room[part.position] = room[part.position] - part.amount
        key = (tuple(sorted(mover.kind for mover in gone)), tuple(sizes.items()), tuple(room))
        if key in seen:
            continue
        seen.add(key)
        count += 1
        left = total(m.active.consumer.whole for m in stay if m.active.consumer is not None)
        yield (
            gone,
            _kind(member.kind, replace(state, room=tuple(room), total_room=state.total_room - left)),
            sizes,
        )


def _sets(movers: Sequence[Mover]) -> Iterator[tuple[Mover, ...]]:
    """Who may leave: one, several of one node, several of any; not all."""
    for size in range(1, len(movers)):
        found = list(combinations(movers, size))
        yield from sorted(found, key=_spread)


def _spread(gone: Sequence[Mover]) -> int:
    return len({node for m in gone if m.active.consumer is not None for node in m.active.consumer.nodes})


def _kind(kind: HostKind, state: HostState) -> HostKind:
    return HostKind(kind.index, kind.positions, replace(kind.task, state=state))
