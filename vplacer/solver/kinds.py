"""Hosts that are alike are one kind: the master counts how many of a kind take which column."""

from __future__ import annotations

from dataclasses import dataclass

from vplacer.solver.host_model import HostTask
from vplacer.solver.instance import Instance


@dataclass(frozen=True)
class HostKind:
    """Interchangeable hosts: positions of their tasks in the instance, and one of the tasks."""

    index: int
    positions: tuple[int, ...]
    task: HostTask

    @property
    def count(self) -> int:
        """How many hosts."""
        return len(self.positions)


def build_kinds(instance: Instance) -> tuple[HostKind, ...]:
    """Group the tasks of an instance, in the order of their first host."""
    ordinals: dict[int, int] = {}
    groups: dict[object, list[int]] = {}
    special = _hosts_in_rows(instance)
    for position, task in enumerate(instance.tasks):
        key = _signature(task, ordinals, special, instance.problem.request.options.hosts_goal)
        groups.setdefault(key, []).append(position)
    return tuple(
        HostKind(index, tuple(positions), instance.tasks[positions[0]])
        for index, positions in enumerate(groups.values())
    )


def _hosts_in_rows(instance: Instance) -> dict[str, tuple[object, ...]]:
    """What rows say of single hosts, in an order of their own."""
    found: dict[str, list[object]] = {}
    for row in instance.rows.rows:
        for (host, key), weight in row.at.items():
            found.setdefault(host, []).append((row.name, key, weight))
    return {host: tuple(sorted(items, key=str)) for host, items in found.items()}


def _signature(
    task: HostTask, ordinals: dict[int, int], special: dict[str, tuple[object, ...]], goal: str
) -> object:
    state = task.state
    host = state.host
    topology = ordinals.setdefault(id(state.topology), len(ordinals))
    return (
        host.moid if state.actives else None,
        topology,
        host.cluster,
        host.cpu_hz,
        host.core_count,
        host.thread_count,
        host.hyperthreading_active,
        host.vgpu_profiles,
        host.vgpu_types,
        state.supply.nodes,
        state.room,
        state.items,
        state.divisible,
        state.total_room,
        state.cells,
        state.scarce,
        state.vgpu_held,
        state.held_beside,
        state.overfull,
        state.standing_count if goal == "spread" else bool(state.standing_count),
        tuple(sorted(task.options.items())),
        task.limits,
        task.wishes,
        special.get(host.moid, ()),
    )
