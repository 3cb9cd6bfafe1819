"""Hosts as they are once some of their running VMs have moved away, and others have come."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from vplacer.constraints.state import Placement
from vplacer.inventory.vm import Vm
from vplacer.solver.host_model import HostTask
from vplacer.solver.host_state import HostState, build_host_state
from vplacer.solver.instance import Instance, host_task
from vplacer.solver.lister import Lister
from vplacer.solver.residual import residual_state


def tasks_after(
    held: Instance, hosts: Sequence[str], moved: Mapping[str, Placement]
) -> tuple[tuple[HostTask, ...], bool]:
    """Return the tasks of some hosts after moves, and whether all options are listed.

    Args:
        held: the instance with nothing moved.
        hosts: moids of the hosts.
        moved: new placements of running VMs, by demand.
    """
    problem = held.problem
    known = {task.state.host.moid: task for task in held.tasks}
    gone: dict[str, set[str]] = defaultdict(set)
    come: dict[str, list[Placement]] = defaultdict(list)
    for demand, placement in sorted(moved.items()):
        vm = problem.inventory.vm_by_moid[problem.demand_by_id[demand].vm or ""]
        gone[vm.host or ""].add(vm.moid)
        come[placement.host].append(placement)
    lister = Lister(problem, held.classes)
    found: list[HostTask] = []
    complete = True
    for moid in hosts:
        task = known.get(moid)
        if moid in gone or moid in come:
            here = problem.inventory.vms_by_host.get(moid, ())
            standing = tuple(vm for vm in here if not vm.template and vm.moid not in gone[moid])
            state = _after(held, moid, standing, come[moid])
            options, whole = lister.on(state)
            complete = complete and whole
            task = host_task(problem, held.classes, state, options, standing)
        if task is not None and task.options:
            found.append(task)
    return tuple(found), complete


def _after(held: Instance, moid: str, standing: tuple[Vm, ...], come: Sequence[Placement]) -> HostState:
    emptied = build_host_state(held.problem, held.problem.inventory.host_by_moid[moid], standing, ())
    return residual_state(held, emptied, tuple(come)) if come else emptied
