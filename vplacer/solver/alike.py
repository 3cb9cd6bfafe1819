"""What trials have found out, kept by what they depend on: hosts and demands that are alike share it.

A site of thousands of hosts has few kinds of host, and few states that a kind is left in.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field, replace

from vplacer.constraints.labels import scope_of
from vplacer.constraints.registry import Filter
from vplacer.request.demand import Demand
from vplacer.solver.host_state import HostState
from vplacer.solver.instance import Rejection
from vplacer.solver.numbers import Numbers
from vplacer.solver.option import Option


class WorkDone(Exception):
    """The work allowed for trials is used up."""


@dataclass
class Memo:
    """Answers by the number of a demand and the number of a state.

    ``emptied``: hosts, by moid, without one of their VMs. ``against``: the one filter that rejects a host
    for a demand, None where several do. ``work``: trials of a VM on a host that may still be made; None =
    any number.
    """

    work: int | None = None
    seated: dict[tuple[int, int], Option | Rejection] = field(default_factory=dict)
    emptied: dict[tuple[str, str | None], HostState] = field(default_factory=dict)
    against: dict[Hashable, Filter | None] = field(default_factory=dict)
    _demands: Numbers = field(default_factory=Numbers)
    _cells: Numbers = field(default_factory=Numbers)
    _states: Numbers = field(default_factory=Numbers)

    def spend(self, amount: int = 1) -> None:
        """Take some of the work.

        Raises:
            WorkDone: less than that is left.
        """
        if self.work is not None:
            if amount > self.work:
                self.work = 0
                raise WorkDone
            self.work -= amount

    def demand(self, demand: Demand) -> int:
        """Number a demand; those that differ in their name alone are one."""
        return self._demands.of(demand, lambda: _nameless(demand))

    def state(self, state: HostState) -> int:
        """Number the state of a host."""
        return self._states.of(state, lambda: self._left(state))

    def _left(self, state: HostState) -> Hashable:
        host = state.host
        return (
            scope_of(host),
            host.version,
            host.cpu_hz,
            host.core_count,
            host.thread_count,
            host.hyperthreading_active,
            host.numa_nodes,
            host.vgpu_profiles,
            host.vgpu_types,
            host.device_groups,
            id(state.topology),
            state.supply.nodes,
            state.supply.total,
            state.room,
            state.items,
            state.divisible,
            state.total_room,
            self._cells.of(state.cells, lambda: state.cells),
            state.scarce,
            state.vgpu_held,
        )


def _nameless(demand: Demand) -> Hashable:
    return replace(demand, id="", name="", source=None)
