"""What stops one more VM of a kind on a host that took as many as it can."""

from __future__ import annotations

from dataclasses import dataclass, replace

from vplacer.constraints.state import Placement, Problem
from vplacer.solver.alike import Memo
from vplacer.solver.capacity.host_fill import Fill
from vplacer.solver.classes import DemandClass
from vplacer.solver.decode import decode
from vplacer.solver.host_model import HostTask
from vplacer.solver.host_plan import HostPlan
from vplacer.solver.host_state import HostState
from vplacer.solver.instance import Instance, Rejection
from vplacer.solver.lister import no_options
from vplacer.solver.listing import listing_of
from vplacer.solver.option import Option
from vplacer.solver.residual import Shortage, residual_state, seat
from vplacer.solver.rows import RowSet

_NOT_TOGETHER = Rejection("devices", "no arrangement of cards and NUMA nodes takes one more")


@dataclass
class Stops:
    """Says why no more fit; hosts left in one state share the answer.

    ``problem``: with as many demands of the kind as any host takes. ``cls``: of all of them.
    """

    problem: Problem
    cls: DemandClass
    memo: Memo

    def __post_init__(self) -> None:
        self._instance = Instance(
            problem=self.problem,
            classes=(self.cls,),
            tasks=(),
            rows=RowSet(()),
            levels=(),
            settled=(),
            rejections={},
            complete=True,
        )
        self._known: dict[int, Rejection] = {}

    def placements(self, state: HostState, options: tuple[Option, ...], fill: Fill) -> tuple[Placement, ...]:
        """Return the VMs of a filling as placements on their host."""
        task = HostTask(state, {0: options}, (), (), {})
        chosen = tuple((0, number, count) for number, count in fill.chosen)
        one = replace(self.cls, members=self.cls.members[: fill.value])
        return decode((one,), [(task, HostPlan(chosen, (), (), fill.vgpus))])

    def why(self, state: HostState, options: tuple[Option, ...], fill: Fill) -> Rejection:
        """Return what stops one more on a host filled so; only cards, cores and memory are looked at."""
        left = state
        if fill.value:
            placed = self.placements(state, options, fill)
            left = residual_state(self._instance, state, placed)
        number = self.memo.state(left)
        if number not in self._known:
            self._known[number] = self._look(left)
        return self._known[number]

    def _look(self, state: HostState) -> Rejection:
        listed = listing_of(self.problem).options(self.problem, self.cls.demand, state)
        if not listed.options:
            return no_options(self.problem, state.host, listed)
        found = seat(self.cls.demand, listed.options, state, self._instance)
        return Rejection(found.constraint, found.evidence) if isinstance(found, Shortage) else _NOT_TOGETHER
