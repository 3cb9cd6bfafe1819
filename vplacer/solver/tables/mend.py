"""Whole columns in which every mover that leaves has a seat.

Who leaves without one gets a seat of its size: first one that nobody takes, then that of the new VM that
counts least; else it stays, and new VMs that are in its way are left out; else its host is as it is today.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice

from vplacer.solver.tables.evictions import seat_of
from vplacer.solver.tables.items import Item
from vplacer.solver.tables.lp import LightColumn, Whole
from vplacer.solver.tables.movers import Mover
from vplacer.solver.tables.moving_source import MovingSource, Taken
from vplacer.solver.tables.room_left import RoomLeft, room_left
from vplacer.solver.tables.seatings import Seating

MOST_TRIED = 12
"""Seats tried for one mover."""


class Mender:
    """Mends one answer. ``whole``: columns, one a host."""

    def __init__(
        self,
        whole: Whole,
        items: Sequence[Item],
        worth: Mapping[int, int],
        movers: Sequence[Sequence[Mover]],
        moving: MovingSource,
        seatings: Callable[[Taken, int], Sequence[Seating]],
        holds: Callable[[LightColumn], bool],
    ) -> None:
        """Take an answer.

        Args:
            whole: columns, and how many hosts take each.
            items: the items.
            worth: what a seat of each item of new VMs counts.
            movers: of each host.
            moving: what makes columns of hosts.
            seatings: the seatings of an item on the host of a column.
            holds: whether a host takes a column, exactly.
        """
        self.whole = [column for column, count in whole for _ in range(count)]
        self.items, self.worth, self.moving = items, worth, moving
        self.seatings, self.holds = seatings, holds
        self.movers = movers
        self._rooms: dict[int, RoomLeft | None] = {}
        self._most = max(worth.values(), default=1)

    def run(self) -> Whole:
        """Return the columns."""
        lost = lost_seats(self.whole, self.items)
        while lost:
            # Each time one mover more has a seat, or one less leaves.
            item = min(lost)
            if not (self._added(item) or self._seated(item) or self._stays(item)):
                break
            lost = lost_seats(self.whole, self.items)
        self._keep_at_home()
        return [(column, 1) for column in staying(self.whole, self.items, self.worth)]

    def _keep_at_home(self) -> None:
        """Let movers stay that leave for nothing: what is seated on their host fits beside them."""
        for at, column in enumerate(self.whole):
            source = column.source
            for mover in source.gone if isinstance(source, Taken) else ():
                now = self.whole[at].source
                assert isinstance(now, Taken)
                left, seat = self._left(at), seat_of(mover, now.beginning.member)
                if left is None or seat is None or not left.has(seat):
                    continue
                gone = tuple(other for other in now.gone if other is not mover)
                changed = self._made(self.whole[at], gone, now.seats)
                if changed is not None and self.holds(changed):
                    self._change(at, changed)

    def _added(self, item: int) -> bool:
        """Seat one more VM of an item where there is room for it."""
        return self._taken(self._with_one_more(item))

    def _with_one_more(self, item: int) -> Iterator[tuple[int, LightColumn | None]]:
        """Yield columns with one more VM of an item, one a host, and where they are."""
        for at, column in enumerate(self.whole):
            source = column.source
            if not isinstance(source, Taken):
                continue
            seatings = self.seatings(source, item)
            left = self._left(at) if seatings else None
            seating = next((s for s in seatings if left is not None and left.has(s)), None)
            if seating is not None:
                seats = Counter(dict(source.seats))
                seats[seating] += 1
                yield at, self._made(column, source.gone, list(seats.items()))

    def _taken(self, tries: Iterator[tuple[int, LightColumn | None]]) -> bool:
        """Take the first of some columns that its host holds; few are tried."""
        for at, changed in islice(tries, MOST_TRIED):
            if changed is not None and self.holds(changed):
                self._change(at, changed)
                return True
        return False

    def _left(self, at: int) -> RoomLeft | None:
        if at not in self._rooms:
            source = self.whole[at].source
            assert isinstance(source, Taken)
            begun = source.beginning
            movers = self.movers[begun.host] if begun.gone else ()
            stays = [mover for mover in movers if mover not in source.gone]
            self._rooms[at] = room_left(begun.member, stays, source.seats)
        return self._rooms[at]

    def _change(self, at: int, column: LightColumn) -> None:
        self.whole[at] = column
        self._rooms.pop(at, None)

    def _seated(self, item: int) -> bool:
        """Seat one more VM of an item in place of nobody, or of what counts least."""
        spare = {n for n, number in _balance(self.whole).items() if number > 0 and self._is_mover(n)}
        found = []
        for at, column in enumerate(self.whole):
            source = column.source
            for old, _ in source.seats if isinstance(source, Taken) else ():
                if old.item == item or (self._is_mover(old.item) and old.item not in spare):
                    continue
                found.append((self.worth.get(old.item, 0), at, old))
        return self._taken(self._in_place_of(sorted(found, key=lambda f: (f[0], f[1])), item))

    def _in_place_of(
        self, found: Sequence[tuple[int, int, Seating]], item: int
    ) -> Iterator[tuple[int, LightColumn | None]]:
        """Yield columns with a VM of an item in place of another, and where they are."""
        for _, at, old in found:
            new = next(self._instead(at, old, item), None)
            if new is not None:
                yield at, self._with(self.whole[at], old, new)

    def _instead(self, at: int, old: Seating, item: int) -> Iterator[Seating]:
        """Seatings of an item with the devices of another seating, and no larger."""
        source = self.whole[at].source
        assert isinstance(source, Taken)
        places = tuple((part.position, part.takes) for part in old.parts)
        for seating in self.seatings(source, item):
            mine = tuple((part.position, part.takes) for part in seating.parts)
            if mine == places and seating.tokens == old.tokens and _no_larger(seating, old):
                yield seating

    def _stays(self, item: int) -> bool:
        """Let one VM of an item stay where it is, without those that are in its way, new VMs first."""
        kind = self.items[item].moving
        found: list[tuple[int, int, LightColumn | None]] = []
        for at, column in enumerate(self.whole):
            source = column.source
            movers = [m for m in source.gone if m.kind == kind] if isinstance(source, Taken) else []
            if movers:
                lost, changed = self._staying(column, movers[0])
                found.append((lost, at, changed))
        if not found:
            return False
        _, at, best = min(found, key=lambda f: f[:2])
        if best is None:
            del self.whole[at]
            self._rooms.clear()
        else:
            self._change(at, best)
        return True

    def _staying(self, column: LightColumn, mover: Mover) -> tuple[int, LightColumn | None]:
        """A column that a mover does not leave, and what that costs; None: its host is as it is today."""
        source = column.source
        assert isinstance(source, Taken)
        gone = tuple(other for other in source.gone if other is not mover)
        order = sorted(source.seats, key=lambda s: (self._is_mover(s[0].item), self.worth.get(s[0].item, 0)))
        new = [seating for seating, count in order for _ in range(count)]
        for number in range(len(new)):
            kept = Counter(new[number:])
            changed = self._made(column, gone, list(kept.items()))
            if changed is not None and self.holds(changed):
                return sum(self._cost(seating) for seating in new[:number]), changed
        return sum(map(self._cost, new)), None

    def _cost(self, seating: Seating) -> int:
        """What a seat counts; a mover without one may cost another VM its seat."""
        return self.worth.get(seating.item, self._most)

    def _with(self, column: LightColumn, old: Seating, new: Seating) -> LightColumn | None:
        source = column.source
        assert isinstance(source, Taken)
        seats = Counter(dict(source.seats))
        seats[old] -= 1
        seats[new] += 1
        return self._made(column, source.gone, [(s, n) for s, n in seats.items() if n])

    def _made(
        self, column: LightColumn, gone: Sequence[Mover], seats: Sequence[tuple[Seating, int]]
    ) -> LightColumn | None:
        source = column.source
        assert isinstance(source, Taken)
        return self.moving.column(source.beginning, gone, seats, self.moving.terms_of(column, seats))

    def _is_mover(self, item: int) -> bool:
        return self.items[item].moving is not None


def staying(
    whole: Sequence[LightColumn], items: Sequence[Item], worth: Mapping[int, int]
) -> list[LightColumn]:
    """Drop columns until every mover that leaves has a seat: their hosts are then as they are today."""
    kept = list(whole)
    while True:
        lost = {items[item].moving for item in lost_seats(kept, items)}
        if not lost:
            return kept
        guilty = [
            number
            for number, column in enumerate(kept)
            if isinstance(column.source, Taken) and any(m.kind in lost for m in column.source.gone)
        ]
        count = {n: sum(c * worth.get(item, 0) for item, c in kept[n].seats) for n in guilty}
        del kept[min(guilty, key=lambda n: (count[n], n))]


def lost_seats(whole: Sequence[LightColumn], items: Sequence[Item]) -> dict[int, int]:
    """Return of how many movers of each item there are fewer seats than leave."""
    return {
        item: -number
        for item, number in _balance(whole).items()
        if number < 0 and items[item].moving is not None
    }


def _balance(whole: Sequence[LightColumn]) -> Counter[int]:
    seats: Counter[int] = Counter()
    for column in whole:
        for item, number in column.seats:
            seats[item] += number
    return seats


def _no_larger(one: Seating, other: Seating) -> bool:
    return all(
        a.amount.millicores <= b.amount.millicores and a.amount.memory_mib <= b.amount.memory_mib
        for a, b in zip(one.parts, other.parts, strict=True)
    )
