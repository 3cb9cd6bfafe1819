"""Queues of steps that only wait for their turn: the most urgent first, one for each host that is spaced."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

from vplacer.apply.units import Unit
from vplacer.plan.model import Step

Rank: TypeAlias = tuple[float, float, int]
_Entry: TypeAlias = tuple[float, int, int, int, Unit, Step]


class Lanes:
    """Steps of units that disturb nothing. Those that began or are held up again are dropped when met.

    Args:
        urgency: of each step, by id.
        host_of: the host at which steps are spaced apart, by id: they have a queue of their own.
    """

    def __init__(self, urgency: Mapping[str, float], host_of: Mapping[str, str]) -> None:
        self._urgency = urgency
        self._host_of = host_of
        self._queues: dict[str | None, list[_Entry]] = {}
        self._count = 0

    def add(self, unit: Unit, step: Step, position: int) -> None:
        """Put a step at its place; ``position``: among the steps of its unit."""
        self._count += 1
        entry = (-self._urgency[step.id], unit.index, position, self._count, unit, step)
        heapq.heappush(self._queues.setdefault(self._host_of.get(step.id), []), entry)

    def heads(self, is_free: Callable[[Unit, Step], bool]) -> Iterator[tuple[Rank, Step]]:
        """Yield the first step of each queue, with its rank among all steps (less = sooner)."""
        for lane, queue in list(self._queues.items()):
            while queue and not is_free(*queue[0][4:]):
                heapq.heappop(queue)
            if not queue:
                del self._queues[lane]
                continue
            urgency, index, _, _, _, step = queue[0]
            yield (-0.0, urgency, index), step
