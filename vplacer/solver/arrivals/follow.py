"""Places one VM of a request by slots, touching no other VM."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations

import numpy as np

from vplacer.constraints.judge import check_change
from vplacer.constraints.state import Placement, Problem, State
from vplacer.request.demand import Demand, FutureShape
from vplacer.solver.arrivals.host_places import HostPlaces
from vplacer.solver.arrivals.kept import KeptSlot, rules_for, slot_demand, with_slots
from vplacer.solver.arrivals.policy import Ways, decide
from vplacer.solver.arrivals.slots import Slot, SlotBook
from vplacer.solver.beside import Beside
from vplacer.solver.instance import Instance, build_instance

MOST_HOSTS = 25
"""Hosts that are tried exactly once a place is known; the policy takes them in its order."""

MOST_SETS = 12
"""Sets of slots that are tried on a host where the amounts say that there is room, and the judge says no."""

ELSEWHERE = "elsewhere"
"""Shape of the slots that the arrival cannot take as its own."""


@dataclass(frozen=True, slots=True)
class Arrival:
    """Where a VM goes. ``slot``: of its shape, that it takes; ``destroyed``: those it makes impossible."""

    placement: Placement
    slot: KeptSlot | None
    destroyed: tuple[KeptSlot, ...]

    @property
    def loss(self) -> int:
        """Value of the slots destroyed."""
        return sum(slot.value for slot in self.destroyed)


def place_by_slots(
    problem: Problem,
    shape: str | None,
    slots: Sequence[KeptSlot],
    mix: Sequence[FutureShape],
    *,
    most_hosts: int = MOST_HOSTS,
) -> Arrival | None:
    """Return where the one demand of a problem goes; None if no host takes it, whatever becomes of the slots.

    Args:
        problem: its request asks for one VM alone, under the rules that bind that.
        shape: the shape of the mix that it is of; None = none.
        slots: slots that are still there.
        mix: what the slots' shapes ask for.
        most_hosts: tried exactly, once one has been found.
    """
    return _Arriving(problem, slots, mix).place(shape, most_hosts)


class _Arriving:
    """One VM on its way."""

    def __init__(self, problem: Problem, slots: Sequence[KeptSlot], mix: Sequence[FutureShape]) -> None:
        (self.demand,) = problem.request.demands
        self.slots, self.mix = tuple(slots), tuple(mix)
        self.shapes = {shape.name: shape.demand for shape in mix}
        self.alone = problem
        self.problem = with_slots(problem, (self.demand,), self.slots, self.mix)
        instance = build_instance(problem, {}, ("placed",))
        (self.cls,) = instance.classes
        self.instance: Instance = replace(instance, problem=self.problem)
        self.places = HostPlaces(problem, self.cls.vm)
        self.free = Beside(self.instance, ())
        self.open = tuple(
            moid for moid in self.places.hosts if self.free.open_to(self.cls, self.demand, moid)
        )

    def place(self, shape: str | None, most_hosts: int) -> Arrival | None:
        """Take a slot of the shape, else what the policy says, host after host until it is so."""
        own = self._own_slot(shape)
        if own is not None:
            return own
        book = self._book()
        ways = self.places.ways(self.demand, self.open, book)
        best: Arrival | None = None
        tried = 0
        while len(ways.places):
            decision = decide(book, "", partial(_given, ways))
            if decision is None or (best is not None and decision.loss >= best.loss):
                break
            moid = self.places.hosts[decision.place]
            destroyed = {slot.number for slot in decision.destroyed}
            found = self._exactly(moid, destroyed)
            if found is not None and (best is None or found.loss < best.loss):
                best = found
            tried += 1
            if best is not None and tried >= most_hosts:
                break
            ways = _without(ways, decision.place)
        return best

    def _own_slot(self, shape: str | None) -> Arrival | None:
        """Return the first slot of the shape that the VM can take, other slots kept."""
        for slot in self.slots:
            if slot.shape == shape and slot.host in self.open:
                placement = replace(slot.placement, demand=self.demand.id)
                others = [other for other in self.slots if other.number != slot.number]
                if self._judged(placement, others):
                    return Arrival(placement, slot, ())
        return None

    def _book(self) -> SlotBook:
        return SlotBook(
            self.places.free,
            [
                Slot(
                    slot.number,
                    ELSEWHERE,
                    self.places.number[slot.host],
                    self._fitting(slot),
                    slot.value,
                )
                for slot in self.slots
            ],
        )

    def _fitting(self, slot: KeptSlot) -> tuple[int, ...]:
        """Return what a slot takes; a VM of shares that do not add up to whole cards never takes too much."""
        return self.places.takes(slot_demand(self.shapes[slot.shape], slot.number), slot.placement)

    def _exactly(self, moid: str, destroyed: Iterable[int]) -> Arrival | None:
        """Place on a host without some slots; if that does not do, without a few others of the host's, the
        cheapest first; then without any, and with as many as fit again, the most valuable first."""
        gone = set(destroyed)
        here = [slot for slot in self.slots if slot.host == moid]
        for without in (gone, *_cheapest_sets(here, gone), {slot.number for slot in here}):
            kept = [slot for slot in self.slots if slot.number not in without]
            placement = self._beside(kept).placement(self.cls, self.demand, moid)
            if placement is not None and self._judged(placement, kept):
                return self._restored(placement, kept, without)
        return None

    def _restored(self, placement: Placement, kept: list[KeptSlot], without: set[int]) -> Arrival:
        """Keep again what fits beside the VM after all."""
        lost = []
        missing = [slot for slot in self.slots if slot.number in without]
        for slot in sorted(missing, key=lambda slot: (-slot.value, slot.number)):
            if self._judged(placement, [*kept, slot]):
                kept.append(slot)
            else:
                lost.append(slot)
        return Arrival(placement, None, tuple(sorted(lost, key=lambda slot: slot.number)))

    def _beside(self, kept: Sequence[KeptSlot]) -> Beside:
        return Beside(self.instance, tuple(slot.placement for slot in kept), memo=self.free.memo)

    def _judged(self, placement: Placement, kept: Sequence[KeptSlot]) -> bool:
        """Whether the judge accepts the VM, alone and beside slots.

        Alone as well: slots are no VMs, and leave vSphere's choice of cards as open as it is.
        """
        alone = State(self.alone, (placement,))
        beside = State(self._asking(kept), (placement, *(slot.placement for slot in kept)))
        return not any(check_change(state, {placement.host}) for state in (alone, beside))

    def _asking(self, kept: Sequence[KeptSlot]) -> Problem:
        return with_slots(self.problem, (self.demand,), kept, self.mix)


def _cheapest_sets(slots: Sequence[KeptSlot], but: set[int]) -> list[set[int]]:
    """Return the cheapest sets of one slot and of two: the amounts of a host said too little."""
    values = {slot.number: slot.value for slot in slots}
    sets = [chosen for size in (1, 2) for chosen in combinations(sorted(values), size)]
    sets.sort(key=lambda chosen: (sum(values[number] for number in chosen), chosen))
    return [set(chosen) for chosen in sets if set(chosen) != but][:MOST_SETS]


def _given(ways: Ways) -> Ways:
    return ways


def _without(ways: Ways, place: int) -> Ways:
    """Return the ways that lead elsewhere."""
    others = np.nonzero(ways.places != place)[0]
    return Ways(ways.places[others], ways.takes[others], ways.waste[others])


def only(problem: Problem, demand: Demand) -> Problem:
    """Return a problem whose request asks for one VM and nothing else, under the rules that bind it."""
    request = replace(problem.request, demands=(demand,), rules=rules_for(problem, demand))
    return problem.with_request(request)
