"""The sets of things that keep demands without a place, each minimal: found by asking the solver.

First a VM by itself on the site as it is; if it fits, more of its kind; if those fit, they and
the other VMs of the request that were placed: then the smallest numbers of them that do not fit together.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from vplacer.constraints.checks.change_limits import MOVES, POWER_CYCLES
from vplacer.constraints.state import Placement, Problem
from vplacer.constraints.supply import holds_devices
from vplacer.inventory.vm import Vm
from vplacer.request.demand import RequestOptions
from vplacer.solver.classes import DemandClass
from vplacer.solver.conflicts.conflict import Conflict, ConflictPart
from vplacer.solver.conflicts.crowd import Crowd, conflicts, crowd_of, one_less
from vplacer.solver.conflicts.hosts import one_of_each_kind
from vplacer.solver.conflicts.minimal import minimal_conflict
from vplacer.solver.conflicts.oracle import Asked, Oracle, demands_like
from vplacer.solver.conflicts.parts import demands_part, parts_of, vm_part
from vplacer.solver.conflicts.site import SiteChange
from vplacer.solver.conflicts.wishes import without

MAX_CONFLICTS = 3
"""Sets that have nothing in common are told up to so many a kind of VM."""

MAX_RUNNING = 60
"""Running VMs are told apart where there are no more than so many to choose from."""


@dataclass
class ConflictFinder:
    """Looks for conflicts of one class without a place."""

    oracle: Oracle
    crowd: Crowd
    parts: tuple[ConflictPart, ...]

    @property
    def problem(self) -> Problem:
        """The problem whose demands these are."""
        return self.oracle.problem

    def find(self, left_out: int) -> tuple[Conflict, ...]:
        """Return conflicts that have no wish or rule in common, each as small as can be.

        ``left_out``: kinds of host that are not looked at.
        """
        found: list[Conflict] = []
        rest = list(self.parts)
        while len(found) < MAX_CONFLICTS and rest and self.conflicting(rest):
            core = minimal_conflict(rest, self.conflicting)
            told = self._told_apart(core)
            minimal = bool(core) and self._is_minimal(told)
            parts = tuple(replace(part, suffices=self.helps(part)) for part in told)
            found.append(Conflict(len(self.crowd.mine), (*parts, *self._crowd()), minimal, left_out))
            rest = [part for part in rest if part not in core]
            if not core or any(part.suffices for part in parts):
                break
        return tuple(found)

    def conflicting(self, kept: Sequence[ConflictPart]) -> bool:
        """Whether some parts conflict while all others are given up."""
        return all(self.oracle.conflict(asked) for asked in self._asked(kept))

    def helps(self, part: ConflictPart) -> bool | None:
        """Whether a place is found with nothing but one part given up; None = not shown either way."""
        kept = [other for other in self.parts if other != part]
        if part.kind == "vm":
            kept = [other for other in kept if other.kind != "running"] + self._running_but(part)
        tried = list(self._asked(kept))
        if any(self.oracle.fits(asked) for asked in tried):
            return True
        return False if all(self.oracle.conflict(asked) for asked in tried) else None

    def _is_minimal(self, core: Sequence[ConflictPart]) -> bool:
        """Whether a place was found for all without any one part, and without any one VM.

        A VM without which others lose their place is needed as well.
        """
        lesser = [(self.crowd, [other for other in core if other != part]) for part in core]
        lesser += [(crowd, list(core)) for crowd in one_less(self.crowd)]
        return all(
            any(
                self.oracle.fits(asked) or self.oracle.without_place(asked)
                for asked in replace(self, crowd=crowd)._asked(kept)
            )
            for crowd, kept in lesser
        )

    def _crowd(self) -> tuple[ConflictPart, ...]:
        return tuple(demands_part(cls, len(demands)) for cls, demands in self.crowd.others)

    def _told_apart(self, core: list[ConflictPart]) -> list[ConflictPart]:
        """Put the running VMs that matter in the place of all of them, if they are few enough to tell."""
        rest = [part for part in core if part.kind != "running"]
        if len(rest) == len(core):
            return core
        vms = self._standing()
        for some in ([vm for vm in vms if holds_devices(vm)], vms):
            each = [vm_part(self.problem, vm) for vm in some]
            if some and len(some) <= MAX_RUNNING and self.conflicting([*rest, *each]):
                needed = minimal_conflict(each, lambda kept: self.conflicting([*rest, *kept]))
                return [*rest, *needed]
        return core

    def _standing(self) -> list[Vm]:
        """VMs that run on the hosts looked at and that the demands asked for are not."""
        asked = {demand.vm for demand in (*self.crowd.mine, *self.crowd.beside, *self.crowd.held)}
        hosts = self.oracle.hosts
        return [
            vm
            for vm in self.problem.inventory.vms
            if not vm.template
            and vm.host is not None
            and vm.moid not in asked
            and (hosts is None or vm.host in hosts)
        ]

    def _running_but(self, part: ConflictPart) -> list[ConflictPart]:
        return [vm_part(self.problem, vm) for vm in self._standing() if vm.moid not in part.objects]

    def _asked(self, kept: Sequence[ConflictPart]) -> Iterable[Asked]:
        """Yield what is asked for when only some parts hold: one alternative after the other."""
        mine, request = self.crowd.mine, self.problem.request
        kept_fields = {part.field for part in kept if part.kind in ("wish", "rule")}
        wishes = [part.field for part in self.parts if part.kind == "wish" and part.field is not None]
        gone_rules = {
            part.value for part in self.parts if part.kind == "rule" and part.field not in kept_fields
        }
        rules = replace(
            request.rules,
            apart=tuple(rule for rule in request.rules.apart if rule.name not in gone_rules),
            together=tuple(rule for rule in request.rules.together if rule.name not in gone_rules),
            on_hosts=tuple(rule for rule in request.rules.on_hosts if rule.name not in gone_rules),
            gangs=tuple(rule for rule in request.rules.gangs if rule.name not in gone_rules),
        )
        options = _options_kept(request.options, kept_fields)
        changed = list(without(mine[0], (field for field in wishes if field not in kept_fields)))
        for site in self._sites(kept):
            for demand in changed:
                counted = demands_like(demand, mine)
                yield Asked((*counted, *self.crowd.beside), self.crowd.held, rules, options, site)

    def _sites(self, kept: Sequence[ConflictPart]) -> Iterable[SiteChange]:
        """Yield the site without what is not kept; running VMs that are not may stand there as well.

        What they hold leaves vSphere less to choose from: without them a VM may lose its place.
        """
        of_kind: dict[str, set[str]] = {"host": set(), "admission": set(), "vm": set()}
        for part in kept:
            of_kind.setdefault(part.kind, set()).update(part.objects)
        opened = {moid for part in self.parts if part.kind == "host" for moid in part.objects}
        without_control = {moid for part in self.parts if part.kind == "admission" for moid in part.objects}
        gone: frozenset[str] = frozenset()
        if not any(part.kind == "running" for part in kept):
            gone = frozenset(vm.moid for vm in self._standing()) - of_kind["vm"]
        change = SiteChange(
            gone, frozenset(opened - of_kind["host"]), frozenset(without_control - of_kind["admission"])
        )
        yield change
        if gone and any(demand.has_devices for demand in (*self.crowd.mine, *self.crowd.held)):
            yield replace(change, vms=frozenset())


def _options_kept(options: RequestOptions, fields: Collection[str | None]) -> RequestOptions:
    """Return the options of a request without what is given up."""
    return replace(
        options,
        headroom_hosts=options.headroom_hosts if "headroom.hosts" in fields else 0,
        max_power_cycles=options.max_power_cycles if f"limits.{POWER_CYCLES}" in fields else None,
        max_moves=options.max_moves if f"limits.{MOVES}" in fields else None,
        evacuate=options.evacuate if "evacuate" in fields else (),
    )


def conflicts_of(
    oracle: Oracle,
    cls: DemandClass,
    members: Sequence[str],
    placements: Sequence[Placement],
    classes: Sequence[DemandClass],
) -> tuple[Conflict, ...]:
    """Return the conflicts that keep the members of a class without a place; none where none was shown.

    Args:
        oracle: answers for the whole site, and the work that may still be done.
        cls: the class.
        members: those without a place.
        placements: the answer's placements.
        classes: all classes.
    """
    problem = oracle.problem
    demand = problem.demand_by_id[members[0]]
    gang = tuple(
        problem.demand_by_id[member]
        for other in classes
        if cls.gang is not None and other.gang == cls.gang
        for member in other.members
        if member not in members
    )
    if cls.gang is not None:
        mine = Crowd(cls, tuple(problem.demand_by_id[member] for member in members), gang)
        if not conflicts(oracle, mine):
            return ()
        return ConflictFinder(oracle, mine, parts_of(problem, cls, members, problem.topologies)).find(0)
    hosts, left_out = one_of_each_kind(problem, demand)
    alone = replace(oracle, hosts=hosts)
    mine = Crowd(cls, (demand,))
    if conflicts(alone, mine):
        return ConflictFinder(alone, mine, parts_of(problem, cls, members, hosts)).find(left_out)
    crowd = crowd_of(oracle, cls, placements, classes)
    if crowd is None:
        return ()
    return ConflictFinder(oracle, crowd, parts_of(problem, cls, members, problem.topologies)).find(0)
