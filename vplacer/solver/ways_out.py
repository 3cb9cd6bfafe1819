"""The cheapest ways out for demands without a place: changes that were tried beside the answer and help."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import islice

from vplacer.constraints import costs
from vplacer.constraints.checks.change_limits import MOVES, POWER_CYCLES
from vplacer.constraints.registry import Filter, Relaxation, checks, filters
from vplacer.constraints.state import Problem, Violation
from vplacer.request.demand import Demand, ResolvedRequest
from vplacer.solver.alike import WorkDone
from vplacer.solver.beside import Beside
from vplacer.solver.classes import DemandClass
from vplacer.solver.eligible import eligibility_of
from vplacer.solver.instance import Rejection
from vplacer.solver.moves import moves
from vplacer.solver.relax import Change, changes_of, scaled, smaller, with_field
from vplacer.solver.relaxing.catalogue import demand_at, demands_below, ladders_of
from vplacer.solver.relaxing.lattice import Point, cheapest_points
from vplacer.solver.trial import MAX_PLACED, Way, judged, place_gang, place_one_by_one

MAX_RELAXATIONS = 4
COMBINATIONS = 6_000
"""Hosts looked at, over all combinations of changes that are tried where no single one helps."""

LEAST_COMBINATIONS = 12
"""Fewer find nothing worth while: none is tried then."""
MAX_SUMS = 16
"""Hosts whose sums are looked at: those of a cluster are one."""

_OF_ADMINISTRATORS = ("rules[",)
"""Fields of a relaxation that are no wish of the demand: taken away by leaving out the filter."""

_Helps = Callable[[Demand], bool]


def ways_out(
    beside: Beside, cls: DemandClass, members: Sequence[str], rejections: dict[str, Rejection]
) -> tuple[Relaxation, ...]:
    """Return the cheapest changes that help, one a field; those that let all in before those that do not.

    Args:
        beside: the answer.
        cls: the class without a place.
        members: its demands without a place.
        rejections: why each host rejects it.
    """
    hosts = list(rejections)

    def helps_one(demand: Demand) -> bool:
        return beside.fits(cls, demand, hosts) and _lets_in(beside, cls, members[:1], demand, hosts) > 0

    found: list[tuple[Relaxation, int]] = []
    # What was found before the work was used up was tried, and stands.
    with suppress(WorkDone):
        for way in _candidates(beside, cls, members, rejections, helps_one):
            if _holds(way, cls, members, hosts):
                found.append(_counted(way, cls, members, hosts))
        if cls.gang is None and len(members) > 1 and any(cost >= costs.PARTIAL for _, cost in found):
            most = min(len(members), MAX_PLACED)

            def helps_all(demand: Demand) -> bool:
                return helps_one(demand) and _lets_in(beside, cls, members, demand, hosts) >= most

            found += [_counted(way, cls, members, hosts) for way in _changes(beside, cls, helps_all, 0)]
    cheapest: dict[str, Relaxation] = {}
    for relaxation, _ in sorted(found, key=lambda item: (item[0].cost, item[0].text)):
        name = relaxation.field if relaxation.field not in (None, "move") else relaxation.text
        cheapest.setdefault(name or relaxation.text, relaxation)
    return tuple(list(cheapest.values())[:MAX_RELAXATIONS])


def _candidates(
    beside: Beside,
    cls: DemandClass,
    members: Sequence[str],
    rejections: dict[str, Rejection],
    helps: _Helps,
) -> list[Way]:
    """Return all ways that may be out; where the work is used up before, those found so far."""
    ways: list[Way] = []
    with suppress(WorkDone):
        tries = min(100, COMBINATIONS // max(1, len(rejections)))
        ways += _changes(beside, cls, helps, tries)
        for moid, rejection in rejections.items():
            ways += _at_host(beside, cls, moid)
            ways += _rules(beside, cls, moid, rejection)
        ways += _sums(beside, cls, rejections)
        ways += moves(beside, cls, members, list(rejections))
    return _different(ways)


def _different(ways: Sequence[Way]) -> list[Way]:
    """Leave out what was found at one host and at another: a wish that is changed alike is one way out."""
    found: dict[object, Way] = {}
    for way in ways:
        told = way.relaxation
        found.setdefault((told.field, told.value, way.demand) if told.value is not None else id(way), way)
    return list(found.values())


def _lets_in(
    beside: Beside, cls: DemandClass, members: Sequence[str], demand: Demand, hosts: Sequence[str]
) -> int:
    """Place members of a class one after the other; 0 where the judge does not accept them.

    A gang is placed whole.
    """
    if cls.gang is not None:
        originals = beside.problem.demand_by_id
        changed = (replace(demand, id=m, name=originals[m].name, source=None) for m in cls.members)
        placed, trial = place_gang(beside.with_demands(changed), cls.gang, hosts)
        return len(members) if placed and judged(trial) else 0
    placed, trial = place_one_by_one(beside, cls, members, demand, hosts)
    return placed if judged(trial) else 0


def _holds(way: Way, cls: DemandClass, members: Sequence[str], hosts: Sequence[str]) -> bool:
    """Whether a way out that was not judged yet stands; what a host will be like, the judge cannot see."""
    if way.lets_in is not None or way.beside.opened:
        return True
    return _lets_in(way.beside, cls, members[:1], way.demand, hosts) > 0


def _counted(
    way: Way, cls: DemandClass, members: Sequence[str], hosts: Sequence[str]
) -> tuple[Relaxation, int]:
    """Say for how many of several VMs a way out makes room, and make it dearer if not for all."""
    relaxation, wanted = way.relaxation, len(members)
    if wanted == 1 or cls.gang is not None:
        return relaxation, relaxation.cost
    lets_in = way.lets_in
    if lets_in is None:
        place = _lets_in if not way.beside.opened else _unjudged
        lets_in = max(1, place(way.beside, cls, members, way.demand, hosts))
    if lets_in >= wanted:
        return relaxation, relaxation.cost
    least = "at least " if lets_in == MAX_PLACED else ""
    cost = relaxation.cost + costs.PARTIAL
    text = f"{relaxation.text}: makes room for {least}{lets_in} of {wanted}"
    return replace(relaxation, text=text, cost=cost), cost


def _unjudged(
    beside: Beside, cls: DemandClass, members: Sequence[str], demand: Demand, hosts: Sequence[str]
) -> int:
    return place_one_by_one(beside, cls, members, demand, hosts)[0]


def _changes(beside: Beside, cls: DemandClass, helps: _Helps, tries: int) -> list[Way]:
    """Changes of the demand: one wish, of each as little as helps, or a smaller VM; else two at once."""
    vm = beside.problem.inventory.vm_by_moid.get(cls.demand.vm or cls.demand.template or "")
    least = (vm.hardware_version or 0) if vm is not None else 0
    singles = changes_of(cls.demand, least)
    found: dict[str | None, Change] = {}
    for change in singles:
        field = change.relaxation.field
        if field not in found and helps(change.demand):
            found[field] = change
    sizes = smaller(cls.demand, helps)
    chosen = [*found.values(), *sizes]
    if not chosen:
        chosen += islice((change for change in scaled(cls.demand) if helps(change.demand)), 1)
    if not chosen and tries >= LEAST_COMBINATIONS:
        chosen += _combined(beside.problem, cls.demand, helps, tries)
    return [Way(change.relaxation, change.demand, beside) for change in chosen]


def _combined(problem: Problem, demand: Demand, helps: _Helps, tries: int) -> list[Change]:
    """The cheapest combination of changes that helps, where no change of one field does."""
    ladders = ladders_of(problem, demand)

    def reached(point: Point) -> bool:
        return any(helps(one) for one in demands_below(problem, demand, ladders, point))

    points, _ = cheapest_points(ladders, reached, 1, tries)
    found = []
    for point in points:
        taken = [
            (ladder, ladder.steps[height - 1])
            for ladder, height in zip(ladders, point, strict=True)
            if height
        ]
        steps = [step for _, step in taken]
        told = Relaxation(" and ".join(step.text for step in steps), sum(step.cost for step in steps))
        if len(taken) == 1:
            told = replace(told, field=taken[0][0].field, value=steps[0].value)
        # What costs no less than to leave the VM out is no way in.
        if told.cost < costs.LEFT_OUT:
            found.append(Change(demand_at(problem, demand, ladders, point), told))
    return found


def _at_host(beside: Beside, cls: DemandClass, moid: str) -> list[Way]:
    """What lifts the one filter that rejects a host: a change of the host, or of a wish."""
    problem, demand = beside.problem, cls.demand
    host = problem.inventory.host_by_moid[moid]
    if cls.vm is not None and not demand.may_move and moid != cls.home:
        return []
    if beside.filtered(demand, moid) is None:
        return []
    against = _against(beside, demand, moid)
    if against is None:
        return []
    way = against.relax(problem, demand, host)
    if way is None:
        return []
    trial = beside
    if way.field is not None and not way.field.startswith(_OF_ADMINISTRATORS):
        changed = with_field(problem, demand, way.field, way.value or "")
        if changed is None or beside.filtered(changed, moid) is not None:
            return []
        demand = changed
    else:
        trial = trial.with_opened(moid)
        if against.id == "gpu-model":
            state = beside.rebooted(moid)
            if state is None:
                return []
            trial = trial.with_base(state)
    return [Way(way, demand, trial)] if trial.why_not(cls, demand, moid) is None else []


def _against(beside: Beside, demand: Demand, moid: str) -> Filter | None:
    """Return the one filter that rejects a host, None where several do; hosts that are alike share it."""
    problem = beside.problem
    eligibility = eligibility_of(problem)
    key = (eligibility.demand(demand), eligibility.place(problem, demand, moid))
    if key not in beside.memo.against:
        host = problem.inventory.host_by_moid[moid]
        # The filter of sizes may tell hosts apart that are alike otherwise.
        against = [item for item in filters() if item.rejects(problem, demand, host) is not None]
        if not eligibility.fits_all(problem, demand, moid):
            return against[0] if len(against) == 1 else None
        beside.memo.against[key] = against[0] if len(against) == 1 else None
    return beside.memo.against[key]


def _rules(beside: Beside, cls: DemandClass, moid: str, rejection: Rejection) -> list[Way]:
    """The rule between VMs that alone keeps it off a host."""
    found: list[Way] = []
    if rejection.constraint not in ("apart", "together"):
        return found
    for item in checks():
        if item.id == rejection.constraint and item.relax is not None:
            for way in item.relax(beside.problem, cls.demand):
                rule = (way.field or "").removeprefix("rules[").removesuffix("].policy")
                trial = beside.with_request(_without_rule(beside.problem.request, rule))
                if trial.why_not(cls, cls.demand, moid) is None:
                    found.append(Way(way, cls.demand, trial))
    return found


def _without_rule(request: ResolvedRequest, name: str) -> ResolvedRequest:
    rules = request.rules
    apart = tuple(rule for rule in rules.apart if rule.name != name)
    together = tuple(rule for rule in rules.together if rule.name != name)
    return replace(request, rules=replace(rules, apart=apart, together=together))


def _sums(beside: Beside, cls: DemandClass, rejections: dict[str, Rejection]) -> list[Way]:
    """The one sum over hosts that is exceeded, of each cluster."""
    inventory = beside.problem.inventory
    firsts: dict[tuple[str, str], str] = {}
    for moid, rejection in rejections.items():
        if rejection.constraint in ("pool-memory", "headroom", "change-limits"):
            firsts.setdefault((rejection.constraint, inventory.host_by_moid[moid].cluster or moid), moid)
    found = []
    for (constraint, _), moid in islice(firsts.items(), MAX_SUMS):
        exceeded = beside.sums_exceeded(cls, moid)
        if len(exceeded) != 1:
            continue
        if constraint == "headroom":
            way = Relaxation("ask for less headroom", costs.SOFTER_RULE, None, "headroom.hosts", "0")
            request = beside.problem.request
            less = replace(request, options=replace(request.options, headroom_hosts=0))
            found.append(Way(way, cls.demand, beside.with_request(less)))
            continue
        if constraint == "change-limits":
            found.append(_more_changes(beside, cls, exceeded[0]))
            continue
        numbers = dict(exceeded[0].numbers)
        gib = -(-(numbers["needed_mib"] - numbers["unreserved_mib"]) // 1024)
        pool = exceeded[0].evidence.partition(":")[0]
        way = Relaxation(f"let {pool} reserve {gib} GiB more", costs.HOST_CHANGE + 2)
        found.append(Way(way, cls.demand, beside, lets_in=1))
    return found


def _more_changes(beside: Beside, cls: DemandClass, exceeded: Violation) -> Way:
    """A limit of power cycles or moves that is as high as this one more needs."""
    (name, number), _ = exceeded.numbers
    request = beside.problem.request
    field = {POWER_CYCLES: "max_power_cycles", MOVES: "max_moves"}[name]
    more = replace(request, options=replace(request.options, **{field: number}))  # type: ignore[arg-type]
    words = name.replace("_", " ").removesuffix("s" if number == 1 else "")
    text = f"allow {number} {words}"
    way = Relaxation(text, costs.SOFTER_RULE, None, f"limits.{name}", str(number))
    return Way(way, cls.demand, beside.with_request(more))
