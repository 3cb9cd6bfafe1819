"""Assigning rows to columns of limited room, by augmenting paths. Small instances only."""

from __future__ import annotations

from collections.abc import Callable, Sequence


def assign(rows: int, room: Sequence[int], good: Callable[[int, int], bool]) -> tuple[int, ...] | None:
    """Return a column for each row, or None where no assignment exists.

    Args:
        rows: number of rows.
        room: how many rows each column takes.
        good: whether a row may have a column.
    """
    seated: list[list[int]] = [[] for _ in room]

    def seat(row: int, tried: set[int]) -> bool:
        for column, most in enumerate(room):
            if column in tried or not good(row, column):
                continue
            tried.add(column)
            if len(seated[column]) < most:
                seated[column].append(row)
                return True
            for place, other in enumerate(seated[column]):
                if seat(other, tried):
                    seated[column][place] = row
                    return True
        return False

    if not all(seat(row, set()) for row in range(rows)):
        return None
    found = [0] * rows
    for column, members in enumerate(seated):
        for row in members:
            found[row] = column
    return tuple(found)
