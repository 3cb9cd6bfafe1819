"""Which steps have all before them done: kept up to date as steps begin and end, never worked out anew."""

from __future__ import annotations

from collections.abc import Iterable, Set

from vplacer.apply.units import Unit, Units
from vplacer.plan.model import Step


class Frontier:
    """The steps that nothing of the plan holds up: neither begun nor done, and all before them is done.

    Args:
        done: ids of steps; whoever changes it, or ``running``, says so with `moved`.
        running: ids of steps.

    ``before``: the steps of the same VM that come before each step, by id.
    """

    def __init__(self, units: Units, done: Set[str], running: Set[str]) -> None:
        self.before = _own_before(units)
        self._units = units
        self._done = done
        self._running = running
        self._left = {unit.index: 0 for unit in units.units}
        self._is_counted: set[str] = set()
        self._place = {
            step.id: (unit, index, step) for unit in units.units for index, step in enumerate(unit.steps)
        }
        self._waiting = _waiting(units, self.before)
        self._on_unit = _waiting_for_units(units)
        self._free: dict[int, dict[str, Step]] = {}
        for unit in units.units:
            self._left[unit.index] = sum(step.id not in done for step in unit.steps)
        self._is_counted.update(name for name in done if name in self._place)
        for unit in units.units:
            for step in unit.steps:
                self._renew(unit, step)

    def is_done(self, unit: Unit) -> bool:
        """Whether all steps of a unit are done."""
        return self._left[unit.index] == 0

    def is_free(self, unit: Unit, step: Step) -> bool:
        """Whether nothing of the plan holds a step up."""
        return step.id in self._free.get(unit.index, ())

    def position(self, step: Step) -> int:
        """Return the place of a step among those of its unit."""
        return self._place[step.id][1]

    def of_unit(self, unit: Unit) -> list[Step]:
        """Return the free steps of a unit, in the order of its steps."""
        free = list(self._free.get(unit.index, {}).values())
        return free if len(free) < 2 else sorted(free, key=self.position)

    def moved(self, step: Step) -> list[tuple[Unit, list[Step]]]:
        """Look again at what the state of a step decides, and return the steps that are free now."""
        unit = self._units.of_vm[step.vm]
        was_done = self.is_done(unit)
        if step.id in self._place and (step.id in self._done) != (step.id in self._is_counted):
            self._left[unit.index] += -1 if step.id in self._done else 1
            (self._is_counted.add if step.id in self._done else self._is_counted.discard)(step.id)
        names = [step.id, *self._waiting.get(step.id, ())]
        if was_done != self.is_done(unit):
            names += self._on_unit.get(unit.index, ())
        freed: dict[int, list[Step]] = {}
        for name in names:
            if name not in self._place:
                continue
            other, _, found = self._place[name]
            if self._renew(other, found):
                freed.setdefault(other.index, []).append(found)
        return [(self._units.units[index], steps) for index, steps in freed.items()]

    def _renew(self, unit: Unit, step: Step) -> bool:
        """Look again at a step; True = it has become free."""
        free = self._free.get(unit.index, {})
        if not self._has_all(unit, step):
            if free.pop(step.id, None) is not None and not free:
                del self._free[unit.index]
            return False
        if step.id in free:
            return False
        self._free.setdefault(unit.index, free)[step.id] = step
        return True

    def _has_all(self, unit: Unit, step: Step) -> bool:
        if step.id in self._done or step.id in self._running:
            return False
        # Of its own VM all that comes before: a step in between may have been kept when others were undone.
        return self.before[step.id] <= self._done and all(
            self._is_met(unit, name) for name in step.depends_on
        )

    def _is_met(self, own: Unit, name: str) -> bool:
        """Whether a dependency is done. One on a unit that disturbs VMs waits for the whole of it.

        Should that unit fail half-way, it finds what it needs to go back.
        """
        other = self._units.of_vm.get(_vm_of(name))
        if name not in self._done:
            return other is None
        return other is None or other is own or not other.resources or self.is_done(other)


def _vm_of(step: str) -> str:
    return step.rpartition("/")[0]


def _own_before(units: Units) -> dict[str, frozenset[str]]:
    """Return the steps of the same VM that come before each step."""
    found = {}
    so_far: dict[str, frozenset[str]] = {}
    for unit in units.units:
        for step in unit.steps:
            found[step.id] = so_far.get(step.vm, frozenset())
            so_far[step.vm] = found[step.id] | {step.id}
    return found


def _waiting(units: Units, before: dict[str, frozenset[str]]) -> dict[str, list[str]]:
    """Return the steps that wait for each step."""
    found: dict[str, list[str]] = {}
    for unit in units.units:
        for step in unit.steps:
            for name in _both(before[step.id], step.depends_on):
                found.setdefault(name, []).append(step.id)
    return found


def _waiting_for_units(units: Units) -> dict[int, list[str]]:
    """Return the steps that wait for each unit that disturbs VMs, of other units."""
    found: dict[int, list[str]] = {}
    for unit in units.units:
        for step in unit.steps:
            others = {
                units.of_vm[vm].index for name in step.depends_on if (vm := _vm_of(name)) in units.of_vm
            }
            for index in sorted(others - {unit.index}):
                if units.units[index].resources:
                    found.setdefault(index, []).append(step.id)
    return found


def _both(own: Iterable[str], others: Iterable[str]) -> list[str]:
    return list(dict.fromkeys((*sorted(own), *others)))
