"""Tasks and events of the simulated vCenter."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Final

from vplacer.lab.model.faults import LabFault


class TaskKind(StrEnum):
    """Kinds of tasks, as vSphere describes them (TaskInfo.descriptionId)."""

    RECONFIGURE = "VirtualMachine.reconfigure"
    POWER_ON = "VirtualMachine.powerOn"
    POWER_OFF = "VirtualMachine.powerOff"
    SUSPEND = "VirtualMachine.suspend"
    CLONE = "VirtualMachine.clone"
    DESTROY = "VirtualMachine.destroy"
    RELOCATE = "VirtualMachine.relocate"
    UPGRADE = "VirtualMachine.upgradeVirtualHardware"
    EDIT_CLUSTER = "ComputeResource.reconfigureEx"


class TaskPhase(StrEnum):
    """TaskInfo.state."""

    QUEUED = "queued"
    RUNNING = "running"
    SUCCESS = "success"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class LabTask:
    """A task. Each change of it is a new value.

    ``kind`` is vSphere's descriptionId. ``entity`` is the managed object it is on. ``user`` None = the
    server itself. ``operation``: the id that the client gave the call. ``result``: the managed object id
    of what was made. ``ends_at``: when it is due, None = it does not end by itself.
    """

    id: str
    kind: str
    entity: str
    entity_name: str
    user: str | None
    operation: str | None
    queued_at: datetime
    started_at: datetime | None = None
    ends_at: datetime | None = None
    ended_at: datetime | None = None
    phase: TaskPhase = TaskPhase.QUEUED
    result: str | None = None
    fault: LabFault | None = None

    @property
    def ended(self) -> bool:
        """Whether it has succeeded or failed."""
        return self.phase in (TaskPhase.SUCCESS, TaskPhase.ERROR)


@dataclass(frozen=True, slots=True)
class LabEvent:
    """A line of the vCenter's own log. ``kind``: an event type, such as ``GeneralUserEvent``."""

    key: int
    at: datetime
    kind: str
    user: str | None
    entity: str
    message: str


DEFAULT_SECONDS: Final[Mapping[str, float]] = {
    TaskKind.RECONFIGURE: 1.0,
    TaskKind.POWER_ON: 3.0,
    TaskKind.POWER_OFF: 2.0,
    TaskKind.SUSPEND: 10.0,
    TaskKind.CLONE: 20.0,
    TaskKind.DESTROY: 2.0,
    TaskKind.RELOCATE: 5.0,
    TaskKind.UPGRADE: 1.0,
    TaskKind.EDIT_CLUSTER: 1.0,
}


@dataclass(frozen=True, slots=True)
class Durations:
    """Seconds that tasks take, and guests to shut down. ``live_move_s``: of vMotion."""

    tasks: Mapping[str, float] = field(default_factory=lambda: DEFAULT_SECONDS)
    live_move_s: float = 15.0
    shut_down_s: float = 20.0

    @classmethod
    def flat(cls, seconds: float) -> Durations:
        """Everything takes as long."""
        return cls(dict.fromkeys(DEFAULT_SECONDS, seconds), seconds, seconds)

    def of(self, kind: str) -> float:
        """Return the seconds a task of a kind takes."""
        return self.tasks.get(kind, 1.0)
