"""How many VMs of one kind fit all hosts together where sums over hosts are limited.

Resource pools, HA admission control and headroom limit sums; a host's own room is known already.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ortools.sat.python import cp_model

from vplacer.constraints.state import Problem
from vplacer.errors import InternalError
from vplacer.solver.capacity.first import First
from vplacer.solver.classes import DemandClass
from vplacer.solver.cpsat import run
from vplacer.solver.host_parts import Expr
from vplacer.solver.rows import Key, Row, RowSet, ha, headroom, merge, pools
from vplacer.solver.rows.openings import Openings

SUMS = ("pool-memory", "ha-admission", "headroom")
"""Constraints that limit sums over hosts."""

WORK_OF_SUMS = 5.0


@dataclass(frozen=True, slots=True)
class Shared:
    """The best split: VMs a host, at most ``bound`` in all.

    ``full``: rows that one more would break, by the moid of the host it would go to.
    """

    counts: Mapping[str, int]
    bound: int
    full: Mapping[str, Row]


def sums_of(problem: Problem, cls: DemandClass, hosts: tuple[str, ...], first: First) -> RowSet:
    """Return the limits of sums over hosts that a class of new VMs is under, beside those placed first."""
    before = first.classes(problem, cls.index + 1)
    classes = (cls, *before)
    everywhere = dict.fromkeys((*hosts, *(placement.host for placement in first.placements)))
    openings = Openings(tuple(everywhere))
    rows = merge(
        [
            pools.build(problem, classes, openings),
            ha.build(problem, classes, openings),
            headroom.build(problem, classes, openings),
        ]
    )
    if not before:
        return rows
    taken = [(p.host, ("new", c.index)) for p, c in zip(first.placements, before, strict=True)]
    return RowSet(tuple(_beside(row, cls.index, taken) for row in rows.rows), rows.auxiliaries)


def _beside(row: Row, index: int, taken: Sequence[tuple[str, Key]]) -> Row:
    """Return a row for one class alone, less what VMs placed first take of it."""
    used = sum(row.coefficient(host, key) for host, key in taken)
    mine: Key = ("new", index)
    return replace(
        row,
        low=None if row.low is None else row.low - used,
        high=None if row.high is None else row.high - used,
        everywhere={key: weight for key, weight in row.everywhere.items() if key == mine},
        at={place: weight for place, weight in row.at.items() if place[1] == mine},
    )


def split(rows: RowSet, index: int, most: Mapping[str, int], seed: int) -> Shared:
    """Return the most VMs within limits of sums.

    Args:
        rows: the limits.
        index: the class's index.
        most: how many each host takes by itself.
        seed: seed of the search.
    """
    groups = _groups(rows, index, most)
    model = cp_model.CpModel()
    totals = [
        model.new_int_var(0, sum(most[host] for host in hosts), f"t{number}")
        for number, hosts in enumerate(groups)
    ]
    auxiliaries = {name: model.new_int_var(0, high, name) for name, high in rows.auxiliaries.items()}
    for row in rows.rows:
        terms: list[Expr] = [weight * auxiliaries[name] for name, weight in row.auxiliary.items()]
        terms += [
            coefficient * total
            for hosts, total in zip(groups, totals, strict=True)
            if (coefficient := row.coefficient(hosts[0], ("new", index)))
        ]
        if terms and row.high is not None:
            model.add(sum(terms) <= row.high)
        if terms and row.low is not None:
            model.add(sum(terms) >= row.low)
    model.maximize(sum(totals) if totals else 0)
    result = run(model, seed=seed, work=WORK_OF_SUMS)
    whole = sum(most.values())
    if result.value is None:
        if result.bound is None and not totals:
            return Shared({}, 0, {})
        raise InternalError("sums over hosts have no answer with nothing placed")
    counts: dict[str, int] = {}
    for hosts, total in zip(groups, totals, strict=True):
        left = result.solver.value(total)
        for host in hosts:
            counts[host] = min(left, most[host])
            left -= counts[host]
    bound = min(whole, result.bound if result.bound is not None else whole)
    return Shared(counts, bound, _full(rows, index, counts, most))


def _groups(rows: RowSet, index: int, most: Mapping[str, int]) -> list[list[str]]:
    """Put hosts together that take as many and weigh the same in every row."""
    groups: dict[object, list[str]] = {}
    for host, count in most.items():
        if count > 0:
            weights = tuple(row.coefficient(host, ("new", index)) for row in rows.rows)
            groups.setdefault((count, weights), []).append(host)
    return [*groups.values()]


def _full(rows: RowSet, index: int, counts: Mapping[str, int], most: Mapping[str, int]) -> Mapping[str, Row]:
    """Name, for each host that could take more by itself, the row that one more on it would break."""
    found: dict[str, Row] = {}
    known: dict[tuple[int, ...], Row | None] = {}
    for host, count in most.items():
        if counts.get(host, 0) >= count:
            continue
        weights = tuple(row.coefficient(host, ("new", index)) for row in rows.rows)
        if weights not in known:
            more = {**counts, host: counts.get(host, 0) + 1}
            known[weights] = next(
                (
                    row
                    for row, weight in zip(rows.rows, weights, strict=True)
                    if weight and row.high is not None and _least(rows, row, index, more) > row.high
                ),
                None,
            )
        row = known[weights]
        if row is not None:
            found[host] = row
    return found


def _least(rows: RowSet, row: Row, index: int, counts: Mapping[str, int]) -> int:
    """The least value of a row at these counts: overflows are as small as their own rows allow."""
    value = sum(row.coefficient(host, ("new", index)) * count for host, count in counts.items() if count)
    for name, weight in row.auxiliary.items():
        if weight < 0:
            return -1
        value += weight * _overflow(rows, name, index, counts)
    return value


def _overflow(rows: RowSet, name: str, index: int, counts: Mapping[str, int]) -> int:
    """What a pool must take from its parent at these counts."""
    for row in rows.rows:
        if row.auxiliary.get(name) == -1 and row.high is not None:
            need = sum(row.coefficient(host, ("new", index)) * n for host, n in counts.items() if n)
            need += sum(
                _overflow(rows, other, index, counts) for other, weight in row.auxiliary.items() if weight > 0
            )
            return max(0, need - row.high)
    return 0


def evidence_of(row: Row, problem: Problem) -> tuple[str, str]:
    """Return the constraint a row stands for and what to say of it: words for people."""
    kind, _, rest = row.name.partition(":")
    told = rest.partition("#")[0]
    if kind in ("pool", "own"):
        return "pool-memory", f"pool {told}: {row.high} MiB unreserved"
    if kind == "ha-admission":
        what, _, cluster = told.partition(" of ")
        unit = "MHz of CPU" if what == "cpu" else "MiB of memory"
        return "ha-admission", f"cluster {cluster}: {row.high} {unit} may still be reserved"
    what, _, cluster = told.partition(" of ")
    lost = problem.request.options.headroom_hosts
    return "headroom", f"cluster {cluster}: {what}, with {lost} of the largest hosts lost"
