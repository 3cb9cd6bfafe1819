"""The judge: what a state breaks. Serves acceptance of solutions, verification, audit and repair.

It knows nothing of how an answer was found.
"""

from __future__ import annotations

from collections.abc import Iterable

from vplacer.constraints.checks.placed import malformed
from vplacer.constraints.filters.vm_host_rule import broken_rule
from vplacer.constraints.registry import checks, filters
from vplacer.constraints.state import Placement, Problem, State, Violation
from vplacer.constraints.today import differences_today, placement_today, why_it_leaves
from vplacer.constraints.whereabouts import host_of
from vplacer.request.demand import Demand

_OF_ONE_VM = frozenset({"locality", "interconnect", "nic-near-gpu", "not-steerable"})
"""What an existing VM must still meet beside having the right devices and size."""


def check(state: State) -> tuple[Violation, ...]:
    """Return all violations of a state: none = it may be carried out.

    Only what the placements cause is a violation: hosts that are over-full today, or rules broken by
    VMs that stay, are none unless they get worse. The order is that of the registry, then of
    hosts and placements in the state.
    """
    wrong = malformed(state)
    if wrong:
        return tuple(wrong)
    found = [*rejected(state)]
    for item in checks():
        found.extend(item.check(state))
    return tuple(found)


def check_hosts(state: State, hosts: Iterable[str]) -> tuple[Violation, ...]:
    """Return what a state breaks within some hosts; constraints across hosts are not looked at."""
    return tuple(malformed(state)) or _within(state, hosts)


def check_change(state: State, hosts: Iterable[str]) -> tuple[Violation, ...]:
    """Return what a state breaks that was made from a checked one by a change on some hosts.

    ``hosts``: those where a placement came, went or was changed. What is within the others was checked
    before; constraints across hosts are looked at everywhere.
    """
    wrong = tuple(malformed(state))
    if wrong:
        return wrong
    across = (violation for item in checks() if item.on_host is None for violation in item.check(state))
    return (*_within(state, hosts), *across)


def _within(state: State, hosts: Iterable[str]) -> tuple[Violation, ...]:
    """Apply the filters and the checks within a host to some hosts of a well-formed state."""
    chosen = [*dict.fromkeys(hosts)]
    found = [*rejected(state, frozenset(chosen))]
    for item in checks():
        if item.on_host is not None:
            for host in chosen:
                found.extend(item.on_host(state, host))
    return tuple(found)


def rejected(state: State, hosts: frozenset[str] | None = None) -> Iterable[Violation]:
    """Apply the filters to every placement that changes or makes a VM."""
    problem = state.problem
    placements = [p for p in state.placements if not p.stays and (hosts is None or p.host in hosts)]
    for item in filters():
        for placement in placements:
            demand = problem.demand_by_id[placement.demand]
            evidence = item.rejects(problem, demand, problem.inventory.host_by_moid[placement.host])
            if evidence is not None:
                yield Violation(item.id, demand.id, evidence, host=placement.host)


def check_vm_today(problem: Problem, demand: Demand) -> tuple[Violation, ...]:
    """Return why an existing VM, left as it is, does not meet its demand; none = it does.

    A rule that is broken today speaks against each of its VMs that may move. Against one that may not
    it says nothing: nothing could be done about it.
    """
    differences = differences_today(problem, demand)
    if differences:
        leaves = why_it_leaves(problem, demand)
        return tuple(
            Violation("evacuated" if text == leaves else "stays", demand.id, text) for text in differences
        )
    nearness = problem.derive(_today_by_demand).get(demand.id, ())
    return (*nearness, *_broken_rules(problem, demand)) if demand.may_move else nearness


def breaks_rules_only(problem: Problem, demand: Demand) -> bool:
    """Whether all that is wrong with an existing VM is a rule between VMs, which others may mend."""
    if differences_today(problem, demand) or problem.derive(_today_by_demand).get(demand.id):
        return False
    broken = tuple(_broken_rules(problem, demand)) if demand.may_move else ()
    return bool(broken) and all(violation.constraint != "vm-host-rule" for violation in broken)


def placements_today(problem: Problem) -> dict[str, Placement]:
    """Return today's placements of the VMs that already meet their demand, by demand id."""
    found = {}
    for demand in problem.request.demands:
        placement = placement_today(problem, demand)
        if placement is not None and not check_vm_today(problem, demand):
            found[demand.id] = placement
    return found


def _broken_rules(problem: Problem, demand: Demand) -> Iterable[Violation]:
    """Name the required rules that a VM breaks where it and the others are today."""
    as_it_is = problem.derive(_as_it_is)
    host = host_of(as_it_is, demand.id)
    rule = broken_rule(problem, demand.id, host) if host is not None else None
    if rule is not None:
        yield Violation("vm-host-rule", demand.id, f"rule '{rule.name}' is broken", host=host)
    for apart in problem.request.rules.apart:
        here = [vm for vm in apart.vms if host_of(as_it_is, vm) == host]
        if apart.required and demand.id in apart.vms and len(here) > apart.at_most:
            text = f"rule '{apart.name}': {len(here)} on one host, at most {apart.at_most}"
            yield Violation("apart", demand.id, text, host=host)
    for together in problem.request.rules.together:
        where = {where for vm in together.vms if (where := host_of(as_it_is, vm)) is not None}
        if together.required and demand.id in together.vms and len(where) > 1:
            text = f"rule '{together.name}': on {len(where)} hosts"
            yield Violation("together", demand.id, text, host=host)


def _as_it_is(problem: Problem) -> State:
    return State(problem, ())


def _today_by_demand(problem: Problem) -> dict[str, tuple[Violation, ...]]:
    """Judge all VMs that have what they ask for at once, as one state in which they stay."""
    staying = [placement_today(problem, demand) for demand in problem.request.demands]
    state = State(problem, tuple(placement for placement in staying if placement is not None))
    found: dict[str, list[Violation]] = {}
    for item in checks():
        if item.id in _OF_ONE_VM:
            for violation in item.check(state):
                found.setdefault(violation.object, []).append(violation)
    return {demand: tuple(violations) for demand, violations in found.items()}
