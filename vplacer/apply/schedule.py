"""Which step may begin now, and which first.

May: everything it depends on is done; no more tasks than allowed run; its unit has its hosts and groups
for itself; its wave has come; the window is open. First: VMs that are off already, then what the longest
chain of steps waits for, or the busiest host or group.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from vplacer.apply.frontier import Frontier
from vplacer.apply.lanes import Lanes
from vplacer.apply.options import ApplyOptions
from vplacer.apply.steps import disrupts, switches_on
from vplacer.apply.units import Unit, Units
from vplacer.plan.changes import Power
from vplacer.plan.model import Step, StepKind

_ALWAYS = datetime.min.replace(tzinfo=UTC)


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
        self._waves = _waves(units, options.waves)
        self._seconds = options.timing.typical_s
        self._tail = _tails(units, self._seconds)
        self._load = _loads(units, self._seconds)
        self._last_start: dict[str, datetime] = {}
        self._spaced_on = _spaced_on(units, floating)
        self._lanes = Lanes(self._tail, self._spaced_on)
        self._frontier = Frontier(units, progress.done, progress.running)
        self._active: dict[int, Unit] = {}
        self._watched: dict[int, Unit] = {}
        for unit in units.units:
            self._look_again(unit)
            self._arrange(unit, self._frontier.of_unit(unit))

    def ready(self, now: datetime) -> Step | None:
        """Return the step to begin now, or None."""
        if len(self.progress.running) >= self.options.parallelism:
            return None
        taken, wave = self._taken(), self._wave()
        best: tuple[float, ...] | None = None
        chosen = None
        for unit, free in self._to_look_at(wave):
            if not self._may_go_on(unit, taken, now):
                continue
            needed = self._needed(unit)
            for step in free:
                if self._not_before(step) > now:
                    continue
                if needed is not None and disrupts(step.change) and step.id not in needed:
                    continue
                rank = (-float(self.is_active(unit)), -self._urgency(unit, step), unit.index)
                if best is None or rank < best:
                    best, chosen = rank, step
        if self.halted is None:
            for rank, step in self._lanes.heads(self._is_free):
                if (best is None or rank < best) and self._not_before(step) <= now:
                    best, chosen = rank, step
        return chosen

    def wake_at(self, now: datetime) -> datetime | None:
        """Return when a step may begin that only waits for time to pass; None = none does."""
        taken = self._taken()
        waiting = [
            step
            for unit, free in self._to_look_at(self._wave())
            if any(step.id in self._spaced_on for step in free) and self._may_go_on(unit, taken, now)
            for step in free
        ]
        if self.halted is None:
            waiting += [step for _, step in self._lanes.heads(self._is_free)]
        return min((when for step in waiting if (when := self._not_before(step)) > now), default=None)

    def waits_for_window(self, now: datetime) -> bool:
        """Whether units could begin, were it not for the end of the window."""
        return self.halted is None and any(
            unit.resources and not self.is_active(unit) and not self._fits_window(unit, now)
            for unit in self.units.units
            if not self._is_over(unit)
        )

    def began(self, step: Step, now: datetime) -> None:
        """Note that a step was begun."""
        self.progress.running.add(step.id)
        host = self._spaced_on.get(step.id)
        if host is not None:
            self._last_start[host] = now
        self._moved(step)

    def ended(self, step: Step, *, done: bool) -> None:
        """Note that a step has ended."""
        self.progress.running.discard(step.id)
        if done and step.id not in self.progress.done:
            self.progress.done.add(step.id)
            for resource in self.units.of_vm[step.vm].resources:
                self._load[resource] -= self._seconds.get(step.kind, 0.0)
        self._moved(step)

    def undone(self, step: Step) -> None:
        """Note that a step was taken back."""
        self.progress.done.discard(step.id)
        self._moved(step)

    def _moved(self, step: Step) -> None:
        """Look again at all that the state of a step decides."""
        freed = self._frontier.moved(step)
        self._look_again(self.units.of_vm[step.vm])
        for unit, steps in freed:
            self._arrange(unit, steps)

    def _look_again(self, unit: Unit) -> None:
        if self.is_active(unit):
            self._active[unit.index] = unit
        else:
            self._active.pop(unit.index, None)

    def _arrange(self, unit: Unit, freed: Iterable[Step]) -> None:
        """Queue steps that only wait for their turn, and the spacing of power-ons; watch the others."""
        if unit.resources or self.options.waves:
            self._watched[unit.index] = unit
            return
        for step in freed:
            self._lanes.add(unit, step, self._frontier.position(step))

    def _is_free(self, unit: Unit, step: Step) -> bool:
        return unit.index not in self.progress.blocked and self._frontier.is_free(unit, step)

    def _to_look_at(self, wave: int) -> Iterator[tuple[Unit, list[Step]]]:
        """Yield the units, of the waves that have come, of which steps are free that no lane holds."""
        for index, unit in list(self._watched.items()):
            free = self._frontier.of_unit(unit)
            if not free or index in self.progress.blocked:
                del self._watched[index]
            elif self._waves[index] <= wave:
                yield unit, free

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
        return self._frontier.is_done(unit)

    def _is_over(self, unit: Unit) -> bool:
        return unit.index in self.progress.blocked or self._is_done(unit)

    def _wave(self) -> int:
        """The first wave that is not done."""
        if not self.options.waves:
            return 0
        return next((self._waves[u.index] for u in self.units.units if not self._is_done(u)), 0)

    def _taken(self) -> frozenset[str]:
        """The hosts and groups that units have for themselves now."""
        return frozenset().union(*(unit.resources for unit in self._active.values()))

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
            for name in (*stack[-1].depends_on, *self._frontier.before[stack.pop().id]):
                if name in by_id and name not in found and name not in self.progress.done:
                    found.add(name)
                    stack.append(by_id[name])
        return found

    def _has_room(self, unit: Unit) -> bool:
        """Whether not too many VMs are in between being off and on again."""
        between = sum(len(other.disrupted) for other in self._active.values() if not self._is_over(other))
        return between == 0 or between + len(unit.disrupted) <= self.options.parallelism

    def _fits_window(self, unit: Unit, now: datetime) -> bool:
        window = self.options.window
        if window is None:
            return True
        needed = timedelta(seconds=sum(self._seconds.get(step.kind, 0.0) for step in unit.steps))
        return window.start <= now and now + needed <= window.end

    def _not_before(self, step: Step) -> datetime:
        """The time before which a step does not begin, so that power-ons on one host are spaced apart."""
        host = self._spaced_on.get(step.id)
        last = self._last_start.get(host) if host is not None else None
        if last is None:
            return _ALWAYS
        return last + timedelta(seconds=self.options.timing.power_on_spacing_s)

    def _urgency(self, unit: Unit, step: Step) -> float:
        return max([self._tail[step.id], *(self._load[resource] for resource in unit.resources)])


def _spaced_on(units: Units, floating: frozenset[str]) -> dict[str, str]:
    """Return the hosts of the steps that switch VMs on whose NUMA node is chosen then."""
    return {
        step.id: step.change.host
        for unit in units.units
        for step in unit.steps
        if step.vm in floating
        and isinstance(step.change, Power)
        and switches_on(step.change)
        and step.change.host
    }


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
