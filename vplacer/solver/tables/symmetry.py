"""Slots of a node that can change places without anybody noticing: states that differ by that are one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from itertools import permutations, product

from vplacer.solver.tables.slots import State, Takes

MOST_TRIED = 2_000
"""Permutations tried; with more only the states as they are are told apart."""


def symmetries(
    contents: Mapping[Takes, object], slots: int, fixed: frozenset[int] = frozenset()
) -> list[tuple[int, ...]]:
    """Return the permutations of slots that leave what may be placed as it is; the identity first.

    Args:
        contents: for each set of devices that something takes, what takes it.
        slots: how many there are.
        fixed: slots that stay where they are.
    """
    identity = tuple(range(slots))
    looks: dict[int, list[str]] = defaultdict(list)
    for takes, content in contents.items():
        for slot, count in takes:
            looks[slot].append(repr((count, len(takes), content)))
    for slot in fixed:
        looks[slot].append(f"slot {slot}")
    alike: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for slot in range(slots):
        alike[tuple(sorted(looks[slot]))].append(slot)
    size = 1
    for group in alike.values():
        for factor in range(2, len(group) + 1):
            size *= factor
    if size > MOST_TRIED:
        return [identity]
    found = [identity]
    for chosen in product(*(permutations(group) for group in alike.values())):
        places = {
            old: new
            for group, to in zip(alike.values(), chosen, strict=True)
            for old, new in zip(group, to, strict=True)
        }
        order = tuple(places[slot] for slot in range(slots))
        if order != identity and _keeps(contents, order):
            found.append(order)
    return found


def moved(takes: Takes, order: tuple[int, ...]) -> Takes:
    """Return what is taken once slots have changed places."""
    return tuple(sorted((order[slot], count) for slot, count in takes))


def _keeps(contents: Mapping[Takes, object], order: tuple[int, ...]) -> bool:
    return all(contents.get(moved(takes, order)) == content for takes, content in contents.items())


def canonical(state: State, orders: Iterable[tuple[int, ...]]) -> State:
    """Return the state that stands for all that are like it."""
    best = state
    for order in orders:
        other = [0] * len(state)
        for slot, size in enumerate(state):
            other[order[slot]] = size
        best = max(best, tuple(other))
    return best
