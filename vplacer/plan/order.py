"""Order between VMs: who must leave before who can come.

A VM *leaves* a host, or frees what it holds there, when it is switched off or migrated; it *comes* when it
is switched on or migrated. Cards, memory and cores are taken at that moment only, so two VMs that change
places do so through being off. Edges are drawn only where something would not fit otherwise: needless
ones would keep VMs down longer.

Only migrations both leave and come at once, so only they can wait for each other in a circle; one of
them then goes switched off.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from heapq import heapify, heappop, heappush
from operator import attrgetter

from vplacer.constraints.bipartite import assign
from vplacer.constraints.holdings import devices_of_host, vm_holdings
from vplacer.constraints.matching import gpu_matches, nic_matches
from vplacer.constraints.state import State
from vplacer.constraints.steering import ask_of, possible_cards, takes_whole_cards
from vplacer.constraints.supply import (
    ZERO,
    Amount,
    Consumer,
    Seat,
    consumer_of_demand,
    consumer_of_vm,
    host_supply,
)
from vplacer.errors import InternalError
from vplacer.inventory.moids import moid_order
from vplacer.inventory.pci import PciAddress
from vplacer.inventory.vm import StaticBacking
from vplacer.plan.changes import Action, Reconfigure
from vplacer.plan.draft import Draft
from vplacer.plan.model import Step, StepKind
from vplacer.request.demand import BoundBy, NicAsk

_LEAVE = frozenset({StepKind.POWER_OFF, StepKind.MIGRATE})
_COME = frozenset({StepKind.POWER_ON, StepKind.MIGRATE})
_TIERS = {BoundBy.STATIC: 0, BoundBy.LABEL: 1, BoundBy.PLATFORM: 2}


@dataclass(frozen=True, slots=True)
class Job:
    """A draft with its steps."""

    draft: Draft
    steps: tuple[Step, ...]

    @property
    def id(self) -> str:
        """Id of the demand."""
        return self.draft.demand.id

    def first(self, kinds: frozenset[StepKind]) -> Step | None:
        """Return the first step of some kinds, or None."""
        return next((step for step in self.steps if step.kind in kinds), None)


def with_dependencies(state: State, jobs: Iterable[Job]) -> tuple[tuple[Job, ...], tuple[str, ...]]:
    """Add the edges between VMs to the steps.

    Returns:
        The jobs, and the demands whose migrations wait for each other in a circle: drafting the first
        of them cold breaks it. Empty = all is well.
    """
    found = tuple(jobs)
    edges: dict[str, set[str]] = {}
    leaving: dict[str, list[Job]] = {}
    coming: dict[str, list[Job]] = {}
    for job in found:
        if not job.draft.is_new and job.draft.today.host is not None:
            leaving.setdefault(job.draft.today.host, []).append(job)
        if job.first(_COME) is not None:
            coming.setdefault(job.draft.host.moid, []).append(job)
    for host in sorted(coming, key=moid_order):
        _host_edges(state, host, leaving.get(host, []), coming[host], edges)
    linked = tuple(
        Job(
            job.draft,
            tuple(
                replace(step, depends_on=tuple(sorted({*step.depends_on, *edges.get(step.id, ())})))
                for step in job.steps
            ),
        )
        for job in found
    )
    return linked, _circle(linked)


def in_order(jobs: Iterable[Job]) -> tuple[Step, ...]:
    """Return all steps so that each comes after those it depends on; else in the order of the jobs."""
    steps = [step for job in jobs for step in job.steps]
    position = {step.id: index for index, step in enumerate(steps)}
    waiting = {step.id: len(step.depends_on) for step in steps}
    after: dict[str, list[str]] = {}
    for step in steps:
        for before in step.depends_on:
            after.setdefault(before, []).append(step.id)
    ready = [position[name] for name, count in waiting.items() if count == 0]
    heapify(ready)
    ordered: list[Step] = []
    while ready:
        step = steps[heappop(ready)]
        ordered.append(step)
        for name in after.get(step.id, ()):
            waiting[name] -= 1
            if waiting[name] == 0:
                heappush(ready, position[name])
    if len(ordered) < len(steps):
        raise InternalError("steps of a plan depend on each other in a circle")
    return tuple(ordered)


def _host_edges(
    state: State, moid: str, leaving: list[Job], coming: list[Job], edges: dict[str, set[str]]
) -> None:
    """Draw the edges of one host, between the VMs that leave it and those that come."""
    tight = _room_is_short(state, moid, leaving, coming)
    for job in coming:
        come = job.first(_COME)
        assert come is not None
        for other in leaving:
            if other.id == job.id:
                continue
            leave = other.first(_LEAVE)
            cards = _cards_wanted(state, job, host=moid) & _cards_today(state, other)
            if leave is not None and (cards or tight or _apart(state, job, other)):
                _draw(edges, come, leave)
            if cards:
                _static_edges(job, other, come, leave, cards, edges)
    _tier_edges(state, coming, edges)


def _apart(state: State, job: Job, other: Job) -> bool:
    """Whether a rule may forbid two VMs on one host, even for a moment."""
    pair = {job.id, other.id}
    return any(rule.required and pair <= set(rule.vms) for rule in state.problem.request.rules.apart)


def _draw(edges: dict[str, set[str]], step: Step, before: Step) -> None:
    edges.setdefault(step.id, set()).add(before.id)


def _static_edges(
    job: Job,
    other: Job,
    come: Step,
    leave: Step | None,
    cards: frozenset[PciAddress],
    edges: dict[str, set[str]],
) -> None:
    """A static backing names its card also while its VM is off: hand it over cleanly."""
    for step in other.steps:
        if isinstance(step.change, Reconfigure) and _names_card(step.change, Action.REMOVE, cards):
            _draw(edges, come, step)
    for step in job.steps:
        if not isinstance(step.change, Reconfigure) or leave is None:
            continue
        if _names_card(step.change, Action.ADD, cards):
            _draw(edges, step, leave)


def _names_card(change: Reconfigure, action: Action, cards: frozenset[PciAddress]) -> bool:
    values = [
        item.before if action is Action.REMOVE else item.after
        for item in change.devices
        if item.action is action
    ]
    backings = [value.backing for value in values if value is not None]
    return any(isinstance(item, StaticBacking) and item.address in cards for item in backings)


def _tier_edges(state: State, coming: list[Job], edges: dict[str, set[str]]) -> None:
    """Those whose card is fixed start before those who would let vSphere take it."""
    for job in coming:
        start = job.first(frozenset({StepKind.POWER_ON}))
        mine = _tier(job)
        if start is None or mine is None:
            continue
        for other in coming:
            theirs = _tier(other)
            first = other.first(frozenset({StepKind.POWER_ON}))
            if first is None or theirs is None or theirs >= mine:
                continue
            if _reach(state, job) & _cards_of(state, other):
                _draw(edges, start, first)


def _reach(state: State, job: Job) -> frozenset[PciAddress]:
    """The cards vSphere could give a VM if it started before all others: every one that matches."""
    draft = job.draft
    found: set[PciAddress] = set()
    for item in draft.placement.devices:
        ask = ask_of(draft.demand, item)
        for card in devices_of_host(state.problem, draft.host.moid):
            if isinstance(ask, NicAsk):
                fits = nic_matches(card, ask)
            else:
                fits = ask is not None and gpu_matches(draft.host, card, ask)
            if item.bound_by is BoundBy.LABEL:
                fits = fits and card.label == item.label
            if fits and item.bound_by is not BoundBy.STATIC:
                found.add(card.address)
    return frozenset(found)


def _tier(job: Job) -> int | None:
    """How freely vSphere may choose the cards of a VM, at its freest; None = it has none."""
    return max((_TIERS[item.bound_by] for item in job.draft.placement.devices), default=None)


def _cards_wanted(state: State, job: Job, host: str) -> frozenset[PciAddress]:
    """The cards that a VM may have to get from others when it comes to a host.

    One that is switched off and on again there finds what it gave up itself, whichever cards those were:
    then it waits only for those that its static backings name.
    """
    draft = job.draft
    if draft.is_new or draft.today.host != host or job.first(frozenset({StepKind.POWER_OFF})) is None:
        return _cards_of(state, job)
    devices = draft.placement.devices
    options = zip(devices, possible_cards(state, draft.placement), strict=True)
    chosen = [frozenset(cards) for item, cards in options if item.bound_by is not BoundBy.STATIC]
    whole = all(takes_whole_cards(ask_of(draft.demand, item)) for item in devices)
    held = [
        frozenset(claim.candidates if claim.address is None else (claim.address,))
        for claim in vm_holdings(state.problem, draft.today.moid)
    ]
    if not whole or assign(len(chosen), [1] * len(held), lambda row, one: held[one] <= chosen[row]) is None:
        return _cards_of(state, job)
    return frozenset(item.address for item in devices if item.bound_by is BoundBy.STATIC)


def _cards_of(state: State, job: Job) -> frozenset[PciAddress]:
    """The cards a placed VM may turn out to have, and its witnesses."""
    placement = job.draft.placement
    cards = {item.address for item in placement.devices}
    for options in possible_cards(state, placement):
        cards.update(options)
    return frozenset(cards)


def _cards_today(state: State, job: Job) -> frozenset[PciAddress]:
    """The cards a VM holds on its host today or may hold, and those its static backings name."""
    vm = job.draft.today
    cards: set[PciAddress] = set()
    for holding in vm_holdings(state.problem, vm.moid):
        cards.update(holding.candidates)
        if holding.address is not None:
            cards.add(holding.address)
    cards.update(d.backing.address for d in vm.devices if isinstance(d.backing, StaticBacking))
    return frozenset(cards)


def _room_is_short(state: State, moid: str, leaving: list[Job], coming: list[Job]) -> bool:
    """Whether the VMs that come might not fit beside all that run on the host today.

    A VM that comes back to the host it is on counts with the more of what it takes before and after. VMs
    that float may be on any node.
    """
    problem = state.problem
    host = problem.inventory.host_by_moid[moid]
    options = problem.request.options
    if not leaving or not coming:
        return False
    before = {
        vm.moid: consumer
        for vm in problem.inventory.vms_by_host.get(moid, ())
        if (consumer := consumer_of_vm(vm, host, options)) is not None
    }
    after = {}
    for job in coming:
        nodes = job.draft.placement.nodes
        consumer = consumer_of_demand(job.draft.demand, nodes, host, options)
        if consumer is not None:
            after[job.id if job.draft.is_new else job.draft.today.moid] = consumer
    supply = host_supply(host, options)
    if not _most(before, after, attrgetter("whole")).fits(supply.total):
        return True
    return any(
        not _most(before, after, partial(_on_node, node=node.id)).fits(node.amount)
        for node in supply.nodes
        if any(item.seat is Seat.BOUND and node.id in item.nodes for item in after.values())
    )


def _most(
    before: Mapping[str, Consumer], after: Mapping[str, Consumer], amount: Callable[[Consumer], Amount]
) -> Amount:
    """Add up the more of what each VM takes before and after."""
    found = ZERO
    for vm in sorted(before.keys() | after.keys(), key=moid_order):
        one = amount(before[vm]) if vm in before else ZERO
        other = amount(after[vm]) if vm in after else ZERO
        found = found + Amount(max(one.millicores, other.millicores), max(one.memory_mib, other.memory_mib))
    return found


def _on_node(consumer: Consumer, node: int) -> Amount:
    """The most of a VM that may be on a node: its bound part, or all of one that floats there."""
    if consumer.nodes and node not in consumer.nodes:
        return ZERO
    return consumer.part if consumer.seat is Seat.BOUND else consumer.whole


def _circle(jobs: tuple[Job, ...]) -> tuple[str, ...]:
    """Return the demands whose migrations wait for each other, the one with least memory first."""
    moves: Mapping[str, tuple[Job, Step]] = {
        step.id: (job, step) for job in jobs for step in job.steps if step.kind is StepKind.MIGRATE
    }
    waiting = {name: set(step.depends_on) & set(moves) for name, (_, step) in moves.items()}
    while True:
        free = [name for name, others in waiting.items() if not others]
        if not free:
            break
        for name in free:
            del waiting[name]
        for others in waiting.values():
            others.difference_update(free)
    stuck = [moves[name][0] for name in waiting if _reaches(name, name, waiting)]
    stuck.sort(key=lambda job: (job.draft.demand.memory_mib, moid_order(job.id)))
    return tuple(job.id for job in stuck)


def _reaches(start: str, goal: str, edges: Mapping[str, set[str]]) -> bool:
    seen: set[str] = set()
    todo = list(edges[start])
    while todo:
        name = todo.pop()
        if name == goal:
            return True
        if name not in seen:
            seen.add(name)
            todo.extend(edges.get(name, ()))
    return False
