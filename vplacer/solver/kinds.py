"""Hosts that are alike are one kind: the master counts how many of a kind take which column."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from vplacer.constraints.host_families import family_of
from vplacer.constraints.supply import overcommit_of
from vplacer.solver.cells import structure_of
from vplacer.solver.future.alike import what_counts
from vplacer.solver.host_model import HostTask
from vplacer.solver.instance import Instance
from vplacer.solver.numbers import Numbers


@dataclass(frozen=True)
class HostKind:
    """Interchangeable hosts: positions of their tasks in the instance, and one of the tasks.

    Which of equal cards they are left with may differ.
    """

    index: int
    positions: tuple[int, ...]
    task: HostTask

    @property
    def count(self) -> int:
        """How many hosts."""
        return len(self.positions)


def build_kinds(instance: Instance) -> tuple[HostKind, ...]:
    """Group the tasks of an instance, in the order of their first host."""
    groups: dict[Hashable, list[int]] = {}
    signatures = _Signatures(instance)
    for position, task in enumerate(instance.tasks):
        groups.setdefault(signatures.of(task), []).append(position)
    return tuple(
        HostKind(index, tuple(positions), instance.tasks[positions[0]])
        for index, positions in enumerate(groups.values())
    )


class _Signatures:
    """What hosts of one kind have in common. What many hosts share is numbered once."""

    def __init__(self, instance: Instance) -> None:
        self.problem = instance.problem
        self._in_rows = _hosts_in_rows(instance)
        self._options = Numbers()
        self._cells = Numbers()

    def of(self, task: HostTask) -> Hashable:
        """Return the signature of a task."""
        state = task.state
        host = state.host
        options = self.problem.request.options
        goal = options.hosts_goal
        return (
            host.moid if state.actives else None,
            family_of(self.problem, host.moid),
            # Of a cluster, what options and rows do not say.
            overcommit_of(options, host.cluster),
            state.supply.nodes,
            state.room,
            state.items,
            state.divisible,
            state.total_room,
            self._cells.of(state.cells, lambda: structure_of(state.cells, state.topology)),
            state.scarce,
            state.vgpu_held,
            state.held_beside,
            state.overfull,
            state.standing_count if goal == "spread" else bool(state.standing_count),
            # Equal lists of options are one object.
            self._options.of(
                task.options, lambda: tuple((index, id(listed)) for index, listed in task.options.items())
            ),
            task.limits,
            task.wishes,
            what_counts(task.mix, state) if task.mix is not None else None,
            self._in_rows.get(host.moid, ()),
        )


def _hosts_in_rows(instance: Instance) -> dict[str, Hashable]:
    """What rows say of single hosts, in an order of their own."""
    found: dict[str, list[object]] = {}
    for row in instance.rows.rows:
        for (host, key), weight in row.at.items():
            found.setdefault(host, []).append((row.name, key, weight))
    return {host: tuple(sorted(items, key=str)) for host, items in found.items()}
