"""Gangs: all members or none, one a host, on one fabric."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from vplacer.constraints.registry import Check
from vplacer.constraints.state import State, Violation
from vplacer.constraints.whereabouts import name_of, placed_anew
from vplacer.request.demand import Gang

ID = "gang"


def check(state: State) -> Iterable[Violation]:
    """Check every gang of which a member is placed anew; those that stay are of it too.

    A host without a fabric takes no member where one is asked.
    """
    for gang in state.problem.request.rules.gangs:
        yield from _check(state, gang)


def _check(state: State, gang: Gang) -> Iterable[Violation]:
    placed = {vm: state.placement_by_demand[vm].host for vm in gang.vms if vm in state.placement_by_demand}
    if not any(placed_anew(state, vm) for vm in placed):
        return
    missing = [vm for vm in gang.vms if vm not in placed]
    if missing:
        names = ", ".join(name_of(state, vm) for vm in missing)
        text = f"gang '{gang.name}': {len(placed)} of {len(gang.vms)} placed, missing {names}"
        yield Violation(ID, missing[0], text)
    for host, count in Counter(placed.values()).items():
        if count > 1:
            vm = next(vm for vm in gang.vms if placed.get(vm) == host)
            yield Violation(ID, vm, f"gang '{gang.name}': {count} members on one host", host=host)
    if gang.fabric is None:
        return
    fabric = dict(gang.fabric)
    outside = [vm for vm, host in placed.items() if host not in fabric]
    for vm in outside:
        yield Violation(ID, vm, f"gang '{gang.name}': the host is on no fabric", host=placed[vm])
    names_used = sorted({fabric[host] for host in placed.values() if host in fabric})
    if len(names_used) > 1:
        text = f"gang '{gang.name}': on {len(names_used)} fabrics ({', '.join(names_used)})"
        yield Violation(ID, gang.vms[0], text)


CHECK = Check(ID, "Gangs whole", "across", check)
