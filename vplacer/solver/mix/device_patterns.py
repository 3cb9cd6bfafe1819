"""What one device can hold: the sets of VMs that no other set is better than in every respect."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from vplacer.solver.mix.shape import FULL

MOST_ON_A_DEVICE = 8
"""VMs on one device of a pattern. Insertion adds more of them where they fit."""


@dataclass(frozen=True, slots=True)
class Item:
    """A VM as it is priced: grid cells of cores and memory, shares, worth, and the demand's index."""

    cores: int
    memory: int
    share: int
    worth: float
    demand: int


@dataclass(frozen=True, slots=True)
class DevicePattern:
    """VMs on one device: what they take together, what they are worth, and which they are."""

    cores: int
    memory: int
    worth: float
    demands: tuple[int, ...]


_Label = tuple[int, int, float, tuple[int, ...]]
"""Cores, memory, worth with its sign turned, and demands: plain tuples, which sort as they are compared."""


def device_patterns(items: Iterable[Item]) -> list[DevicePattern]:
    """Return the undominated patterns of a device of FULL shares, fewest cores first."""
    held: dict[int, list[_Label]] = {0: [(0, 0, 0.0, ())]}
    for part in sorted(undominated_items(items), key=lambda item: (-item.worth / item.share, item.demand)):
        for used in _reachable(held, part.share):
            more = [_with(label, part) for label in held.get(used - part.share, ()) if _is_open(label)]
            held[used] = _undominated([*held.get(used, ()), *more])
    labels = _undominated([label for labels in held.values() for label in labels if label[3]])
    return [DevicePattern(cores, memory, -loss, demands) for cores, memory, loss, demands in labels]


def _reachable(held: Iterable[int], share: int) -> list[int]:
    """Return the sums of shares that one or more parts on top of those held make, ascending.

    Ascending: a sum that already has one of the part in it takes the next one, so that any number is tried.
    """
    return sorted({used + times * share for used in held for times in range(1, (FULL - used) // share + 1)})


def _is_open(label: _Label) -> bool:
    return len(label[3]) < MOST_ON_A_DEVICE


def _with(label: _Label, part: Item) -> _Label:
    cores, memory, loss, demands = label
    return cores + part.cores, memory + part.memory, loss - part.worth, (*demands, part.demand)


def _undominated(labels: list[_Label]) -> list[_Label]:
    """Return the labels for which no other takes as little and is worth as much."""
    labels.sort()
    kept: list[_Label] = []
    for label in labels:
        memory, loss = label[1], label[2]
        for other in kept:
            if other[1] <= memory and other[2] <= loss:
                break
        else:
            kept.append(label)
    return kept


def undominated(patterns: Sequence[DevicePattern]) -> list[DevicePattern]:
    """Return the patterns for which no other takes as little and is worth as much."""
    kept: list[DevicePattern] = []
    for pattern in sorted(patterns, key=lambda p: (p.cores, p.memory, -p.worth, p.demands)):
        if not any(other.memory <= pattern.memory and other.worth >= pattern.worth for other in kept):
            kept.append(pattern)
    return kept


def undominated_items(items: Iterable[Item]) -> list[Item]:
    """Return the items worth something for which no other takes as little and is worth as much."""
    kept: list[Item] = []
    worthy = [item for item in items if item.worth > 0]
    for item in sorted(worthy, key=lambda i: (i.cores, i.memory, i.share, -i.worth, i.demand)):
        if not any(
            other.memory <= item.memory and other.share <= item.share and other.worth >= item.worth
            for other in kept
        ):
            kept.append(item)
    return kept
