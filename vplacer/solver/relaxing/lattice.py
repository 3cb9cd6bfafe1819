"""The cheapest ways to climb some ladders until something helps: hitting sets of what stands in the way.

A step that does not help shows a conflict: ladders that must be climbed further, one of them at least. The
cheapest way that meets all conflicts known is found by CP-SAT and tried; if it does not help, it
shows another conflict, else it is the cheapest there is (implicit hitting sets; Moreno-Centeno and Karp,
Operations Research 61, 2013).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ortools.sat.python import cp_model

from vplacer.solver.cpsat import Outcome, run

Point = tuple[int, ...]
"""How far each ladder is climbed; 0 = not at all."""


@dataclass(frozen=True, slots=True)
class Step:
    """A value of a field that gives up more than the step before, and what it costs."""

    value: str
    cost: int
    text: str


@dataclass(frozen=True, slots=True)
class Ladder:
    """A field and its steps, the least first."""

    field: str
    steps: tuple[Step, ...]

    def cost(self, height: int) -> int:
        """Return what it costs to climb so far."""
        return self.steps[height - 1].cost if height else 0


def cheapest_points(
    ladders: Sequence[Ladder], helps: Callable[[Point], bool], most: int, tries: int
) -> tuple[list[Point], bool]:
    """Return the cheapest points that help, none of them above another, and whether their order is proved.

    Args:
        ladders: what may be given up; more given up never helps less.
        helps: whether a point helps.
        most: so many points at most.
        tries: so many calls of ``helps`` at most.
    """
    left = tries
    top = tuple(len(ladder.steps) for ladder in ladders)

    def tried(point: Point) -> bool:
        nonlocal left
        left -= 1
        return helps(point)

    if not ladders or not tried(top):
        return [], True
    conflicts: list[Point] = []
    found: list[Point] = []
    while len(found) < most and left > 0:
        point = _cheapest(ladders, conflicts, found)
        if point is None:
            return found, True
        if tried(point):
            found.append(point)
            continue
        for index in range(len(point)):
            point = _raised(point, index, top[index], tried)
            if left <= 0:
                return found, False
        conflicts.append(point)
    return found, len(found) == most


def _raised(point: Point, index: int, top: int, helps: Callable[[Point], bool]) -> Point:
    """Climb one ladder as far as that still does not help."""
    low, high = point[index], top + 1
    while high - low > 1:
        middle = (low + high) // 2
        if helps((*point[:index], middle, *point[index + 1 :])):
            high = middle
        else:
            low = middle
    return (*point[:index], low, *point[index + 1 :])


def _cheapest(ladders: Sequence[Ladder], conflicts: Sequence[Point], found: Sequence[Point]) -> Point | None:
    """Return the cheapest point that is above no point found, and somewhere above each that did not help."""
    model = cp_model.CpModel()
    # climbed[i][s]: ladder i is climbed at least s + 1 steps.
    climbed = [[model.new_bool_var("") for _ in ladder.steps] for ladder in ladders]
    terms = []
    for number, (ladder, flags) in enumerate(zip(ladders, climbed, strict=True)):
        for step, flag in enumerate(flags):
            more = ladder.cost(step + 1) - ladder.cost(step)
            # Of equally cheap points the one that climbs the first ladders.
            terms.append((more * 1000 + number + 1) * flag)
            if step:
                model.add_implication(flag, flags[step - 1])
    for point in conflicts:
        model.add_bool_or(
            [flags[height] for flags, height in zip(climbed, point, strict=True) if height < len(flags)]
        )
    for point in found:
        model.add_bool_or(
            [flags[height - 1].negated() for flags, height in zip(climbed, point, strict=True) if height]
        )
    model.minimize(sum(terms) if terms else 0)
    result = run(model, seed=1, work=1.0)
    if result.outcome is not Outcome.PROVED:
        return None
    return tuple(sum(result.solver.value(flag) for flag in flags) for flags in climbed)
