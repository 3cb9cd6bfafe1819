"""Tasks: patience while the server cannot be reached, the list of recent tasks where there is no history."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.vsphere.raw_data import FakeVCenter, obj
from tests.vsphere.servers import CONTENT, Certificate, ScriptedVCenter, fault, serving
from vplacer.errors import ConnectionFailed, InventoryIncomplete, VSphereFault
from vplacer.port import Task, TaskState
from vplacer.vsphere.address import Address
from vplacer.vsphere.credentials import Credentials
from vplacer.vsphere.data_objects import copied, make
from vplacer.vsphere.existing import read_existing
from vplacer.vsphere.raw import Data, MoRef, RawAnswer
from vplacer.vsphere.retrieve import SessionReader
from vplacer.vsphere.secret import Secret
from vplacer.vsphere.session import ConnectOptions, Session
from vplacer.vsphere.tasks import RECONFIGURE, UPGRADE, Tasks, what_of

TASK = Task("task-1", RECONFIGURE, "vm-1")


class Time:
    """A clock that passes only by sleeping."""

    def __init__(self) -> None:
        self.now = 0.0

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def seconds(self) -> float:
        return self.now


class Unsteady(FakeVCenter):
    """Cannot be reached until a time."""

    def __init__(self, clock: Time, until: float) -> None:
        super().__init__([obj("Task", "task-1", {"info.state": "success"})])
        self.clock, self.until = clock, until

    def properties(self, refs: object, paths: object) -> RawAnswer:
        if self.clock.now < self.until:
            self.clock.now += 1.0
            raise ConnectionFailed("the connection was refused")
        return super().properties(refs, paths)  # type: ignore[arg-type]


def tasks_over(reader: object, clock: Time) -> Tasks:
    return Tasks(None, reader, sleep=clock.sleep, seconds=clock.seconds)  # type: ignore[arg-type]


def test_a_server_that_comes_back_within_a_minute() -> None:
    clock = Time()
    (result,) = tasks_over(Unsteady(clock, 30.0), clock).wait([TASK], 600.0)
    assert result.state is TaskState.SUCCESS


def test_a_server_that_stays_away() -> None:
    clock = Time()
    with pytest.raises(ConnectionFailed):
        tasks_over(Unsteady(clock, 1e9), clock).wait([TASK], 600.0)
    assert 60.0 <= clock.now < 70.0


def test_time_is_up_and_nothing_to_wait_for() -> None:
    clock = Time()
    running = FakeVCenter([obj("Task", "task-1", {"info.state": "running"})])
    assert tasks_over(running, clock).wait([TASK], 5.0) == ()
    assert clock.now == pytest.approx(5.0)
    assert tasks_over(running, clock).wait([], 5.0) == ()


@pytest.mark.parametrize("name", ["AlreadyUpgraded", "AlreadyUpgradedFault"])
def test_hardware_that_is_new_enough_is_a_success(name: str) -> None:
    """Some servers name faults by the envelope's type, which no table has (govmomi)."""
    kinds = (name, "MethodFault")
    envelope = Data("LocalizedMethodFault", ("LocalizedMethodFault",), {"fault": Data(name, kinds, {})})
    reader = FakeVCenter([obj("Task", "task-1", {"info.state": "error", "info.error": envelope})])
    upgrade = Task("task-1", UPGRADE, "vm-1")
    (result,) = tasks_over(reader, Time()).wait([upgrade], 1.0)
    assert result.state is TaskState.SUCCESS
    (result,) = tasks_over(reader, Time()).wait([TASK], 1.0)
    assert (result.state, result.fault) == (TaskState.ERROR, "AlreadyUpgraded")


def test_words_of_servers_that_describe_tasks_by_their_methods() -> None:
    def info(name: str, described: str) -> Data:
        return Data("TaskInfo", ("TaskInfo",), {"name": name, "descriptionId": described})

    assert what_of(info("ReconfigVM_Task", "VirtualMachine.reconfigure")) == "VirtualMachine.reconfigure"
    assert what_of(info("PowerOnVM", "VirtualMachine.powerOnVM")) == "VirtualMachine.powerOn"
    assert what_of(info("", "com.vmware.backup")) == "com.vmware.backup"


def test_one_object_that_is_gone_does_not_hide_the_others() -> None:
    class Strict(FakeVCenter):
        def properties(self, refs: object, paths: object) -> RawAnswer:
            if any(ref.moid == "vm-2" for ref in refs):  # type: ignore[attr-defined]
                raise VSphereFault("cannot read", fault_type="ManagedObjectNotFound")
            return super().properties(refs, paths)  # type: ignore[arg-type]

    refs = [MoRef("VirtualMachine", f"vm-{number}") for number in range(1, 6)]
    reader = Strict([obj("VirtualMachine", ref.moid, {"name": ref.moid}) for ref in refs])
    found = read_existing(reader, refs, ["name"])
    assert [raw.ref.moid for raw in found] == ["vm-1", "vm-3", "vm-4", "vm-5"]


INFO = """<val xsi:type="TaskInfo"><key>task-9</key><task type="Task">task-9</task>
<name>ReconfigVM_Task</name><descriptionId>VirtualMachine.reconfigure</descriptionId>
<entity type="VirtualMachine">vm-7</entity><state>running</state><cancelled>false</cancelled>
<cancelable>true</cancelable><reason xsi:type="TaskReasonUser"><userName>VC\\writer</userName></reason>
<queueTime>2026-01-01T10:00:00.5Z</queueTime><eventChainId>1</eventChainId></val>"""


@pytest.fixture
def session(server_certificate: Certificate, ca_file: Path, tmp_path: Path) -> Iterator[Session]:
    recent = (
        '<returnval><objects><obj type="TaskManager">TaskManager</obj><propSet><name>recentTask</name>'
        '<val xsi:type="ArrayOfManagedObjectReference"><ManagedObjectReference type="Task">task-9'
        "</ManagedObjectReference></val></propSet></objects></returnval>"
    )
    infos = (
        '<returnval><objects><obj type="Task">task-9</obj><propSet><name>info</name>'
        f"{INFO}</propSet></objects></returnval>"
    )
    content = CONTENT.format(api_type="VirtualCenter").replace(
        "</returnval>", '<taskManager type="TaskManager">TaskManager</taskManager></returnval>'
    )
    script = ScriptedVCenter(
        {
            "RetrieveServiceContent": [content],
            "CreateCollectorForTasks": [fault("NotSupported")],
            "RetrievePropertiesEx": [recent, infos],
        }
    )
    with ExitStack() as stack:
        port = stack.enter_context(serving(script, server_certificate, tmp_path))
        options = ConnectOptions(Address("127.0.0.1", port), ca_file=ca_file, read_timeout_s=5)
        account = Credentials("w", Secret("x1-secret"), "a test", "a test")
        yield stack.enter_context(Session.connect(options, account))


def test_recent_tasks_where_there_is_no_history(session: Session) -> None:
    clock = Time()
    tasks = Tasks(session, SessionReader(session), sleep=clock.sleep, seconds=clock.seconds)
    (seen,) = tasks.since(MoRef("VirtualMachine", "vm-7"), datetime(2026, 1, 1, 10, tzinfo=UTC))
    assert (seen.task, seen.user, seen.result) == (
        Task("task-9", RECONFIGURE, "vm-7"),
        "VC\\writer",
        None,
    )
    assert seen.queued_at == datetime(2026, 1, 1, 10, 0, 0, 500000, tzinfo=UTC)


def test_a_copy_of_what_nobody_knows_is_refused() -> None:
    with pytest.raises(InventoryIncomplete, match="of type VirtualFutureCard cannot be copied"):
        copied(Data("VirtualFutureCard", ("VirtualFutureCard", "VirtualDevice"), {"key": 1}), "vm1")
    assert make("VirtualDevice", key=3).key == 3
