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

        VMs whose cards are near only if others take the rest of them go too.
        """
        gone = dict(dropped)
        lost: Counter[int] = Counter(dropped)
        points = column.points
        source: object
        if isinstance(column.source, HostPlan):
            options = self.kinds[column.kind].task.options
            chosen = []
            for index, number, count in column.source.chosen:
                item = self.item_of[index]
                drop = min(count, gone.get(item, 0))
                gone[item] = gone.get(item, 0) - drop
                points -= drop * options[index][number].points
                if count > drop and not options[index][number].settles:
                    chosen.append((index, number, count - drop))
                elif count > drop:
                    # What it promises counted on cards that VMs now dropped may have taken.
                    points -= (count - drop) * options[index][number].points
                    lost[item] += count - drop
            source = replace(column.source, chosen=tuple(chosen), vgpus=())
        else:
            kept = []
            for seating, count in sorted(column.source, key=lambda s: s[0].points):  # type: ignore[call-overload]
                drop = min(count, gone.get(seating.item, 0))
                gone[seating.item] = gone.get(seating.item, 0) - drop
                points -= drop * seating.points
                if count > drop and seating.sure:
                    kept.append((seating, count - drop))
                elif count > drop:
                    points -= (count - drop) * seating.points
                    lost[seating.item] += count - drop
            source = tuple(kept)
        seats = tuple((item, n - lost[item]) for item, n in column.seats if n > lost[item])
        if not seats:
            return None
        host = self.kinds[column.kind].task.state.host.moid
        return LightColumn(column.kind, seats, points, self.terms.of_seats(seats, host), source)
