"""The registry of constraints, and the two shapes a constraint has.

A *filter* decides on one host for one demand, whatever else is placed: it is a single module with a
module-level `FILTER`. Judge, solver eligibility, reasons and relaxations all take it from here. A
*check* looks at a whole state: a module with a module-level `CHECK`; the solver has an encoder for
each under ``solver/``.

To add one: write ``constraints/filters/<name>.py`` or ``constraints/checks/<name>.py`` and name the
module in the list below.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from importlib import import_module

from vplacer.constraints.state import Problem, State, Violation
from vplacer.inventory.host import Host
from vplacer.request.demand import Demand


@dataclass(frozen=True, slots=True)
class Relaxation:
    """A change of the request that would lift a rejection.

    ``text`` says it to the user; ``demand`` the demand changed; ``field`` and ``value`` the change as
    data (``gpus[0].policy`` = ``socket``); ``cost`` orders relaxations, cheapest first.
    """

    text: str
    cost: int
    demand: str | None = None
    field: str | None = None
    value: str | None = None


@dataclass(frozen=True, slots=True)
class Filter:
    """A predicate on host x demand.

    ``rejects`` returns the evidence sentence when the host cannot take the demand, else None.
    ``relax`` returns what would lift it, or None where nothing in the request would.
    """

    id: str
    title: str
    rejects: Callable[[Problem, Demand, Host], str | None]
    relax: Callable[[Problem, Demand, Host], Relaxation | None]


@dataclass(frozen=True, slots=True)
class Check:
    """A constraint on a whole state.

    ``kind``: "host" (within one host; ``on_host`` looks at one) or "across" (over hosts). ``relax``
    returns what would lift the constraint for a demand, whatever host it is about; most have none.
    """

    id: str
    title: str
    kind: str
    check: Callable[[State], Iterable[Violation]]
    on_host: Callable[[State, str], Iterable[Violation]] | None = None
    relax: Callable[[Problem, Demand], tuple[Relaxation, ...]] | None = None


def host_check(
    id: str,
    title: str,
    on_host: Callable[[State, str], Iterable[Violation]],
    relax: Callable[[Problem, Demand], tuple[Relaxation, ...]] | None = None,
) -> Check:
    """Make a check within a host; over a state it looks at every host with a placement."""

    def check(state: State) -> Iterable[Violation]:
        for host in placed_hosts(state):
            yield from on_host(state, host)

    return Check(id, title, "host", check, on_host, relax)


def placed_hosts(state: State) -> tuple[str, ...]:
    """Return the hosts with placements, stayers included: nothing can have got worse on others."""
    order = {host.moid: index for index, host in enumerate(state.problem.inventory.hosts)}
    named = {placement.host for placement in state.placements}
    return tuple(sorted(named & order.keys(), key=order.__getitem__))


FILTER_MODULES: tuple[str, ...] = (
    # First: what could not be read would be told as absent by the others.
    "incomplete",
    "connection",
    "standby",
    "maintenance",
    "evacuated",
    "cluster",
    "vm_host_rule",
    "datastore",
    "network",
    "hardware_version",
    "group_support",
    "vm_limits",
    "evc",
    "drs",
    "gpu_model",
    "nic_kind",
    "host_size",
)
CHECK_MODULES: tuple[str, ...] = (
    "placed",
    "stays",
    "affinity_mode",
    "vnuma",
    "cpu",
    "memory",
    "floating",
    "devices",
    "device_held",
    "ownership_group",
    "vgpu",
    "device_group",
    "label_portable",
    "locality",
    "interconnect",
    "nic_near_gpu",
    "not_steerable",
    "apart",
    "together",
    "gang",
    "pool_memory",
    "ha_admission",
    "headroom",
    "change_limits",
)


@cache
def filters() -> tuple[Filter, ...]:
    """Return all filters in registry order."""
    return tuple(import_module(f"vplacer.constraints.filters.{name}").FILTER for name in FILTER_MODULES)


@cache
def checks() -> tuple[Check, ...]:
    """Return all checks in registry order."""
    return tuple(import_module(f"vplacer.constraints.checks.{name}").CHECK for name in CHECK_MODULES)
