"""VMs that are changed where they are keep the cards they hold today, where another answer as good does that.

Models count: which of several equal cards a VM gets is all one to them, and an answer may have two VMs
exchange theirs. On each host where that may be so, the same VMs are seated once more by the host's own model:
no level and no row over hosts may be worse, and most cards are kept.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping

from ortools.sat.python import cp_model

from vplacer.constraints.seating import static_cards
from vplacer.inventory.pci import PciAddress
from vplacer.request.demand import RequestOptions
from vplacer.solver.classes import DemandClass
from vplacer.solver.column import Column, column_of, read_plan
from vplacer.solver.cpsat import Outcome, run
from vplacer.solver.host_model import ROOM, HostEncoder, HostTask, HostVars
from vplacer.solver.host_plan import HostPlan
from vplacer.solver.host_state import HostState
from vplacer.solver.instance import Instance
from vplacer.solver.option import Option

MOST_HOSTS = 100
"""Hosts that are looked at, in their order: more is rare, and would take as long as the search itself."""

WORK_A_HOST = 0.2

Owned = Mapping[int, frozenset[PciAddress]]


def own_cards(state: HostState, classes: tuple[DemandClass, ...]) -> dict[int, frozenset[PciAddress]]:
    """Return the cards of a host that its VMs hold today or are bound to, by class, where there are any."""
    held = {
        active.class_index: {h.address for h in active.holdings if h.address is not None}
        for active in state.actives
    }
    found = {
        cls.index: frozenset(held.get(cls.index, set()) | static_cards(cls.vm))
        for cls in classes
        if cls.vm is not None and cls.home == state.host.moid
    }
    return {index: cards for index, cards in found.items() if cards}


def keeping_own_cards(
    instance: Instance, plans: tuple[HostPlan, ...], seed: int, should_stop: Callable[[], bool]
) -> tuple[HostPlan, ...]:
    """Return plans of the hosts in which VMs keep more of their cards, and all else is as good."""
    options = instance.problem.request.options
    found = list(plans)
    tried = 0
    for position, (task, plan) in enumerate(zip(instance.tasks, plans, strict=True)):
        if tried == MOST_HOSTS or should_stop():
            break
        own = own_cards(task.state, instance.classes)
        if not own or not _may_keep_more(task, plan, own):
            continue
        tried += 1
        found[position] = _reseated(task, instance.classes, options, plan, own, seed)
    return tuple(found)


def _may_keep_more(task: HostTask, plan: HostPlan, own: Owned) -> bool:
    return any(
        _kept(task.options[index][number], own[index], task.state)
        < max(_kept(option, own[index], task.state) for option in task.options[index])
        for index, number, _ in plan.chosen
        if index in own
    )


def _kept(option: Option, own: frozenset[PciAddress], state: HostState) -> int:
    """Return how many of its own cards a VM can keep by an option."""
    taken: dict[int, int] = defaultdict(int)
    for use in option.uses:
        for cell, count in use.cells:
            taken[cell] += count
    return sum(
        min(count, len(own.intersection(state.cells[cell].addresses))) for cell, count in taken.items()
    )


def _reseated(
    task: HostTask,
    classes: tuple[DemandClass, ...],
    options: RequestOptions,
    plan: HostPlan,
    own: Owned,
    seed: int,
) -> HostPlan:
    """Seat the same VMs so that most cards are kept; the plan as it is where nothing is better."""
    model = cp_model.CpModel()
    encoder = HostEncoder(model, task, classes, options)
    variables = encoder.encode()
    encoder.encode_room()
    before = column_of(task, classes, options, plan)
    _hold(model, variables, plan, before)
    gains = [
        _kept(option, own[index], task.state) * count
        for index, listed in variables.chosen.items()
        if index in own
        for option, count in listed
    ]
    model.maximize(sum(gains))
    found = run(model, seed=seed, work=WORK_A_HOST)
    if found.outcome not in (Outcome.PROVED, Outcome.STOPPED):
        return plan
    after = read_plan(found.solver, variables, task.options)
    is_better = _kept_in_all(task, after, own) > _kept_in_all(task, plan, own)
    return after if is_better and _is_as_good(column_of(task, classes, options, after), before) else plan


def _hold(model: cp_model.CpModel, variables: HostVars, plan: HostPlan, before: Column) -> None:
    """Hold who is placed on the host, who stays, and what the levels are worth."""
    counts: dict[int, int] = defaultdict(int)
    for index, _, count in plan.chosen:
        counts[index] += count
    for index, listed in variables.chosen.items():
        model.add(sum(count for _, count in listed) == counts[index])
    for flags, kept in ((variables.stays, plan.stays), (variables.as_is, plan.as_is)):
        for index, flag in flags.items():
            model.add(flag == int(index in kept))
    for level, value in variables.levels.items():
        # The model may understate level "room"; what it comes to is counted afterwards.
        if level != ROOM and not isinstance(value, int):
            model.add(value >= before.levels.get(level, 0))


def _kept_in_all(task: HostTask, plan: HostPlan, own: Owned) -> int:
    return sum(
        _kept(task.options[index][number], own[index], task.state) * count
        for index, number, count in plan.chosen
        if index in own
    )


def _is_as_good(after: Column, before: Column) -> bool:
    levels = {*after.levels, *before.levels}
    return after.quantities == before.quantities and all(
        after.levels.get(level, 0) >= before.levels.get(level, 0) for level in levels
    )
