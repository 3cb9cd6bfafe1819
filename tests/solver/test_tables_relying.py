"""VMs that count on others taking, by name, the cards that their label might give them instead."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from benchmarks.fleet import Variant, fleet_problem
from vplacer.constraints.judge import placements_today
from vplacer.constraints.state import Problem
from vplacer.solver.instance import build_instance
from vplacer.solver.kinds import build_kinds
from vplacer.solver.tables.fitting import fitting
from vplacer.solver.tables.lp import LightColumn
from vplacer.solver.tables.node_table import NEVER, NodeSeating, Units, build_table
from vplacer.solver.tables.search_parts import SearchParts
from vplacer.solver.tables.seatings import Seating
from vplacer.solver.tables.slots import JOINS, RELIES, UNTIED, Promise, taken
from vplacer.solver.tables.sources import Duals

POINT = 40

FLEETS = {
    "fresh": Variant(hosts=24, shapes=150, fill=0.0),
    "filled": Variant(hosts=16, shapes=150, fill=0.6),
    "some float": Variant(hosts=16, shapes=150, fill=0.6, floating=0.5),
}


def _parts(problem: Problem) -> SearchParts:
    instance = build_instance(problem, placements_today(problem), ("placed", "locality"))
    return SearchParts(instance, build_kinds(instance), 0)


def _worth(column: LightColumn | None, item: tuple[int, ...]) -> int:
    """What a column is worth: points count much, so that it pays to rely on others."""
    if column is None:
        return 0
    return sum(item[index] * count for index, count in column.seats) + POINT * column.points


def _asked_for(parts: SearchParts, pattern: list[tuple[Seating, int]]) -> bool:
    """Whether no more of anything is seated than is asked for: the host model never does."""
    asked = [sum(parts.classes[index].count for index in item.classes) for item in parts.items]
    for seating, count in pattern:
        asked[seating.item] -= count
    return min(asked) >= 0


@pytest.mark.parametrize("name", FLEETS)
def test_a_table_is_never_below_what_a_host_takes(name: str) -> None:
    parts = _parts(fleet_problem(FLEETS[name]))
    tables = parts.tables
    assert any(starts.relying for starts in tables.prices.starts)
    chooser = random.Random(5)
    reached = compared = relied = 0
    for _ in range(4 if name == "fresh" else 2):
        # Some are worth nothing or less: they come only where others rely on them.
        item = tuple(chooser.choice([-30, 0, chooser.randint(1, 60)]) for _ in parts.items)
        duals = Duals(item, dict.fromkeys((row.name for row in parts.rows.rows), 0), POINT)
        best = tables.price(duals, deep=True)
        unsure = set(tables.open_at(duals))
        for number, column in enumerate(tables.columns(range(len(tables.kinds)))):
            assert _worth(column, item) <= best[number]
            parts.prover.price_one(number, duals)
            (other,) = parts.prover.columns([number])
            if number not in unsure:
                assert _worth(other, item) <= best[number], parts.kinds[
                    tables.kinds[number]
                ].task.state.host.name
            pattern = tables.prices.seatings(tables.prices.patterns([number])[0])
            whole = fitting(tables.prices.kinds[number].task.state, pattern) == pattern
            if whole and _asked_for(parts, pattern):
                compared += 1
                reached += _worth(column, item) == best[number]
            relied += any(seating.settles for seating, _ in pattern)
    assert relied, "nobody relies on anybody"
    assert reached >= 0.9 * compared


def test_nobody_relies_on_others_where_points_only_decide_between_equals() -> None:
    tables = _parts(fleet_problem(FLEETS["fresh"])).tables
    item = (20,) * len(tables.row_terms.of_item)
    both = [Duals(item, dict.fromkeys(tables.row_terms.rows, 0), POINT, relying=r) for r in (True, False)]
    more, less = (tables.price(duals, deep=True).copy() for duals in both)
    assert (more >= less).all()
    assert (more > less).any()


def test_a_promise_is_kept_or_worth_nothing() -> None:
    """Two cards of a label and its promise: that the other card is taken by name."""
    promise = Promise(2, (0, 1))
    by_name = [NodeSeating(0, ((slot, 1),), 2, 1, 0) for slot in (0, 1)]
    by_label = [NodeSeating(1, ((slot, 1), (2, UNTIED)), 1, 1, 0) for slot in (0, 1)]
    table = build_table(
        (*by_name, *by_label), {(1, 1, 1)}, (4, 4), Units(1, 1), [((0, 1), (2, RELIES))], promises=(promise,)
    )
    relied = taken((1, 1, 1), ((0, 1), (2, RELIES)), (), (promise,))
    assert relied == (0, 1, 0)
    assert taken(relied, ((1, 1), (2, UNTIED)), (), (promise,)) is None
    assert taken(relied, ((1, 1), (2, RELIES)), (), (promise,)) is None
    assert taken(relied, ((1, 1), (2, JOINS)), (), (promise,)) == (0, 0, 0)
    filled = table.fill([-5, -5, 7, 7])
    at = table.index[relied]
    # Who takes the card by name is worth less than nothing, but must come; it needs two cores.
    assert filled.values[table.flat(at, 2, 1)] == -5
    assert filled.values[table.flat(at, 1, 1)] < NEVER // 2
    filled.trace([int(table.flat(at, 2, 1))])
    assert table.reseated(at, filled.traced(int(table.flat(at, 2, 1)))) == (1,)
    assert filled.values[table.flat(table.index[1, 1, 1], 2, 2)] == 14


def test_clusters_make_no_kinds_of_hosts() -> None:
    problem = fleet_problem(Variant(hosts=250, shapes=13, fill=0.0))
    instance = build_instance(problem, placements_today(problem), ("placed", "locality"))
    clusters = {task.state.host.cluster for task in instance.tasks}
    kinds = build_kinds(instance)
    assert len(kinds) < len(clusters) or len(kinds) == 7
    assert any(len({instance.tasks[p].state.host.cluster for p in kind.positions}) > 1 for kind in kinds)
    ratios = ((str(instance.tasks[0].state.host.cluster), 2.0), ("", 1.0))
    options = replace(problem.request.options, memory_overcommit=ratios)
    other = replace(problem, request=replace(problem.request, options=options))
    apart = build_kinds(build_instance(other, placements_today(other), ("placed", "locality")))
    assert len(apart) > len(kinds)
