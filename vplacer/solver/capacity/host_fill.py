"""The most VMs of one kind that one host takes beside what stands there: exact, and how they sit."""

from __future__ import annotations

from dataclasses import dataclass

from ortools.sat.python import cp_model

from vplacer.constraints.supply import consumer_of_demand
from vplacer.request.demand import Demand, RequestOptions
from vplacer.solver.cpsat import run
from vplacer.solver.host_cards import HostCards
from vplacer.solver.host_parts import Expr, ModelPart
from vplacer.solver.host_room import HostRoom
from vplacer.solver.host_state import HostState
from vplacer.solver.option import Option

WORK_A_HOST = 2.0
"""Work for one kind on one host; its bound counts if that is not enough."""


@dataclass(frozen=True, slots=True)
class Fill:
    """At least ``value`` fit, at most ``bound``.

    ``chosen``: (number of the option, count); ``vgpus``: (cell, profile, count).
    """

    value: int
    bound: int
    chosen: tuple[tuple[int, int], ...] = ()
    vgpus: tuple[tuple[int, str, int], ...] = ()


def most_on_host(
    demand: Demand,
    state: HostState,
    options: tuple[Option, ...],
    request: RequestOptions,
    *,
    at_most: int | None = None,
    seed: int = 1,
) -> Fill:
    """Return the most VMs that ask for the same and fit a host together.

    Args:
        demand: what each asks for.
        state: the host; all that stands on it stays where it is.
        options: the ways one of them can sit there.
        request: settings of the request.
        at_most: more are not wanted (a rule, a sum over hosts); None = as many as fit.
        seed: seed of the search.
    """
    most = room_bound(demand, state, request)
    if at_most is not None:
        most = min(most, at_most)
    if most <= 0 or not options:
        return Fill(0, 0)
    model = cp_model.CpModel()
    part = ModelPart(model)
    cards, room = HostCards(part, state), HostRoom(part, state)
    counts: dict[int, Expr] = {}
    for number, option in enumerate(options):
        limit = min(most, _most_of_option(option, state))
        if limit <= 0:
            continue
        count = counts[number] = part.integer(0, limit, f"y{number}")
        consumer = consumer_of_demand(demand, option.nodes, state.host, request)
        if consumer is not None:
            room.consume(consumer, count, limit)
        cards.take(option, count, limit)
    if not counts:
        return Fill(0, 0)
    cards.constrain()
    room.constrain([*counts.values()])
    model.add(sum(counts.values()) <= most)
    model.maximize(sum(counts.values()))
    result = run(model, seed=seed, work=WORK_A_HOST)
    bound = most if result.bound is None else min(most, result.bound)
    if result.value is None:
        return Fill(0, bound)
    solver = result.solver
    return Fill(
        result.value,
        bound,
        tuple((n, solver.value(count)) for n, count in counts.items() if solver.value(count)),
        tuple(
            (cell, profile, solver.value(count))
            for (cell, profile), count in sorted(cards.vgpus.items())
            if solver.value(count)
        ),
    )


def room_bound(demand: Demand, state: HostState, request: RequestOptions) -> int:
    """Return how many fit a host by its cores and memory in sum: never less than can."""
    consumer = consumer_of_demand(demand, (), state.host, request)
    if consumer is None:
        return 0
    whole, room = consumer.whole, state.total_room
    limits = []
    if whole.millicores > 0:
        limits.append(room.millicores // whole.millicores)
    if whole.memory_mib > 0:
        limits.append(room.memory_mib // whole.memory_mib)
    return max(0, min(limits, default=0))


def _most_of_option(option: Option, state: HostState) -> int:
    # What counts on there being no other card to choose can be said of one VM only.
    most = 1 if option.alone else 1_000_000
    for use in option.uses:
        for cell, count in use.cells:
            have = state.cells[cell]
            size = have.virtual_functions if use.resource == "vf" else have.size
            most = min(most, max(size, have.size) // count)
    return most
