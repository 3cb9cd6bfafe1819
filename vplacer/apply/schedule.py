"""Which step may begin now, and which first.

May: everything it depends on is done; no more tasks than allowed run; its unit has its hosts and groups
for itself; its wave has come; the window is open. First: VMs that are off already, then what the longest
chain of steps waits for, or the busiest host or group.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from vplacer.apply.options import ApplyOptions
from vplacer.apply.steps import disrupts, switches_on
from vplacer.apply.units import Unit, Units
from vplacer.plan.changes import Power
from vplacer.plan.model import Step, StepKind


@dataclass(slots=True)
class Progress:
    """Where the steps stand, as the schedule needs to know: by id."""

    done: set[str] = field(default_factory=set)
    running: set[str] = field(default_factory=set)
    blocked: set[int] = field(default_factory=set)
    """Units that go no further: failed, drifted, or waiting for one that did."""


class Schedule:
    """Chooses steps. ``floating``: VMs whose NUMA node their host chooses at power-on.

    ``halted``: why no unit begins any more that disturbs nothing yet; None = all may begin.
    """

    def __init__(
        self,
        units: Units,
        options: ApplyOptions,
        floating: frozenset[str],
        progress: Progress,
    ) -> None:
        self.units = units
        self.options = options
        self.progress = progress
        self.halted: str | None = None
        self._floating = floating
        self._last_start: dict[str, datetime] = {}
        self._left = {
            unit.index: sum(step.id not in progress.done for step in unit.steps) for unit in units.units
        }
        self._before = _own_before(units)
        self._waves = _waves(units, options.waves)
        self._seconds = options.timing.typical_s
        self._tail = _tails(units, self._seconds)
        self._load = _loads(units, self._seconds)
        self._open = [unit for unit in units.units if not self._is_over(unit)]

    def ready(self, now: datetime) -> Step | None:
        """Return the step to begin now, or None."""
        self._open = [unit for unit in self._open if not self._is_over(unit)]
        if len(self.progress.running) >= self.options.parallelism:
            return None
        taken, wave = self._taken(), self._wave()
        best: tuple[float, ...] | None = None
        chosen = None
        for unit in self._open:
            if self._waves[unit.index] > wave or not self._may_go_on(unit, taken, now):
                continue
            needed = self._needed(unit)
            for step in unit.steps:
                if not self._is_ready(step) or self._not_before(step) > now:
                    continue
                if needed is not None and disrupts(step.change) and step.id not in needed:
                    continue
                rank = (-float(self.is_active(unit)), -self._urgency(unit, step), unit.index)
                if best is None or rank < best:
                    best, chosen = rank, step
        return chosen

    def wake_at(self, now: datetime) -> datetime | None:
        """Return when a step may begin that only waits for time to pass; None = none does."""
        taken, wave = self._taken(), self._wave()
        times = [
            when
            for unit in self._open
            if self._waves[unit.index] <= wave and self._may_go_on(unit, taken, now)
            for step in unit.steps
            if self._is_ready(step) and (when := self._not_before(step)) > now
        ]
        return min(times, default=None)

    def waits_for_window(self, now: datetime) -> bool:
        """Whether units could begin, were it not for the end of the window."""
        return self.halted is None and any(
            unit.resources and not self.is_active(unit) and not self._fits_window(unit, now)
            for unit in self._open
        )

    def began(self, step: Step, now: datetime) -> None:
        """Note that a step was begun."""
        self.progress.running.add(step.id)
        if self._is_spaced(step) and isinstance(step.change, Power) and step.change.host:
            self._last_start[step.change.host] = now

    def ended(self, step: Step, *, done: bool) -> None:
        """Note that a step has ended."""
        self.progress.running.discard(step.id)
        if not done or step.id in self.progress.done:
            return
        self.progress.done.add(step.id)
        unit = self.units.of_vm[step.vm]
        self._left[unit.index] -= 1
        for resource in unit.resources:
            self._load[resource] -= self._seconds.get(step.kind, 0.0)

    def undone(self, step: Step) -> None:
        """Note that a step was taken back."""
        if step.id in self.progress.done:
            self.progress.done.discard(step.id)
            self._left[self.units.of_vm[step.vm].index] += 1

    def block(self, unit: Unit) -> list[Unit]:
        """Let a unit go no further, nor those that wait for it; return those that were not blocked yet."""
        indices = {unit.index, *self.units.dependents[unit.index]} - self.progress.blocked
        self.progress.blocked |= indices
        return [item for item in self.units.units if item.index in indices]

    def is_active(self, unit: Unit) -> bool:
        """Whether a unit has begun to disturb a VM and has not ended."""
        if not unit.resources or self._is_done(unit):
            return False
        return any(self._has_disrupted(step) for step in unit.steps)

    def _has_disrupted(self, step: Step) -> bool:
        """Whether a step that disturbs a VM has begun, or has ended."""
        begun = step.id in self.progress.done or step.id in self.progress.running
        return begun and disrupts(step.change)

    def _is_done(self, unit: Unit) -> bool:
        return self._left[unit.index] == 0

    def _is_over(self, unit: Unit) -> bool:
        return unit.index in self.progress.blocked or self._is_done(unit)

    def _wave(self) -> int:
        """The first wave that is not done."""
        return next((self._waves[u.index] for u in self.units.units if not self._is_done(u)), 0)

    def _taken(self) -> frozenset[str]:
        """The hosts and groups that units have for themselves now."""
        active = [unit for unit in self.units.units if unit.resources and self.is_active(unit)]
        return frozenset().union(*(unit.resources for unit in active))

    def _may_go_on(self, unit: Unit, taken: frozenset[str], now: datetime) -> bool:
        if self.is_active(unit):
            return True
        if self.halted is not None or not self._is_after_others(unit):
            return False
        if not unit.resources:
            return True
        return not (unit.resources & taken) and self._has_room(unit) and self._fits_window(unit, now)

    def _is_after_others(self, unit: Unit) -> bool:
        """Whether all that a unit waits for is done; where it disturbs nothing, each step sees to that."""
        others = [self.units.units[index] for index in unit.after]
        return not unit.resources or all(self._is_done(other) for other in others)

    def _needed(self, unit: Unit) -> set[str] | None:
        """Return the steps that VMs wait for which are in between; None = no VM of the unit is.

        Of VMs that are changed as one, no more are disturbed at one time than wait for each other.
        """
        if len(unit.vms) == 1 or not self.is_active(unit):
            return None
        off = {step.vm for step in unit.steps if self._has_disrupted(step)}
        stack = [step for step in unit.steps if step.vm in off and step.id not in self.progress.done]
        if not stack:
            return None
        by_id = {step.id: step for step in unit.steps}
        found: set[str] = set()
        while stack:
            for name in (*stack[-1].depends_on, *self._before[stack.pop().id]):
                if name in by_id and name not in found and name not in self.progress.done:
                    found.add(name)
                    stack.append(by_id[name])
        return found

    def _has_room(self, unit: Unit) -> bool:
        """Whether not too many VMs are in between being off and on again."""
        between = sum(len(other.disrupted) for other in self._open if self.is_active(other))
        return between == 0 or between + len(unit.disrupted) <= self.options.parallelism

    def _fits_window(self, unit: Unit, now: datetime) -> bool:
        window = self.options.window
        if window is None:
            return True
        needed = timedelta(seconds=sum(self._seconds.get(step.kind, 0.0) for step in unit.steps))
        return window.start <= now and now + needed <= window.end

    def _is_ready(self, step: Step) -> bool:
        if step.id in self.progress.done or step.id in self.progress.running:
            return False
        # Of its own VM all that comes before: a step in between may have been kept when others were undone.
        before = self._before[step.id]
        return before <= self.progress.done and all(self._is_met(step, name) for name in step.depends_on)

    def _is_met(self, step: Step, name: str) -> bool:
        """Whether a dependency is done. One on a unit that disturbs VMs waits for the whole of it.

        Should that unit fail half-way, it finds what it needs to go back.
        """
        if name not in self.progress.done:
            return name.rpartition("/")[0] not in self.units.of_vm
        other = self.units.of_vm.get(name.rpartition("/")[0])
        own = self.units.of_vm[step.vm]
        return other is None or other is own or not other.resources or self._is_done(other)

    def _is_spaced(self, step: Step) -> bool:
        return switches_on(step.change) and step.vm in self._floating

    def _not_before(self, step: Step) -> datetime:
        """The time before which a step does not begin, so that power-ons on one host are spaced apart."""
        early = datetime.min.replace(tzinfo=UTC)
        if not self._is_spaced(step) or not isinstance(step.change, Power) or step.change.host is None:
            return early
        last = self._last_start.get(step.change.host)
        if last is None:
            return early
        return last + timedelta(seconds=self.options.timing.power_on_spacing_s)

    def _urgency(self, unit: Unit, step: Step) -> float:
        return max([self._tail[step.id], *(self._load[resource] for resource in unit.resources)])


def _own_before(units: Units) -> dict[str, frozenset[str]]:
    """Return the steps of the same VM that come before each step."""
    found = {}
    so_far: dict[str, frozenset[str]] = {}
    for unit in units.units:
        for step in unit.steps:
            found[step.id] = so_far.get(step.vm, frozenset())
            so_far[step.vm] = found[step.id] | {step.id}
    return found


def _tails(units: Units, seconds: Mapping[StepKind, float]) -> dict[str, float]:
    """Return how long it takes from the begin of each step to the end of the last that waits for it."""
    steps = {step.id: step for unit in units.units for step in unit.steps}
    after: dict[str, list[str]] = {name: [] for name in steps}
    before = {name: [item for item in step.depends_on if item in steps] for name, step in steps.items()}
    for name, earlier in before.items():
        for item in earlier:
            after[item].append(name)
    missing = {name: len(later) for name, later in after.items()}
    tails: dict[str, float] = {}
    free = [name for name, count in missing.items() if count == 0]
    while free:
        name = free.pop()
        tails[name] = seconds.get(steps[name].kind, 0.0) + max(
            (tails[item] for item in after[name]), default=0.0
        )
        for item in before[name]:
            missing[item] -= 1
            if missing[item] == 0:
                free.append(item)
    return tails


def _loads(units: Units, seconds: Mapping[StepKind, float]) -> dict[str, float]:
    """Return how long each host and group is taken in all."""
    found: dict[str, float] = {}
    for unit in units.units:
        total = sum(seconds.get(step.kind, 0.0) for step in unit.steps)
        for resource in unit.resources:
            found[resource] = found.get(resource, 0.0) + total
    return found


def _waves(units: Units, sizes: Iterable[int]) -> dict[int, int]:
    """Return the wave of each unit: filled in the order of the units, which fits their dependencies."""
    known = list(sizes)
    if not known:
        return {unit.index: 0 for unit in units.units}
    found: dict[int, int] = {}
    wave, count = 0, 0
    for unit in units.units:
        if count >= known[min(wave, len(known) - 1)]:
            wave, count = wave + 1, 0
        found[unit.index] = wave
        count += len(unit.vms)
    return found
