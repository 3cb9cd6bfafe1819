"""Tasks over a virtual clock: started, due, ended; the log; who is told of changes."""

from __future__ import annotations

import heapq
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Final, TypeAlias

from vplacer.inventory.overlay import Overlay
from vplacer.inventory.vm import Vm
from vplacer.lab.model.clock import VirtualClock
from vplacer.lab.model.faults import LabFault, not_found, task_in_progress
from vplacer.lab.model.orders import Call, Orders
from vplacer.lab.model.state import LabState
from vplacer.lab.model.tables import Changes, Tables
from vplacer.lab.model.tasks import Durations, LabEvent, LabTask, TaskKind, TaskPhase

_DISABLED: Final = {
    TaskKind.RECONFIGURE: "ReconfigVM_Task",
    TaskKind.POWER_ON: "PowerOnVM_Task",
    TaskKind.POWER_OFF: "PowerOffVM_Task",
    TaskKind.SUSPEND: "SuspendVM_Task",
    TaskKind.CLONE: "CloneVM_Task",
    TaskKind.DESTROY: "Destroy_Task",
    TaskKind.RELOCATE: "RelocateVM_Task",
    TaskKind.UPGRADE: "UpgradeVM_Task",
}
"""Methods that can be disabled at a VM (vSphere API: ManagedEntity.disabledMethod)."""

_SHARED: Final = frozenset({TaskKind.CLONE, TaskKind.EDIT_CLUSTER})
"""Kinds that do not keep others off the object: a template is cloned many times at once."""

Work: TypeAlias = Callable[[], str | None]


@dataclass(order=True)
class _Due:
    at: datetime
    number: int
    action: Callable[[], None] = field(compare=False)


@dataclass(frozen=True, slots=True)
class Start:
    """A task to be started. ``seconds``: how long it takes, None = as its kind does."""

    kind: TaskKind
    call: Call
    entity: str
    user: str
    operation: str | None
    work: Work
    seconds: float | None = None


class Engine:
    """What all operations of `Machine` share."""

    def __init__(
        self,
        state: LabState,
        overlays: Iterable[Overlay],
        clock: VirtualClock | None,
        durations: Durations,
        orders: Orders | None,
    ) -> None:
        self.lock = threading.RLock()
        self.clock = clock or VirtualClock.at(state.inventory.taken_at)
        self.durations = durations
        self.orders = orders or Orders()
        self.tables = Tables(state, overlays)
        self._tasks: dict[str, LabTask] = {}
        self._works: dict[str, Work] = {}
        self._busy: dict[str, str] = {}
        self._due: list[_Due] = []
        self._numbers = count(1)
        self._events: list[LabEvent] = []
        self._listeners: list[Callable[[Changes], None]] = []
        self._last_version = datetime.min.replace(tzinfo=UTC)

    # Reading

    @property
    def state(self) -> LabState:
        """Everything there is now, as an immutable value."""
        with self.lock:
            return self.tables.state

    @property
    def events(self) -> tuple[LabEvent, ...]:
        """The log, the oldest first."""
        with self.lock:
            return tuple(self._events)

    def task(self, id_: str) -> LabTask | None:
        """Return a task as it is now; None = there never was one."""
        with self.lock:
            return self._tasks.get(id_)

    def tasks(self, entity: str | None = None, since: datetime | None = None) -> tuple[LabTask, ...]:
        """Return tasks in the order in which they were started, of one object and since a time if given."""
        with self.lock:
            return tuple(
                task
                for task in self._tasks.values()
                if (entity is None or task.entity == entity) and (since is None or task.queued_at >= since)
            )

    def subscribe(self, listener: Callable[[Changes], None]) -> None:
        """Tell a listener of all that changes from now on.

        It is called with the lock held, in the thread that made the change; it must not wait for
        another thread.
        """
        with self.lock:
            self._listeners.append(listener)

    # Time

    def next_due(self) -> datetime | None:
        """Return when the next task ends or guest is down; None = nothing is under way."""
        with self.lock:
            return self._due[0].at if self._due else None

    def advance(self, seconds: float) -> None:
        """Let time pass, and what is due in it happen in order."""
        with self.lock:
            self.run_until(self.clock() + timedelta(seconds=seconds))

    def run_until(self, when: datetime) -> None:
        """Let time pass until a moment."""
        with self.lock:
            while self._due and self._due[0].at <= when:
                due = heapq.heappop(self._due)
                self.clock.move_to(due.at)
                due.action()
                self._tell()
            self.clock.move_to(when)

    def run_out(self) -> None:
        """Let time pass until nothing is under way."""
        with self.lock:
            while (when := self.next_due()) is not None:
                self.run_until(when)

    def release(self, task: str) -> None:
        """Let a task go on that an order holds up for ever."""
        with self.lock:
            found = self._tasks.get(task)
            if found is not None and not found.ended and found.ends_at is None:
                now = self.clock()
                self._put_task(replace(found, ends_at=now))
                self._schedule(now, lambda: self._finish(task))
                self._tell()

    def _schedule(self, at: datetime, action: Callable[[], None]) -> None:
        heapq.heappush(self._due, _Due(at, next(self._numbers), action))

    # Tasks

    def _start(self, start: Start) -> LabTask:
        """Start a task. It is carried out when it is due; one that finds its VM busy fails at once."""
        with self.lock:
            vm = start.entity if start.entity in self.tables.vms else None
            self._before(start.call, vm)
            fault = self.orders.refusal(start.call, vm)
            if fault is not None:
                raise fault
            name = self._entity_name(start.entity)
            self._enabled(start)
            now = self.clock()
            task = LabTask(
                id=f"task-{len(self._tasks) + 1}",
                kind=start.kind.value,
                entity=start.entity,
                entity_name=name,
                user=start.user,
                operation=start.operation,
                queued_at=now,
            )
            self._put_task(task)
            other = self._busy.get(start.entity)
            if other is not None and start.kind not in _SHARED:
                self._end(task, None, task_in_progress(other))
            else:
                self._run(task, start)
            self._tell()
            return self._tasks[task.id]

    def _run(self, task: LabTask, start: Start) -> None:
        if start.kind not in _SHARED:
            self._busy[start.entity] = task.id
        vm = start.entity if start.entity in self.tables.vms else None
        failure = self.orders.failure(start.call, vm)
        stall = self.orders.stall(start.call, vm)
        self._works[task.id] = start.work if failure is None else _failing(failure)
        now = self.clock()
        seconds = self.durations.of(start.kind) if start.seconds is None else start.seconds
        ends: datetime | None = now + timedelta(seconds=seconds)
        if stall is not None:
            ends = None if stall.seconds is None else now + timedelta(seconds=seconds + stall.seconds)
        self._put_task(replace(task, phase=TaskPhase.RUNNING, started_at=now, ends_at=ends))
        if ends is not None:
            self._schedule(ends, lambda: self._finish(task.id))

    def _finish(self, id_: str) -> None:
        work = self._works.pop(id_)
        try:
            result = work()
        except LabFault as fault:
            self._end(self._tasks[id_], None, fault)
        else:
            self._end(self._tasks[id_], result, None)

    def _end(self, task: LabTask, result: str | None, fault: LabFault | None) -> None:
        now = self.clock()
        if self._busy.get(task.entity) == task.id:
            del self._busy[task.entity]
        ended = replace(
            task,
            phase=TaskPhase.SUCCESS if fault is None else TaskPhase.ERROR,
            started_at=task.started_at or now,
            ended_at=now,
            result=result,
            fault=fault,
        )
        self._put_task(ended)
        word = "done" if fault is None else f"failed: {fault.message}"
        self._log("TaskEvent", task.user, task.entity, f"{task.kind} of {task.entity_name}: {word}")

    def _put_task(self, task: LabTask) -> None:
        self._tasks[task.id] = task
        self.tables.touch_task(task.id)

    def _enabled(self, start: Start) -> None:
        vm = self.tables.vms.get(start.entity)
        if vm is None:
            return
        method = _DISABLED.get(start.kind)
        if method is not None and method in vm.ownership.disabled_methods:
            text = f"The method is disabled by '{vm.ownership.managed_by or 'an extension'}'."
            raise LabFault("MethodDisabled", text, source=vm.ownership.managed_by)

    def _before(self, call: Call, vm: str | None) -> None:
        """Let happen what orders want to happen before a call is carried out."""
        raise NotImplementedError

    def _entity_name(self, moid: str) -> str:
        tables = self.tables
        found = tables.vms.get(moid) or tables.hosts.get(moid) or tables.clusters.get(moid)
        if found is None:
            raise not_found(moid)
        return found.name

    # Telling

    def _log(self, kind: str, user: str | None, entity: str, message: str) -> None:
        self._events.append(LabEvent(len(self._events) + 1, self.clock(), kind, user, entity, message))
        self.tables.touch_events()

    def _tell(self) -> None:
        changes = self.tables.take_changes()
        if changes:
            for listener in self._listeners:
                listener(changes)

    # Change versions

    def _next_version(self) -> str:
        """Return a change version that no VM has had: the time, and a little more where it stands still."""
        now = self.clock()
        self._last_version = max(now, self._last_version + timedelta(microseconds=1))
        return self._last_version.strftime("%Y-%m-%dT%H:%M:%S.%fZ")

    def _move_version(self, moid: str) -> Vm:
        vm = self.tables.vm(moid)
        version = self._next_version()
        while version == vm.change_version:
            version = self._next_version()
        after = replace(vm, change_version=version)
        self.tables.put_vm(after)
        return after


def _failing(fault: LabFault) -> Work:
    def work() -> str | None:
        raise fault

    return work
