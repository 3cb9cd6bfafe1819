"""Running VMs that moved for nothing: they stay where they are today, as far as what was placed lets them.

One that goes home may need the seat that another has taken, which then goes home as well, and so on: all of
them together, or none. The judge is asked of the hosts concerned.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from vplacer.constraints.disturbance import disturbance_of
from vplacer.constraints.judge import check_hosts
from vplacer.constraints.state import Placement, Problem, State
from vplacer.solver.levels import change_cost

MOST_AT_ONCE = 12
"""VMs that go home together at most."""


def homeward(
    problem: Problem, moved: Mapping[str, Placement], new: Iterable[Placement]
) -> dict[str, Placement]:
    """Return the moves that are left once all that can have gone home.

    Args:
        problem: the problem.
        moved: new placements of running VMs, by demand.
        new: placements of new VMs.
    """
    return _Homeward(problem, moved, tuple(new)).run()


class _Homeward:
    def __init__(self, problem: Problem, moved: Mapping[str, Placement], new: Sequence[Placement]) -> None:
        self.problem, self.new = problem, new
        self.left = dict(moved)
        self._home = {
            demand: problem.inventory.vm_by_moid[problem.demand_by_id[demand].vm or ""].host or ""
            for demand in moved
        }

    def run(self) -> dict[str, Placement]:
        """Try all, the dearest first, as long as one goes home."""
        gone = True
        while gone:
            gone = False
            order = sorted(self.left, key=lambda demand: (-self._cost(demand), demand))
            for demand in order:
                gone = (demand in self.left and self._goes(demand)) or gone
        return self.left

    def _cost(self, demand: str) -> int:
        return change_cost(disturbance_of(self.problem, self.left[demand]))

    def _goes(self, demand: str) -> bool:
        """Let a VM go home, with those that are in its way."""
        home = {demand}
        while len(home) <= MOST_AT_ONCE:
            full = self._full(home)
            if not full:
                for each in home:
                    del self.left[each]
                return True
            # On a host that takes them not, all that have come from elsewhere go home as well.
            more = {d for d, placement in self.left.items() if placement.host in full} - home
            if not more:
                return False
            home |= more
        return False

    def _full(self, home: set[str]) -> set[str]:
        """Hosts that do not take what is on them if some VMs are home."""
        away = [placement for demand, placement in self.left.items() if demand not in home]
        state = State(self.problem, (*self.new, *away))
        hosts = sorted({self._home[demand] for demand in home} | {self.left[d].host for d in home})
        return {fault.host or "" for fault in check_hosts(state, hosts)}
