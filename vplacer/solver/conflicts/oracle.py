"""The solver asked whether some demands fit a site, and how many at most: each answer counted work."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from vplacer.constraints.judge import placements_today
from vplacer.constraints.state import Problem
from vplacer.request.demand import Demand, RequestOptions, Rules
from vplacer.solver.conflicts.counting import Count, count_placed, priced, search_more
from vplacer.solver.conflicts.hosts import HOSTS_FILTERED, open_hosts
from vplacer.solver.conflicts.minimal import Budget
from vplacer.solver.conflicts.site import AS_IT_IS, SiteChange, altered
from vplacer.solver.instance import build_instance

_LEVEL = "placed:0"
_LEAST_HELD = 1000
"""Weight of a VM that is held, at least: more than all that are counted, which weigh 1 each."""


@dataclass(frozen=True, slots=True)
class Asked:
    """Demands to be placed all together: those of ``held``, and as many of ``counted`` as fit beside."""

    counted: tuple[Demand, ...]
    held: tuple[Demand, ...]
    rules: Rules
    options: RequestOptions
    site: SiteChange = AS_IT_IS


@dataclass(frozen=True, slots=True)
class Found:
    """How many counted demands were placed beside those held, and how many can be (None: no proof).

    ``alone``: those held have no place even without the counted ones, as is proved: vSphere might give
    them cards that are wrong, and others who are not asked for would leave it no choice.
    """

    reached: int
    most: int | None
    alone: bool = False


@dataclass
class Oracle:
    """Answers of the solver on one site and its alterations.

    ``hosts``: those that are looked at, None = all; `dataclasses.replace` makes one for others.
    """

    problem: Problem
    budget: Budget
    seed: int = 1
    hosts: frozenset[str] | None = None
    _sites: dict[SiteChange, Problem] = field(default_factory=dict)
    _known: dict[Asked, Found | None] = field(default_factory=dict, init=False)
    _searched: set[Asked] = field(default_factory=set, init=False)

    def conflict(self, asked: Asked) -> bool:
        """Whether the demands are proved not to fit all together; not known counts as no.

        If those held do not fit by themselves, that says nothing of the others.
        """
        most = self.most(asked)
        return most is not None and most < len(asked.counted)

    def without_place(self, asked: Asked) -> bool:
        """Whether those held are proved to have no place by themselves."""
        found = self._answer(asked)
        return found is not None and found.alone

    def fits(self, asked: Asked) -> bool:
        """Whether the demands were found a place all together; not known counts as no."""
        found = self._answer(asked)
        if found is not None and found.most is not None and found.most < len(asked.counted):
            return False
        if found is not None and found.reached < len(asked.counted) and asked not in self._searched:
            self._searched.add(asked)
            found = self._known[asked] = self._find(asked, found)
        return found is not None and found.reached == len(asked.counted)

    def most(self, asked: Asked) -> int | None:
        """Return a proved limit of how many of the counted demands fit beside those held, None without."""
        found = self._answer(asked)
        return found.most if found is not None and not found.alone else None

    def _answer(self, asked: Asked) -> Found | None:
        if asked not in self._known:
            self._known[asked] = self._find(asked)
        return self._known[asked]

    def _find(self, asked: Asked, before: Found | None = None) -> Found | None:
        """Count, or where that was done ``before`` look further for what it did not settle."""
        problem = self._site(asked.site)
        heavy = max(_LEAST_HELD, len(asked.counted) + 1)
        demands = (
            *(replace(demand, priority=0, weight_milli=heavy) for demand in asked.held),
            *(replace(demand, priority=0, weight_milli=1) for demand in asked.counted),
        )
        request = replace(problem.request, demands=demands, rules=asked.rules, options=asked.options)
        changed = problem.with_request(request)
        kinds = {replace(demand, id="", name="", source=None): demand for demand in demands}
        if not self.budget.spend(len(problem.topologies) * len(kinds) // HOSTS_FILTERED):
            return before
        hosts = open_hosts(changed, kinds.values())
        if self.hosts is not None:
            hosts &= self.hosts
        if not self.budget.spend(1 + len(hosts) * len(kinds)):
            return before
        today = placements_today(changed) if any(demand.vm is not None for demand in demands) else {}
        instance = build_instance(changed, today, ("placed",), hosts)
        host_kinds = priced(instance, self.budget)
        if host_kinds is None:
            return before
        settled = {placement.demand for placement in instance.settled}
        fixed = sum(demand.weight_milli for demand in demands if demand.id in settled)
        held = heavy * len(asked.held)
        if before is None:
            count = count_placed(instance, host_kinds, _LEVEL, held + len(asked.counted) - fixed, self.seed)
        else:
            most = before.most + held - fixed if before.most is not None else None
            count = search_more(instance, _LEVEL, self.seed, Count(0, most))
        reached = max(0, fixed + count.reached - held)
        if count.bound is None or not instance.complete:
            return Found(reached, None)
        most = fixed + count.bound - held
        return Found(reached, max(0, most), alone=most < 0)

    def _site(self, change: SiteChange) -> Problem:
        if change not in self._sites:
            self._sites[change] = altered(self.problem, change)
        return self._sites[change]


def demands_like(demand: Demand, originals: Sequence[Demand]) -> tuple[Demand, ...]:
    """Return one demand for each of some originals, with their ids and names."""
    return tuple(replace(demand, id=item.id, name=item.name, source=item.source) for item in originals)
