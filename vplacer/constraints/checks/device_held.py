"""No card is given twice, and none that somebody holds or may hold."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable

from vplacer.constraints.checks.devices import relax
from vplacer.constraints.holdings import PASSTHROUGH, VF, HostUse
from vplacer.constraints.registry import host_check
from vplacer.constraints.state import Confidence, DeviceAssignment, Placement, State, Violation
from vplacer.constraints.steering import ask_of, candidates, use_of
from vplacer.inventory.pci import PciAddress
from vplacer.request.demand import BoundBy, GpuAsk, NicAsk

ID = "device-held"

_Taken = list[tuple[Placement, DeviceAssignment, str]]


def on_host(state: State, host: str) -> Iterable[Violation]:
    """Check whole cards, shared cards and virtual functions against each other and what is held."""
    taken = _taken(state, host)
    if not taken:
        return
    use = use_of(state, host)
    yield from _held(taken, use, host)
    yield from _twice(taken, host)
    yield from _functions(taken, use, host)
    yield from _maybe_held(state, taken, use, host)


def _taken(state: State, host: str) -> _Taken:
    """The assignments of a host's placements and how each takes its card: "whole", "vgpu" or "vf"."""
    found: _Taken = []
    devices = use_of(state, host).devices
    for placement in state.placements_by_host.get(host, ()):
        demand = state.problem.demand_by_id[placement.demand]
        for assignment in placement.devices:
            ask = ask_of(demand, assignment)
            device = devices.get(assignment.address)
            if ask is None or device is None:
                continue  # the check of devices names it
            if isinstance(ask, NicAsk):
                how = "vf" if ask.kind == "sriov" else "whole"
            elif ask.group is not None:
                how = "vf" if device.kind == "nic" and not device.passthrough else "whole"
            else:
                how = "vgpu" if ask.profile is not None else "whole"
            found.append((placement, assignment, how))
    return found


def _held(taken: _Taken, use: HostUse, host: str) -> Iterable[Violation]:
    for placement, assignment, how in taken:
        for holding in use.held.get(assignment.address, ()):
            if how != "whole" and holding.kind != PASSTHROUGH:
                continue
            if how == "vf" and holding.kind == VF:
                continue
            sure = Confidence.PROVED if holding.certain else Confidence.LIKELY
            text = f"{assignment.address} is held by {holding.vm}"
            yield Violation(ID, placement.demand, text, sure, host)
            break


def _twice(taken: _Taken, host: str) -> Iterable[Violation]:
    uses: dict[PciAddress, list[tuple[str, str]]] = defaultdict(list)
    for placement, assignment, how in taken:
        uses[assignment.address].append((placement.demand, how))
    for address, users in sorted(uses.items()):
        if len(users) > 1 and any(how == "whole" for _, how in users):
            names = ", ".join(sorted({demand for demand, _ in users}))
            yield Violation(ID, users[-1][0], f"{address} is given {len(users)} times ({names})", host=host)


def _functions(taken: _Taken, use: HostUse, host: str) -> Iterable[Violation]:
    wanted = Counter(assignment.address for _, assignment, how in taken if how == "vf")
    for address, count in sorted(wanted.items()):
        free = use.free_vfs(address)
        if count > free:
            demand = next(p.demand for p, a, how in taken if how == "vf" and a.address == address)
            text = f"{address}: {count} virtual functions needed, {free} free"
            yield Violation(ID, demand, text, host=host)


def _maybe_held(state: State, taken: _Taken, use: HostUse, host: str) -> Iterable[Violation]:
    """Check that enough cards remain wherever those sit that hold a card nobody can name.

    For every union of the sets of cards that may serve assignments: the assignments that can only be
    served from it are no more than its cards less the holders that may be in it (Hall's condition).
    """
    uncertain = [holding for holding in use.uncertain if holding.kind == PASSTHROUGH]
    whole = [(p, a) for p, a, how in taken if how == "whole"]
    if not whole:
        return
    needs: Counter[tuple[PciAddress, ...]] = Counter()
    for placement, assignment in whole:
        needs[_choice(state, placement, assignment)] += 1
    unions: set[frozenset[PciAddress]] = {frozenset()}
    for cards in sorted(needs):
        unions |= {union | frozenset(cards) for union in unions}
        if len(unions) > _MOST_UNIONS:
            unions = {frozenset(cards) for cards in needs} | {frozenset(a for c in needs for a in c)}
            break
    for union in sorted(unions, key=lambda u: (len(u), sorted(u))):
        need = sum(count for cards, count in needs.items() if union.issuperset(cards))
        maybe = sum(1 for holding in uncertain if not union.isdisjoint(holding.candidates))
        if need > len(union) - min(maybe, len(union)):
            sure = Confidence.UNKNOWN if need <= len(union) else Confidence.PROVED
            text = f"{need} cards needed of {len(union)}"
            if maybe:
                text += f", of which {maybe} may be held by VMs whose card is not known"
            demand = next(p.demand for p, a in whole if union.issuperset(_choice(state, p, a)))
            yield Violation(ID, demand, text, sure, host, (("needed", need), ("cards", len(union))))
            return


_MOST_UNIONS = 256


def _choice(state: State, placement: Placement, assignment: DeviceAssignment) -> tuple[PciAddress, ...]:
    """The cards that may serve an assignment; its own card is one of them."""
    if assignment.bound_by is BoundBy.STATIC:
        return (assignment.address,)
    ask = ask_of(state.problem.demand_by_id[placement.demand], assignment)
    if isinstance(ask, GpuAsk) and ask.group is not None:
        return (assignment.address,)
    return candidates(state, placement, assignment) or (assignment.address,)


CHECK = host_check(ID, "Devices free", on_host, relax)
