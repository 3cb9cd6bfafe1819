"""How many vGPUs of several profiles the cards of a host take together."""

from __future__ import annotations

from collections.abc import Sequence

from vplacer.solver.host_state import HostState
from vplacer.solver.vgpu_patterns import patterns_of_cells


def vgpu_room(state: HostState, profiles: tuple[str, ...]) -> list[tuple[int, ...]]:
    """Return the largest counts per profile that the cards of a host take together."""
    reached = {(0,) * len(profiles)}
    for cell, patterns in patterns_of_cells(state, profiles):
        if cell.card.kind == "gpu" and cell.card.vgpu:
            most = _largest(patterns)
            reached = set(
                _largest([tuple(a + b for a, b in zip(x, y, strict=True)) for x in reached for y in most])
            )
    return sorted(reached)


def _largest(vectors: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
    distinct = sorted(set(vectors), reverse=True)
    return [
        v
        for v in distinct
        if not any(w != v and all(a <= b for a, b in zip(v, w, strict=True)) for w in distinct)
    ]
