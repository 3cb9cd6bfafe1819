"""Slots kept for the mix expected later: made, read again, and followed by one more VM."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING

from vplacer.errors import AmbiguousObjectError, FileFormatError, UnknownObjectError, UsageError
from vplacer.jobs.file_kind import FileKind, kind_of
from vplacer.solver.verdict import SolveOptions, StoppedBy

if TYPE_CHECKING:
    from vplacer.constraints.state import Problem
    from vplacer.plan.capacity_report import CapacityReport
    from vplacer.plan.slots_file import SlotSet
    from vplacer.request.demand import Demand, FutureShape
    from vplacer.solver.arrivals.keep import Kept
    from vplacer.solver.arrivals.kept import KeptSlot
    from vplacer.solver.verdict import Solution

Stop = Callable[[], StoppedBy | None]

_SHOWN = 4


def make_slots(problem: Problem, search: SolveOptions, stop: Stop) -> Kept:
    """Make slots for the mix of a problem's request: its ``future``, else its own shapes.

    Raises:
        UsageError: there is no mix.
    """
    from vplacer.request.future import future_mix
    from vplacer.solver.arrivals.keep import keep_slots

    mix = future_mix(problem.request)
    if not mix:
        raise UsageError(
            "there is no mix of VMs to keep slots for",
            why="the request asks for no VM and states no future",
            hint="state the mix under future: in the request (docs/request.md)",
        )
    return keep_slots(problem, mix, search, stop)


def slot_set(report: CapacityReport, kept: Kept) -> SlotSet:
    """Return slots made for a report of room as they are saved."""
    from vplacer.plan.slots_file import SlotSet

    hosts = {slot.host for slot in kept.slots}
    return SlotSet(
        tool_version=report.tool_version,
        created=report.created,
        source=report.source,
        request_file=report.request_file or "",
        request_sha256=report.request_sha256 or "",
        mix=kept.mix,
        slots=kept.slots,
        names=tuple(sorted(pair for pair in report.names if pair[0] in hosts)),
    )


def read_slots(path: Path) -> SlotSet:
    """Load a slots file; another file of ours is called by its name.

    Raises:
        FileFormatError, NewerFormatError: it is no slots file, was edited, or is of a newer vplacer.
    """
    from vplacer.plan.slots_file import load_slots

    try:
        return load_slots(path)
    except FileFormatError:
        kind = kind_of(path)
        if kind is None or kind is FileKind.SLOTS:
            raise
        raise FileFormatError(
            f"is {kind.value}, not a slots file",
            path=str(path),
            hint="`vplacer capacity -r FILE -o slots.json` writes one",
        ) from None


def slots_today(found: SlotSet, path: Path, problem: Problem) -> tuple[tuple[KeptSlot, ...], tuple[str, ...]]:
    """Return the slots of a file that are still there, and what to say of the others.

    Raises:
        UsageError: the slots are another vCenter's, or of shapes that the request means otherwise.
    """
    from vplacer.solver.arrivals.still_there import still_there

    about = problem.inventory.about
    if found.source.instance_uuid != about.instance_uuid:
        raise UsageError(
            f"has slots of another vCenter ({found.source.vcenter}) than {about.name}",
            obj=str(path),
            hint="name the slots made for this one, or make them: vplacer capacity -r FILE -o slots.json",
        )
    _refuse_other_shapes(found, path, problem)
    slots, lost = still_there(problem, found.slots, found.mix)
    if not lost:
        return slots, ()
    names = dict(found.names)
    shown = "; ".join(
        f"'{item.slot.shape}' on {names.get(item.slot.host, item.slot.host)}: {item.why}"
        for item in lost[:_SHOWN]
    )
    more = f"; and {len(lost) - _SHOWN} more" if len(lost) > _SHOWN else ""
    told = f"{len(lost)} of {len(found.slots)} slots of {path.name} are no longer there"
    return slots, (f"{told}: {shown}{more}",)


def _refuse_other_shapes(found: SlotSet, path: Path, problem: Problem) -> None:
    """Refuse slots of a shape that the request has, but means otherwise: they would not fit its VMs."""
    from vplacer.request.future import future_mix

    now = {shape.name: shape for shape in future_mix(problem.request)}
    for shape in found.mix:
        if shape.name in now and (differing := _differing(shape, now[shape.name])):
            raise UsageError(
                f"has slots of shape '{shape.name}' that asks for other things now",
                obj=str(path),
                why=f"changed since: {', '.join(differing)}",
                hint="make the slots anew: vplacer capacity -r FILE -o slots.json",
            )


def _differing(was: FutureShape, now: FutureShape) -> list[str]:
    """Name the fields that differ; where its disks would be and its line in the request do not count."""
    aside = {"source", "datastores", "networks"}
    return [
        item.name
        for item in fields(was.demand)
        if item.name not in aside and getattr(was.demand, item.name) != getattr(now.demand, item.name)
    ]


def demand_named(problem: Problem, name: str) -> Demand:
    """Return the demand of a request's VM.

    Raises:
        UnknownObjectError, AmbiguousObjectError: the request names no such VM, or several.
    """
    demands = problem.request.demands
    found = [demand for demand in demands if name in (demand.name, demand.vm)]
    if len(found) == 1:
        return found[0]
    if found:
        raise AmbiguousObjectError(
            f"{len(found)} VMs of the request have this name",
            obj=name,
            hint=f"use a managed object id: {', '.join(demand.vm or demand.id for demand in found)}",
        )
    alone = next((vm for vm in problem.request.left_alone if name in (vm.name, vm.vm)), None)
    names = sorted({demand.name for demand in demands})
    close = difflib.get_close_matches(name, names, n=1)
    some = ", ".join(names[:10]) + (" ..." if len(names) > 10 else "")
    hint = f"did you mean {close[0]}?" if close else f"it asks for: {some}" if names else None
    raise UnknownObjectError(
        "the request asks for no VM of this name" if alone is None else "this VM is left alone",
        obj=name,
        why="given with --place" if alone is None else alone.reason,
        hint=hint if alone is None else None,
    )


@dataclass(frozen=True, slots=True)
class Following:
    """One VM to be placed by slots.

    Args:
        name: the VM of the request.
        path: the slots file; None = slots are made now.
        found: what the file says.
    """

    name: str
    path: Path | None = None
    found: SlotSet | None = None


def following(name: str, path: Path | None) -> Following:
    """Read the slots that a VM is to follow; errors as `read_slots`."""
    return Following(name, path, read_slots(path) if path is not None else None)


def place_by_slots(
    problem: Problem, asked: Following, search: SolveOptions, stop: Stop
) -> tuple[Problem, Solution]:
    """Place one VM of a request, following slots and touching no other VM.

    Returns:
        The problem of this VM alone, its notes telling of the slot, and the solution.

    Raises:
        UnknownObjectError, AmbiguousObjectError: the request names no such VM, or several.
        UsageError: it cannot be placed by itself, or the slots are not for this vCenter or its shapes.
    """
    from vplacer.constraints.judge import placements_today
    from vplacer.solver.arrivals.follow import only
    from vplacer.solver.solve import solve

    demand = demand_named(problem, asked.name)
    _refuse_gang(problem, demand)
    alone = only(problem, demand)
    if placements_today(alone):
        # It has its place: no other is looked for, though the request may allow it to move.
        alone = _noted(only(problem, replace(demand, may_move=False)), f"{demand.name} has what it asks for")
    else:
        slots, mix, told = _slots_for(problem, asked, search, stop)
        found = _placed(alone, demand, slots, mix, told, search)
        if found is not None:
            return found
    return alone, solve(alone, search, stop)


def _noted(problem: Problem, *notes: str) -> Problem:
    """Return a problem whose plan says something more."""
    request = problem.request
    return problem.with_request(replace(request, notes=(*request.notes, *notes)))


def _refuse_gang(problem: Problem, demand: Demand) -> None:
    for gang in problem.request.rules.gangs:
        if demand.id in gang.vms:
            raise UsageError(
                "cannot be placed by itself",
                obj=demand.name,
                why=f"it belongs to gang '{gang.name}', which is placed as a whole or not at all",
                hint="plan the request without --place",
            )


def _slots_for(
    problem: Problem, asked: Following, search: SolveOptions, stop: Stop
) -> tuple[Sequence[KeptSlot], Sequence[FutureShape], tuple[str, ...]]:
    """Return slots, what their shapes ask for, and what to say of them."""
    if asked.found is not None and asked.path is not None:
        slots, told = slots_today(asked.found, asked.path, problem)
        return slots, asked.found.mix, told
    kept = make_slots(problem, search, stop)
    told = (f"the slots were made now ({len(kept.slots)} for the mix); vplacer capacity -o keeps them",)
    return kept.slots, kept.mix, told


def _placed(
    alone: Problem,
    demand: Demand,
    slots: Sequence[KeptSlot],
    mix: Sequence[FutureShape],
    told: tuple[str, ...],
    search: SolveOptions,
) -> tuple[Problem, Solution] | None:
    """Place the VM; None if no host takes it."""
    from vplacer.plan.slot_words import arrival_notes
    from vplacer.request.future import shape_like
    from vplacer.solver.arrivals.follow import place_by_slots as place
    from vplacer.solver.arrivals.solution import solution_of

    like = shape_like(mix, demand)
    shape = None if like is None else like.name
    arrival = place(alone, shape, slots, mix)
    if arrival is None:
        return None
    host = alone.inventory.host_by_moid[arrival.placement.host].name
    noted = _noted(alone, *arrival_notes(demand.name, shape, arrival, slots, host), *told)
    return noted, solution_of(noted, arrival, search)
