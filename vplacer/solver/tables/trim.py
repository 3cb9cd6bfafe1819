"""Drop seats that nobody asked for: patterns may seat more of an item than there are VMs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from vplacer.solver.host_plan import HostPlan
from vplacer.solver.kinds import HostKind
from vplacer.solver.tables.items import Item
from vplacer.solver.tables.lp import LightColumn, Whole
from vplacer.solver.tables.placed import seats_held
from vplacer.solver.tables.seatings import Place, Seating
from vplacer.solver.tables.sources import RowTerms


class Trimmer:
    """Drops seats from columns."""

    def __init__(self, kinds: Sequence[HostKind], items: Sequence[Item], terms: RowTerms) -> None:
        self.kinds = kinds
        self.terms = terms
        self.item_of = {item.lead: item.index for item in items}

    def trim(self, taken: Whole, asked: Sequence[int]) -> Whole:
        """Return columns that seat no more of an item than is asked for, the last ones trimmed first."""
        extra = [have - wanted for have, wanted in zip(seats_held(taken, len(asked)), asked, strict=True)]
        # First where no other VM has to go with those dropped.
        return self._pass(self._pass(taken, extra, alone=True), extra, alone=False)

    def _pass(self, taken: Whole, extra: list[int], *, alone: bool) -> Whole:
        """Trim columns while there are seats too many, from the last to the first.

        ``alone``: only where nobody else has to go.
        """
        result: Whole = []
        for column, count in reversed(taken):
            left = count
            while left and any(extra[item] > 0 for item, _ in column.seats):
                dropped = {item: min(n, extra[item]) for item, n in column.seats if extra[item] > 0}
                smaller = self.without(column, dropped)
                seats = dict(smaller.seats) if smaller is not None else {}
                if alone and any(seats.get(item, 0) != n - dropped.get(item, 0) for item, n in column.seats):
                    break
                for item, number in dropped.items():
                    extra[item] -= number
                left -= 1
                if smaller is not None:
                    result.append((smaller, 1))
            if left:
                result.append((column, left))
        return result[::-1]

    def without(self, column: LightColumn, dropped: Mapping[int, int]) -> LightColumn | None:
        """Return a column less some seats, those with the fewest points first; None if nothing is left.

        VMs whose cards are near only if those dropped take the rest of them go too.
        """
        host = self.kinds[column.kind].task.state.host.moid
        source: object
        if isinstance(column.source, HostPlan):
            source, lost, points = self._less_of_plan(column.kind, column.source, dropped)
        else:
            source, lost, points = _less(column.source, dropped)  # type: ignore[arg-type]
        seats = tuple((item, n - lost[item]) for item, n in column.seats if n > lost[item])
        if not seats:
            return None
        return LightColumn(
            column.kind, seats, column.points - points, self.terms.of_seats(seats, host), source
        )

    def _less_of_plan(
        self, kind: int, plan: HostPlan, dropped: Mapping[int, int]
    ) -> tuple[HostPlan, Counter[int], int]:
        """The plan of a host less some seats, seats lost by item, and points lost."""
        options = self.kinds[kind].task.options
        gone = dict(dropped)
        lost: Counter[int] = Counter()
        points = 0
        kept = []
        cells: set[int] = set()
        for index, number, count in plan.chosen:
            item = self.item_of[index]
            option = options[index][number]
            drop = min(count, gone.get(item, 0))
            gone[item] = gone.get(item, 0) - drop
            points += drop * option.points
            lost[item] += drop
            if drop:
                cells |= {cell for use in option.uses for cell, _ in use.cells}
            if count > drop:
                kept.append((index, number, count - drop))
        for entry in [entry for entry in kept if cells.intersection(options[entry[0]][entry[1]].settles)]:
            # What it promises counted on cards that VMs now dropped may have taken.
            index, number, count = entry
            kept.remove(entry)
            points += count * options[index][number].points
            lost[self.item_of[index]] += count
        return replace(plan, chosen=tuple(kept), vgpus=()), lost, points


def _less(
    seats: Sequence[tuple[Seating, int]], dropped: Mapping[int, int]
) -> tuple[tuple[tuple[Seating, int], ...], Counter[int], int]:
    """Seatings less some seats, seats lost by item, and points lost."""
    gone = dict(dropped)
    lost: Counter[int] = Counter()
    points = 0
    kept = []
    places: set[Place] = set()
    for seating, count in sorted(seats, key=lambda s: s[0].points):
        drop = min(count, gone.get(seating.item, 0))
        gone[seating.item] = gone.get(seating.item, 0) - drop
        points += drop * seating.points
        lost[seating.item] += drop
        if drop:
            places |= {(part.position, slot) for part in seating.parts for slot, _ in part.takes}
        if count > drop:
            kept.append((seating, count - drop))
    still = []
    for seating, count in kept:
        # What it promises counted on cards that VMs now dropped may have taken.
        relied = places.intersection(seating.settles) if seating.settles else places
        if relied and not seating.sure:
            points += count * seating.points
            lost[seating.item] += count
        else:
            still.append((seating, count))
    return tuple(still), lost, points
