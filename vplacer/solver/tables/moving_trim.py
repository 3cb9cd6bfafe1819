"""Drop seats that nobody takes: more of an item than are asked for, or than leave their seats."""

from __future__ import annotations

from collections.abc import Sequence

from vplacer.solver.tables.lp import Whole
from vplacer.solver.tables.moving_source import MovingSource, Taken
from vplacer.solver.tables.placed import seats_held
from vplacer.solver.tables.seatings import Seating


def trimmed(taken: Whole, asked: Sequence[int], moving: MovingSource) -> Whole:
    """Return columns that seat no more of an item than is asked for, the last ones trimmed first.

    Args:
        taken: columns, and how many hosts take each.
        asked: seats of each item that are wanted: none of movers, which count those that leave.
        moving: what made the columns of hosts with movers.
    """
    extra = [have - wanted for have, wanted in zip(seats_held(taken, len(asked)), asked, strict=True)]
    result: Whole = []
    for column, count in reversed(taken):
        left = count
        while left and isinstance(column.source, Taken):
            kept, dropped = _less(column.source, extra)
            if not dropped:
                break
            left -= 1
            for item, number in dropped.items():
                extra[item] -= number
            smaller = moving.column(
                column.source.beginning, column.source.gone, kept, moving.terms_of(column, kept)
            )
            if smaller is not None:
                result.append((smaller, 1))
        if left:
            result.append((column, left))
    return result[::-1]


def _less(source: Taken, extra: Sequence[int]) -> tuple[tuple[tuple[Seating, int], ...], dict[int, int]]:
    dropped: dict[int, int] = {}
    kept = []
    for seating, count in sorted(source.seats, key=lambda s: s[0].points):
        drop = min(count, max(0, extra[seating.item] - dropped.get(seating.item, 0)))
        if drop:
            dropped[seating.item] = dropped.get(seating.item, 0) + drop
        if count > drop:
            kept.append((seating, count - drop))
    return tuple(kept), dropped
