"""A site that can be changed: the state machine behind the objects that clients see."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pyVmomi import vim

from vplacer.lab.model.faults import LabFault
from vplacer.lab.model.machine import Machine
from vplacer.lab.model.tables import Changes
from vplacer.lab.model.tasks import LabTask, TaskPhase
from vplacer.lab.soap.connection_orders import ConnectionOrders
from vplacer.lab.soap.publish import Publisher
from vplacer.lab.soap.store import Store
from vplacer.lab.soap.ticker import Ticker
from vplacer.lab.soap.views.drs_groups import GroupTable
from vplacer.lab.soap.views.events import api_event
from vplacer.lab.soap.views.faults import api_fault
from vplacer.lab.soap.views.folders import Folders
from vplacer.lab.soap.views.tasks import task_info, task_ref
from vplacer.lab.soap.views.world import World
from vplacer.lab.soap.wire.typetable import Ref, Value

TASK_MANAGER = vim.TaskManager("TaskManager")
EVENT_MANAGER = vim.event.EventManager("EventManager")
_RECENT = 50


@dataclass(frozen=True, slots=True)
class Order:
    """Who orders something, and under which id."""

    user: str
    operation: str | None


class Live:
    """Starts what clients order, and keeps what they see up with it.

    The machine's lock is taken before the store's, never the other way round.
    """

    def __init__(
        self, machine: Machine, world: World, folders: Folders, store: Store, ticker: Ticker
    ) -> None:
        self.machine = machine
        self.world = world
        self.folders = folders
        self.ticker = ticker
        self.connection = ConnectionOrders(machine.orders, ticker.speed)
        self._store = store
        self._publisher = Publisher(world, folders, store)
        self._tasks: dict[str, Any] = {}
        self._events: list[Any] = []
        self._groups: dict[str, GroupTable] = {}
        self._own_tasks = 0
        machine.subscribe(self._take)

    # What has happened

    def task_infos(self) -> list[Any]:
        """Return ``TaskInfo`` of all tasks, in the order in which they were started."""
        with self._store.changed:
            return list(self._tasks.values())

    def events(self) -> list[Any]:
        """Return all events, the oldest first."""
        with self._store.changed:
            return list(self._events)

    # What clients order

    def start(self, work: Callable[[], LabTask]) -> Ref:
        """Start a task; return its reference.

        Raises:
            vmodl.MethodFault: the call itself is refused.
        """
        try:
            task = work()
        except LabFault as fault:
            raise api_fault(self.world, fault) from None
        return task_ref(task.id)

    def do(self, work: Callable[[], object]) -> None:
        """Carry out what has no task; errors as `start`."""
        try:
            work()
        except LabFault as fault:
            raise api_fault(self.world, fault) from None

    def start_with_groups(self, work: Callable[[], LabTask], cluster: str, table: GroupTable) -> Ref:
        """Start a cluster's task, with whose success its DRS groups become those of a table."""

        def begin() -> LabTask:
            with self.machine.lock:
                task = work()
                if task.ended:
                    self._settle(task, cluster, table)
                else:
                    self._groups[task.id] = table
                return task

        return self.start(begin)

    def finished(self, kind: str, entity: str, order: Order, outcome: Value | LabFault = None) -> Ref:
        """Make a task of something that is done already: a check, a start of many, a reset."""
        with self.machine.lock, self._store.changed:
            self._own_tasks += 1
            now = self.machine.clock()
            fault = outcome if isinstance(outcome, LabFault) else None
            task = LabTask(
                id=f"task-s{self._own_tasks}",
                kind=kind,
                entity=entity,
                entity_name=self._name(entity),
                user=order.user,
                operation=order.operation,
                queued_at=now,
                started_at=now,
                ended_at=now,
                phase=TaskPhase.SUCCESS if fault is None else TaskPhase.ERROR,
                fault=fault,
            )
            self._show(task, None if fault is not None else outcome)
        return task_ref(task.id)

    def log_event(self, user: str, entity: str, message: str) -> None:
        """Write a user's event; errors as `start`."""
        self.do(lambda: self.machine.log_event(entity, message, user))

    def _name(self, entity: str) -> str:
        found = self.world.vms.get(entity) or self.world.clusters.get(entity) or self.world.hosts.get(entity)
        return entity if found is None else found.name

    # What happens

    def _take(self, changes: Changes) -> None:
        self.ticker.poke()
        with self._store.changed:
            self._publisher.publish(changes, self.machine.tables)
            for task_id in sorted(changes.tasks, key=lambda id_: (len(id_), id_)):
                task = self.machine.task(task_id)
                if task is not None:
                    self._show(task)
                    self._follow(task)
            if changes.events:
                new = self.machine.events[-changes.events :]
                self._events.extend(api_event(self.world, event) for event in new)
                self._store.put(EVENT_MANAGER, "latestEvent", self._events[-1])

    def _follow(self, task: LabTask) -> None:
        table = self._groups.pop(task.id, None) if task.ended else None
        if table is not None:
            self._settle(task, task.entity, table)

    def _settle(self, task: LabTask, cluster: str, table: GroupTable) -> None:
        if task.phase is TaskPhase.SUCCESS:
            self.world.group_tables[cluster] = table
            self._publisher.refresh_cluster(cluster)

    def _show(self, task: LabTask, result: Value = None) -> None:
        info = task_info(self.world, task, result)
        known = task.id in self._tasks
        self._tasks[task.id] = info
        ref = task_ref(task.id)
        if known:
            self._store.put(ref, "info", info)
            return
        self._store.add(ref, {"info": info}, silent=True)
        self._append(TASK_MANAGER, ref)
        entity = self.world.ref(task.entity)
        if entity is not None and self._store.find(entity) is not None:
            self._append(entity, ref)

    def _append(self, holder: Ref, task: Ref) -> None:
        recent = self._store.require(holder).get("recentTask") or []
        self._store.put(holder, "recentTask", [*recent, task][-_RECENT:])
