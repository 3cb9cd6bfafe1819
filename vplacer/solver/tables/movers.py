"""Running VMs that may move, counted by kind: what an instance looks like that lets them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from vplacer.constraints.checks.pool_memory import vm_holds
from vplacer.constraints.migration import can_move_live
from vplacer.constraints.state import Placement, Problem
from vplacer.inventory.vm import Vm
from vplacer.request.demand import Demand
from vplacer.solver.classes import DemandClass
from vplacer.solver.host_model import HostTask
from vplacer.solver.host_state import ActiveVm, HostState, build_host_state, untouched_state
from vplacer.solver.instance import Instance, host_task
from vplacer.solver.levels import COLD_MOVE, LIVE_MOVE, POWER_CYCLE
from vplacer.solver.lister import Lister
from vplacer.solver.rows import RowSet, gangs, ha, headroom, limits, merge, placement, pools, together
from vplacer.solver.rows.openings import Openings


@dataclass(frozen=True, slots=True)
class Mover:
    """A running VM that may move: its demand, its kind (an index of the classes), what it takes where it is.

    ``cold``: it is switched off for it. ``active.class_index`` is a number of its own.
    """

    demand: str
    kind: int
    active: ActiveVm
    cold: bool

    @property
    def cost(self) -> int:
        """What moving it costs at level "moves"."""
        return POWER_CYCLE + COLD_MOVE if self.cold else LIVE_MOVE


@dataclass(frozen=True)
class MovingHost:
    """A host: as it is with nothing moved, and without the VMs that may move.

    ``bare`` None: it has none.
    """

    still: HostTask
    bare: HostTask | None
    movers: tuple[Mover, ...]


@dataclass(frozen=True)
class MovingSite:
    """All hosts. ``instance``: with a class for each kind of mover after those of new VMs; its tasks are the
    hosts as they are. ``kinds``: indices of these classes. ``each``: a class for each mover, in the order of
    their numbers, which go on where the instance's classes end."""

    instance: Instance
    hosts: tuple[MovingHost, ...]
    kinds: tuple[int, ...]
    each: tuple[DemandClass, ...]


def moving_site(
    problem: Problem,
    held: Instance,
    today: Mapping[str, Placement],
    kinds: Sequence[Sequence[Demand]],
    hosts: Collection[str],
    spent: Mapping[str, int],
) -> MovingSite | None:
    """Return the site with what may move; None where rules or sums over hosts say of a mover where it may be.

    Args:
        problem: the problem.
        held: the instance of some hosts with nothing moved.
        today: placements of today.
        kinds: of movers, those of all hosts: the same for every part of them.
        hosts: the hosts, by moid, among which VMs move.
        spent: what other moves take of each row of limits.
    """
    classes = list(held.classes)
    kind_of: dict[str, int] = {}
    vms = problem.inventory.vm_by_moid
    for members in kinds:
        lead = members[0]
        index = len(classes)
        here = tuple(d.id for d in members if vms[d.vm or ""].host in hosts)
        classes.append(DemandClass(index, here, lead, vms[lead.vm or ""]))
        kind_of |= dict.fromkeys(here, index)
    lister = Lister(problem, tuple(replace(cls, vm=None) for cls in classes))
    each_host, complete = _hosts(problem, held, lister, kind_of, len(classes), hosts)
    tasks = tuple(host.still for host in each_host)
    rows = _rows(problem, tuple(classes), len(held.classes), each_host, spent)
    if rows is None:
        return None
    instance = replace(
        held,
        classes=tuple(replace(cls, vm=None) for cls in classes),
        tasks=tasks,
        rows=rows,
        rejections=lister.rejections(),
        complete=held.complete and complete,
    )
    each = []
    for mover in (mover for host in each_host for mover in host.movers):
        demand = problem.demand_by_id[mover.demand]
        number = mover.active.class_index
        each.append(DemandClass(number, (demand.id,), demand, mover.active.vm, today[demand.id]))
    return MovingSite(instance, each_host, tuple(range(len(held.classes), len(classes))), tuple(each))


def mover_kinds(problem: Problem, movable: Collection[str]) -> list[list[Demand]]:
    """Group the demands of those VMs that run and may move: those that ask for and give back the same."""
    found: dict[object, list[Demand]] = defaultdict(list)
    for demand in problem.request.demands:
        vm = problem.inventory.vm_by_moid.get(demand.vm or "")
        if demand.id not in movable or vm is None or not vm.is_on or vm.host not in problem.topologies:
            continue
        plain = replace(demand, id="", name="", source=None, vm=None)
        given = (vm.pool, vm_holds(vm), vm.cpu_reservation_mhz, vm.memory_reservation_mib)
        found[plain, given, _cold(problem, vm)].append(demand)
    return [sorted(group, key=lambda d: d.id) for group in found.values()]


def _cold(problem: Problem, vm: Vm) -> bool:
    """Whether a VM is surely stopped if it moves to other nodes or with other cards."""
    host = problem.inventory.host_by_moid.get(vm.host or "")
    return not can_move_live(vm, host) or bool(vm.node_affinity)


def _hosts(
    problem: Problem,
    held: Instance,
    lister: Lister,
    kind_of: Mapping[str, int],
    first: int,
    wanted: Collection[str],
) -> tuple[tuple[MovingHost, ...], bool]:
    """Make the tasks of every host wanted; numbers of movers begin with ``first``."""
    by_vm = {problem.demand_by_id[demand].vm: demand for demand in kind_of}
    known = {task.state.host.moid: task for task in held.tasks}
    hosts: list[MovingHost] = []
    complete = True
    number = first
    for host in problem.inventory.hosts:
        if host.moid not in problem.topologies or host.moid not in wanted:
            continue
        here = [vm for vm in problem.inventory.vms_by_host.get(host.moid, ()) if not vm.template]
        moving = [vm for vm in here if vm.moid in by_vm]
        standing = tuple(vm for vm in here if vm.moid not in by_vm)
        task = known.get(host.moid)
        still, whole = _task(held, untouched_state(problem, host.moid), lister, task, standing)
        complete = complete and whole
        if not moving:
            hosts.append(MovingHost(still, None, ()))
            continue
        numbered = tuple((number + n, vm) for n, vm in enumerate(moving))
        number += len(moving)
        state = build_host_state(problem, host, standing, numbered)
        bare, whole = _task(held, state, lister, task, standing)
        complete = complete and whole
        movers = []
        for active in state.actives:
            demand = by_vm[active.vm.moid]
            movers.append(Mover(demand, kind_of[demand], active, _cold(problem, active.vm)))
        hosts.append(MovingHost(still, bare, tuple(movers)))
    return tuple(hosts), complete


def _task(
    held: Instance, state: HostState, lister: Lister, known: HostTask | None, standing: tuple[Vm, ...]
) -> tuple[HostTask, bool]:
    """A host with the options of all classes, and what rules say of it: movers are in none."""
    options, whole = lister.on(state)
    if known is None:
        known = host_task(held.problem, held.classes, replace(state, actives=()), options, standing)
    return replace(known, state=state, options=options), whole


def _rows(
    problem: Problem,
    classes: tuple[DemandClass, ...],
    new: int,
    hosts: tuple[MovingHost, ...],
    spent: Mapping[str, int],
) -> RowSet | None:
    """What couples hosts, of new VMs; None if some of it is about movers."""
    tasks = [host.still for host in hosts]
    tasks += [host.bare for host in hosts if host.bare is not None]
    open_to: dict[str, frozenset[int]] = {}
    shared: dict[int, frozenset[int]] = {}
    for task in tasks:
        if id(task.options) not in shared:
            shared[id(task.options)] = frozenset(task.options)
        moid = task.state.host.moid
        open_to[moid] = open_to.get(moid, frozenset()) | shared[id(task.options)]
    room = {task.state.host.moid: task.state.total_room for task in tasks}
    openings = Openings(tuple(host.still.state.host.moid for host in hosts), open_to, room)
    rules = problem.request.rules
    coupling = merge(
        [
            together.build(rules.together, classes),
            gangs.build(rules.gangs, classes, openings),
            pools.build(problem, classes, openings),
            ha.build(problem, classes, openings),
            headroom.build(problem, classes, openings),
        ]
    )
    for row in coupling.rows:
        keys = [*row.everywhere, *(key for _, key in row.at)]
        if any(kind in ("seats", "new") and int(name) >= new for kind, name in keys):
            return None
    left = [
        replace(row, high=None if row.high is None else row.high - spent.get(row.name, 0))
        for row in limits.build(problem, classes).rows
    ]
    return merge([placement.build(classes[:new]), coupling, RowSet(tuple(left))])
