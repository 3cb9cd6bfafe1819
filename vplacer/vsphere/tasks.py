"""Tasks at the server: how they end, and finding those whose ids were lost with a connection.

They are polled with RetrievePropertiesEx: a poll leaves nothing at the server that could be lost with the
session, and one call asks for all tasks that are waited for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Final

from vplacer.errors import ConnectionFailed, PermissionMissing, VSphereFault
from vplacer.port import SeenTask, Task, TaskResult, TaskState
from vplacer.vsphere import faults
from vplacer.vsphere.data_objects import make
from vplacer.vsphere.existing import read_existing
from vplacer.vsphere.raw import Data, MoRef, Value, data_items
from vplacer.vsphere.retrieve import SessionReader
from vplacer.vsphere.session import Session

RECONFIGURE: Final = "VirtualMachine.reconfigure"
POWER_ON: Final = "VirtualMachine.powerOn"
POWER_OFF: Final = "VirtualMachine.powerOff"
CLONE: Final = "VirtualMachine.clone"
DESTROY: Final = "VirtualMachine.destroy"
RELOCATE: Final = "VirtualMachine.relocate"
UPGRADE: Final = "VirtualMachine.upgradeVirtualHardware"
EDIT_CLUSTER: Final = "ComputeResource.reconfigureEx"
CHECK: Final = "VirtualMachine.check"

_WORDS: Final = {
    "reconfigvm": RECONFIGURE,
    "poweronvm": POWER_ON,
    "poweron": POWER_ON,
    "poweroffvm": POWER_OFF,
    "poweroff": POWER_OFF,
    "clonevm": CLONE,
    "clone": CLONE,
    "destroy": DESTROY,
    "relocatevm": RELOCATE,
    "upgradevm": UPGRADE,
    "reconfigurecomputeresource": EDIT_CLUSTER,
}
"""descriptionId as vCenter writes it, by the method's name in small letters. A server that makes its
descriptions from the names of methods (vcsim) is understood too."""

_PATHS: Final = ("info.state", "info.error", "info.result")
_FIRST_INTERVAL_S: Final = 0.1
_LONGEST_INTERVAL_S: Final = 1.0
_GROWTH: Final = 1.5
_UNREACHABLE_S: Final = 60.0
_PAGE: Final = 100


class Tasks:
    """The tasks of one session.

    Args:
        session: the session; one that ends is renewed.
        reader: reads through the same session.
        sleep: waits some seconds.
        seconds: a monotonic clock.
    """

    def __init__(
        self,
        session: Session,
        reader: SessionReader,
        *,
        sleep: Callable[[float], None],
        seconds: Callable[[], float],
    ) -> None:
        self._session = session
        self._reader = reader
        self._sleep = sleep
        self._seconds = seconds
        self._done: dict[str, TaskResult] = {}

    def done(self, what: str, moid: str) -> Task:
        """Return a task that has succeeded already: the server found nothing to do."""
        task = Task(f"nothing to do {len(self._done) + 1}", what, moid)
        self._done[task.id] = TaskResult(task, TaskState.SUCCESS)
        return task

    def wait(self, tasks: Iterable[Task], timeout_s: float) -> tuple[TaskResult, ...]:
        """Wait until at least one task ends, and return those that did; empty = the time is up.

        Raises:
            ConnectionFailed: the server could not be reached for a minute.
            VSphereError: any other failure.
        """
        pending = list(tasks)
        deadline = self._seconds() + timeout_s
        interval = _FIRST_INTERVAL_S
        unreachable_since: float | None = None
        while pending:
            try:
                ended = self._ended(pending)
                unreachable_since = None
            except ConnectionFailed:
                now = self._seconds()
                unreachable_since = now if unreachable_since is None else unreachable_since
                if now >= min(deadline, unreachable_since + _UNREACHABLE_S):
                    raise
                ended = ()
            left = deadline - self._seconds()
            if ended or left <= 0:
                return ended
            self._sleep(min(interval, left))
            interval = min(interval * _GROWTH, _LONGEST_INTERVAL_S)
        return ()

    def value_of(self, task: Task) -> Value:
        """Return what a task that succeeded gave back, as the server sent it."""
        answer = read_existing(self._reader, [_ref(task)], ["info.result"])
        return answer[0].props.get("info.result") if answer else None

    def since(self, ref: MoRef, since: datetime) -> tuple[SeenTask, ...]:
        """Return the tasks of an object queued since a time, the oldest first.

        The server's task history is asked; where it has none for this account, its list of recent tasks.
        """
        try:
            infos = self._session.run(lambda: self._history(ref, since))
        except (PermissionMissing, VSphereFault):
            infos = self._recent()
        seen = [
            found
            for info in infos
            if info.ref("entity") == ref and (found := _seen(info)) is not None and found.queued_at >= since
        ]
        return tuple(sorted(seen, key=lambda item: (item.queued_at, item.task.id)))

    def _ended(self, pending: Sequence[Task]) -> tuple[TaskResult, ...]:
        known = [self._done[task.id] for task in pending if task.id in self._done]
        asked = [task for task in pending if task.id not in self._done]
        found = {raw.ref: raw.props for raw in read_existing(self._reader, list(map(_ref, asked)), _PATHS)}
        ended = list(known)
        for task in asked:
            props = found.get(_ref(task))
            if props is None:
                ended.append(TaskResult(task, TaskState.UNKNOWN))
                continue
            state = props.text("info.state")
            result = _result(task, state, props.data("info.error"), props.get("info.result"))
            if result is not None:
                ended.append(result)
        return tuple(ended)

    def _history(self, ref: MoRef, since: datetime) -> list[Data]:
        session = self._session
        manager = session.service("taskManager")
        if manager is None:
            return []
        spec = make(
            "TaskFilterSpec",
            entity=make("TaskFilterSpecByEntity", entity=ref, recursion="self"),
            time=make("TaskFilterSpecByTime", timeType="queuedTime", beginTime=since),
        )
        what = "cannot read the tasks of an object"
        collector = session.call_once(
            manager, "CreateCollectorForTasks", {"filter": spec}, what=what, obj=ref.moid
        )
        found: list[Data] = []
        try:
            while True:
                page = data_items(
                    session.call_once(
                        collector, "ReadNextTasks", {"maxCount": _PAGE}, what=what, obj=ref.moid
                    )
                )
                found.extend(page)
                if len(page) < _PAGE:
                    return found
        finally:
            session.drop(collector, "DestroyCollector")

    def _recent(self) -> list[Data]:
        manager = self._session.service("taskManager")
        if manager is None:
            return []
        answer = self._reader.properties([manager], ["recentTask"])
        refs = [ref for raw in answer.objects for ref in raw.props.refs("recentTask")]
        infos = [raw.props.data("info") for raw in read_existing(self._reader, refs, ["info"])]
        return [info for info in infos if info is not None]


def _ref(task: Task) -> MoRef:
    return MoRef("Task", task.id)


def _result(task: Task, state: str | None, error: Data | None, value: Value) -> TaskResult | None:
    """Return how a task ended; None = it has not."""
    if state == "success":
        return TaskResult(task, TaskState.SUCCESS, result=value.moid if isinstance(value, MoRef) else None)
    if state != "error":
        return None
    if error is None:
        return TaskResult(task, TaskState.ERROR, "MethodFault", "the server gives no reason")
    fault = faults.inner_fault(error)
    name = faults.wire_name(fault)
    if task.what == UPGRADE and name == "AlreadyUpgraded":
        return TaskResult(task, TaskState.SUCCESS)
    return TaskResult(task, TaskState.ERROR, name, faults.quoted(error))


def _seen(info: Data) -> SeenTask | None:
    ref, entity = info.ref("task"), info.ref("entity")
    queued = server_datetime(info.get("queueTime"))
    moid = ref.moid if ref is not None else info.text("key")
    if moid is None or entity is None or queued is None:
        return None
    task = Task(moid, what_of(info), entity.moid)
    reason = info.data("reason")
    user = reason.text("userName") if reason is not None and reason.is_a("TaskReasonUser") else None
    result = _result(task, info.text("state"), info.data("error"), info.get("result"))
    return SeenTask(task, user, queued, result)


def what_of(info: Data) -> str:
    """Return what a task does, in the words of vCenter's descriptionId."""
    described = info.text("descriptionId") or ""
    for text in (info.text("name") or "", described.rpartition(".")[2]):
        word = _WORDS.get(text.lower().removesuffix("_task"))
        if word is not None:
            return word
    return described


def server_datetime(value: Value) -> datetime | None:
    """Return a time that the server sent, with its zone; None for anything else."""
    try:
        found = datetime.fromisoformat(value)
    except (TypeError, ValueError):
        return None
    return found if found.tzinfo is not None else None
