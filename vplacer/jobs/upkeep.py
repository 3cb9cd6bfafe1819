"""What the command line asks for running VMs: hosts emptied, VMs allowed to move, repair, limits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from vplacer.errors import UnknownObjectError, UsageError
from vplacer.solver.verdict import SolveOptions

if TYPE_CHECKING:
    from vplacer.constraints.state import Problem
    from vplacer.inventory.vcenter import Inventory
    from vplacer.request.lookup import Named
    from vplacer.request.upkeep import Upkeep

LEVELS = ("placed", "power_cycles", "moves", "locality", "room", "hosts")
"""Order of the objective: what is done to running VMs counts before what is only preferred."""


@dataclass(frozen=True, slots=True)
class UpkeepOptions:
    """Options about running VMs.

    Args:
        evacuate: hosts to be emptied, by name, pattern or moid.
        evacuate_powered_off: move VMs that are off as well.
        may_move: VMs that may be moved though the request does not say so, by name, pattern or moid.
        repair: change only what the judge faults; without a request, of all that runs.
        max_power_cycles: most power cycles of the plan; None = as the request says.
        max_moves: most moves of the plan; None = as the request says.
    """

    evacuate: tuple[str, ...] = ()
    evacuate_powered_off: bool = False
    may_move: tuple[str, ...] = ()
    repair: bool = False
    max_power_cycles: int | None = None
    max_moves: int | None = None

    @property
    def needs_no_request(self) -> bool:
        """Whether there is something to do without a request."""
        return bool(self.evacuate) or self.repair


def upkeep_of(options: UpkeepOptions, inventory: Inventory, has_request: bool) -> Upkeep:
    """Match the options with an inventory.

    Raises:
        UnknownObjectError: a host or VM is not there.
        UsageError: options that say nothing.
    """
    from vplacer.request.lookup import Named
    from vplacer.request.upkeep import Upkeep

    if options.evacuate_powered_off and not options.evacuate:
        raise UsageError(
            "--evacuate-powered-off says nothing without --evacuate",
            hint="name the hosts with --evacuate HOST",
        )
    hosts = [Named(host.moid, host.name, "") for host in inventory.hosts]
    vms = [Named(vm.moid, vm.name, "") for vm in inventory.vms if not vm.template]
    return Upkeep(
        evacuate=_named("host", options.evacuate, hosts, "--evacuate"),
        evacuate_off=options.evacuate_powered_off,
        movable=frozenset(_named("VM", options.may_move, vms, "--may-move")),
        everyone=options.repair and not has_request,
    )


def _named(kind: str, words: Sequence[str], objects: Sequence[Named], option: str) -> tuple[str, ...]:
    """Return the moids of what some words mean, in the order of the inventory."""
    from vplacer.request.lookup import matching_moids
    from vplacer.request.naming import close_names, is_pattern

    found: set[str] = set()
    for word in words:
        hits = matching_moids(word, objects, short=kind == "host")
        if not hits:
            raise UnknownObjectError(
                f"no {kind} {'fits this pattern' if is_pattern(word) else 'has this name'}",
                obj=word,
                why=f"given with {option}",
                hint=close_names(word, [named.name for named in objects]),
            )
        found |= hits
    return tuple(named.moid for named in objects if named.moid in found)


def with_upkeep(problem: Problem, options: UpkeepOptions, upkeep: Upkeep, partial: bool | None) -> Problem:
    """Return the problem with what the options say of its demands and limits."""
    from vplacer.constraints.kept_locality import keep_locality
    from vplacer.constraints.repair import for_repair, leave_unmovable

    stated: dict[str, int | bool | None] = {
        "max_power_cycles": options.max_power_cycles,
        "max_moves": options.max_moves,
        "partial": partial,
    }
    stated["partial"] = partial
    if partial is None and upkeep.everyone and not upkeep.evacuate:
        stated["partial"] = True  # what cannot be mended stays, and hinders nothing else
    limits = {name: value for name, value in stated.items() if value is not None}
    request = problem.request
    problem = problem.with_request(replace(request, options=replace(request.options, **limits)))  # type: ignore[arg-type]
    problem = leave_unmovable(keep_locality(problem), upkeep.movable)
    return for_repair(problem, upkeep.movable) if options.repair else problem


def search_for(options: UpkeepOptions, search: SolveOptions) -> SolveOptions:
    """Return the search's options with the order of the objective that suits the upkeep."""
    if options.needs_no_request and search.levels == SolveOptions().levels:
        return replace(search, levels=LEVELS)
    return search
