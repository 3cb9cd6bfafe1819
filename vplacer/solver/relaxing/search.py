"""The cheapest combinations of changes with which all of a request finds a place, or is left out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from vplacer.constraints import costs
from vplacer.constraints.judge import placements_today
from vplacer.constraints.state import Problem
from vplacer.request.demand import Demand, Rules
from vplacer.solver.conflicts.counting import Count, Group, count_placed, priced, search_more
from vplacer.solver.conflicts.hosts import HOSTS_FILTERED, open_hosts
from vplacer.solver.conflicts.minimal import Budget
from vplacer.solver.instance import Instance, build_instance
from vplacer.solver.relaxing.applied import is_solved
from vplacer.solver.relaxing.model import GivenUp, WayOut
from vplacer.solver.relaxing.toggles import Toggle, with_toggles
from vplacer.solver.relaxing.variants import Variant
from vplacer.solver.rows import Key, Row, RowSet, merge

MOST_WAYS = 3

MOST_SETS = 20
"""So many sets of changes other than of wishes are tried."""

_LEVEL = "placed:0"
_HELD = 100_000
"""Weight of a VM that has a place: more than all that is given up in exchange."""


_Offers = Mapping[tuple[int, int], tuple[Demand, ...]]
"""Demands by what is missing and how it is asked for: 0 as in the request, else the number of a variant."""


@dataclass(frozen=True)
class Missing:
    """Demands that are alike and not all of which have a place.

    ``members``: those that have one first. ``variants``: how they could be asked for, dearer ones later.
    """

    members: tuple[Demand, ...]
    variants: tuple[Variant, ...]


@dataclass(frozen=True)
class _Best:
    """The cheapest found with some changes made: its cost, and what each variant is used for."""

    toggles: tuple[Toggle, ...]
    used: tuple[tuple[int, tuple[int, ...]], ...]
    cost: int
    proved: bool


@dataclass
class RelaxationSearch:
    """A request, what is missing of it, and what could be changed."""

    problem: Problem
    missing: tuple[Missing, ...]
    toggles: tuple[Toggle, ...]
    complete: bool
    budget: Budget
    seed: int = 1

    def find(self) -> tuple[WayOut, ...]:
        """Return ways out, the cheapest first, each solved and judged with its changes applied."""
        bests, whole = self._bests()
        found: list[WayOut] = []
        for number, best in enumerate(bests):
            if len(found) == MOST_WAYS:
                break
            way = self._way(best, cheapest=whole and best.proved and number == 0 and self.complete)
            if way.changes and is_solved(self.problem, way, [t.mover for t in best.toggles], self.seed):
                found.append(way)
        return tuple(found)

    def _bests(self) -> tuple[list[_Best], bool]:
        """Try sets of changes, cheap ones first, until none can be cheaper than what was found."""
        found: list[_Best] = []
        whole = True
        for number, toggles in enumerate(self._sets()):
            if number == MOST_SETS:
                whole = False
                break
            fixed = sum(toggle.cost for toggle in toggles)
            if found and fixed >= min(best.cost for best in found):
                break
            best = self._cheapest(toggles, frozenset())
            if best is None:
                whole = False
                continue
            # A change that is not needed is part of no way out.
            if not any(o.cost <= best.cost and set(o.toggles) < set(toggles) for o in found):
                found.append(best)
        if not found:
            return [], whole
        first = min(found, key=lambda best: best.cost)
        for banned in _each_used(first):
            other = self._cheapest(first.toggles, frozenset({banned}))
            if other is not None:
                found.append(other)
        return sorted(found, key=lambda best: (best.cost, len(best.toggles))), whole

    def _sets(self) -> Iterator[tuple[Toggle, ...]]:
        every = [some for size in range(len(self.toggles) + 1) for some in combinations(self.toggles, size)]
        every = [some for some in every if _compatible(some)]
        yield from sorted(every, key=lambda some: (sum(t.cost for t in some), len(some)))

    def _cheapest(self, toggles: tuple[Toggle, ...], banned: frozenset[tuple[int, int]]) -> _Best | None:
        """Minimise what is given up of the VMs' wishes; ``banned``: (missing, variant) not to be used."""
        if toggles and not banned:
            plain = self._counted(
                toggles, {key: ds for key, ds in self._offers(banned).items() if not key[1]}
            )
            if plain is None or plain.cost == sum(toggle.cost for toggle in toggles):
                return plain
        return self._counted(toggles, self._offers(banned))

    def _counted(self, toggles: tuple[Toggle, ...], offers: _Offers) -> _Best | None:
        """Count what is placed, whichever way it is offered, and what that costs."""
        changed = with_toggles(self.problem, toggles)
        held = tuple(self._held(changed))
        demands = [replace(demand, priority=0, weight_milli=_HELD) for demand in held]
        by_id = changed.demand_by_id
        for (at, number), listed in offers.items():
            cost = self.missing[at].variants[number - 1].cost if number else 0
            demands += [
                replace(by_id.get(d.id, d), priority=0, weight_milli=costs.LEFT_OUT - cost) for d in listed
            ]
        rules = _with_copies(changed.request.rules, offers)
        counted = changed.with_request(replace(changed.request, demands=tuple(demands), rules=rules))
        kinds = {replace(demand, id="", name="", source=None): demand for demand in demands}
        if not self.budget.spend(len(self.problem.topologies) * len(kinds) // HOSTS_FILTERED):
            return None
        hosts = open_hosts(counted, kinds.values())
        if not self.budget.spend(1 + len(hosts) * len(kinds)):
            return None
        today = placements_today(counted) if any(demand.vm is not None for demand in demands) else {}
        instance, groups = self._grouped(build_instance(counted, today, ("placed",), hosts), offers)
        host_kinds = priced(instance, self.budget)
        if host_kinds is None:
            return None
        settled = {placement.demand for placement in instance.settled}
        fixed = sum(demand.weight_milli for demand in demands if demand.id in settled)
        wanted = _HELD * len(held) + costs.LEFT_OUT * sum(len(item.members) for item in self.missing) - fixed
        count = count_placed(instance, host_kinds, _LEVEL, wanted, self.seed, groups, early=False)
        if count.bound is None or count.reached < min(count.bound, wanted):
            count = search_more(instance, _LEVEL, self.seed, count, exact=len(offers) > len(self.missing))
        if count.seats is None or fixed + count.reached < _HELD * len(held):
            return None
        used = self._used(instance, count, offers)
        cost = wanted - count.reached + sum(toggle.cost for toggle in toggles)
        return _Best(toggles, used, cost, count.bound == count.reached and instance.complete)

    def _held(self, changed: Problem) -> Iterator[Demand]:
        """Demands that keep a place: all that are not missing, and VMs that may be moved."""
        missing = {demand.id for item in self.missing for demand in item.members}
        for demand in changed.request.demands:
            if demand.id not in missing:
                yield demand

    def _offers(self, banned: frozenset[tuple[int, int]]) -> _Offers:
        """Return, for each kind missing and each variant (0 = as asked), a demand a member."""
        found: dict[tuple[int, int], tuple[Demand, ...]] = {}
        for at, item in enumerate(self.missing):
            found[at, 0] = item.members
            for number, variant in enumerate(item.variants, start=1):
                if (at, number) not in banned:
                    found[at, number] = tuple(
                        replace(variant.demand, id=f"{demand.id}~{number}", name=demand.name)
                        for demand in item.members
                    )
        return found

    def _grouped(self, instance: Instance, offers: _Offers) -> tuple[Instance, list[Group]]:
        """Say of each kind that only as many are wanted as it has members, whichever way."""
        class_of = {member: cls.index for cls in instance.classes for member in cls.members}
        groups, rows = [], []
        for at, item in enumerate(self.missing):
            mine = tuple(
                sorted(
                    {
                        class_of[demand.id]
                        for (position, _), listed in offers.items()
                        if position == at
                        for demand in listed
                        if demand.id in class_of
                    }
                )
            )
            groups.append(Group(mine, len(item.members)))
            everywhere: dict[Key, int] = {("seats", index): 1 for index in mine}
            rows.append(Row(f"variants:{at}", None, len(item.members), everywhere))
        whole = merge([instance.rows, RowSet(tuple(rows))])
        return replace(instance, rows=whole), groups

    def _used(
        self, instance: Instance, count: Count, offers: _Offers
    ) -> tuple[tuple[int, tuple[int, ...]], ...]:
        """Return, for each kind missing, how many VMs are placed as asked and in each variant."""
        class_of = {member: cls.index for cls in instance.classes for member in cls.members}
        settled = {placement.demand for placement in instance.settled}
        seats = count.seats or {}
        found = []
        for at, item in enumerate(self.missing):
            numbers = []
            for number in range(len(item.variants) + 1):
                listed = offers.get((at, number), ())
                classes = {class_of[demand.id] for demand in listed if demand.id in class_of}
                stay = sum(1 for demand in listed if demand.id in settled)
                numbers.append(stay + sum(seats.get(index, 0) for index in classes))
            found.append((at, tuple(numbers)))
        return tuple(found)

    def _way(self, best: _Best, *, cheapest: bool) -> WayOut:
        """Say who gives up what: members that have a place keep it as asked as far as the numbers go."""
        changes = [change for toggle in best.toggles for change in toggle.changes]
        for at, numbers in best.used:
            item = self.missing[at]
            rest = list(item.members[numbers[0] :])
            for number, count in enumerate(numbers[1:], start=1):
                some, rest = rest[:count], rest[count:]
                ids = tuple(demand.id for demand in some)
                for field, step in item.variants[number - 1].steps if some else ():
                    changes.append(GivenUp("wish", step.text, step.cost * count, ids, field, step.value))
            if rest:
                ids = tuple(demand.id for demand in rest)
                cost = costs.LEFT_OUT * len(rest)
                changes.append(GivenUp("leave_out", f"leave out {len(rest)}", cost, ids))
        return WayOut(tuple(changes), best.cost, cheapest)


def _compatible(toggles: Sequence[Toggle]) -> bool:
    """Whether no demand would become two things."""
    demands = [demand.id for toggle in toggles for demand in toggle.demands]
    return len(demands) == len(set(demands))


def _each_used(best: _Best) -> Iterator[tuple[int, int]]:
    for at, numbers in best.used:
        for number, count in enumerate(numbers):
            if number and count:
                yield at, number


def _with_copies(rules: Rules, offers: _Offers) -> Rules:
    """Let rules hold for the variants as they do for the VMs as asked."""
    copies: dict[str, list[str]] = {}
    for (_, number), listed in offers.items():
        if number:
            for demand in listed:
                copies.setdefault(demand.id.rpartition("~")[0], []).append(demand.id)

    def more(vms: tuple[str, ...]) -> tuple[str, ...]:
        return (*vms, *(copy for vm in vms for copy in copies.get(vm, ())))

    return replace(
        rules,
        apart=tuple(replace(rule, vms=more(rule.vms)) for rule in rules.apart),
        on_hosts=tuple(replace(rule, vms=more(rule.vms)) for rule in rules.on_hosts),
    )
