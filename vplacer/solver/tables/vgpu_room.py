"""How many vGPUs of several profiles the cards of a host take together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

from vplacer.solver.host_state import HostState
from vplacer.solver.vgpu_patterns import patterns_of_cells


def vgpu_room(state: HostState, profiles: tuple[str, ...]) -> tuple[tuple[int, ...], ...]:
    """Return the largest counts per profile that the cards of a host take together."""
    counts: Counter[tuple[tuple[int, ...], ...]] = Counter(
        tuple(patterns)
        for cell, patterns in patterns_of_cells(state, profiles)
        if cell.card.kind == "gpu" and cell.card.vgpu
    )
    return _together(tuple(sorted(counts.items())), len(profiles))


@lru_cache(maxsize=4096)
def _together(
    cards: tuple[tuple[tuple[tuple[int, ...], ...], int], ...], profiles: int
) -> tuple[tuple[int, ...], ...]:
    """The largest sums of patterns. ``cards``: the patterns of a card, and how many cards have these."""
    reached = {(0,) * profiles}
    for patterns, count in cards:
        most = largest(patterns)
        for _ in range(count):
            reached = set(
                largest([tuple(a + b for a, b in zip(x, y, strict=True)) for x in reached for y in most])
            )
    return tuple(sorted(reached))


def largest(vectors: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Return the vectors that no other is at least as large as in everything."""
    distinct = sorted(set(vectors), reverse=True)
    return [
        v
        for v in distinct
        if not any(w != v and all(a <= b for a, b in zip(v, w, strict=True)) for w in distinct)
    ]
