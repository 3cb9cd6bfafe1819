"""Tasks, events, waiting, broken connections and the clock of a lab that is changed."""

from __future__ import annotations

import http.client
import threading
import time
from typing import Any

import pytest
from pyVmomi import SoapAdapter, vim, vmodl

from tests.lab.changing import serving
from tests.lab.clients import PC, bind, object_filter, read
from vplacer.inventory.vm import VmPower
from vplacer.lab.model.machine import MachineOptions
from vplacer.lab.model.orders import Call, DropConnection, ExpireSession, FailTask, LoseHost, StallTask, When
from vplacer.lab.model.tasks import Durations
from vplacer.lab.soap.faults import FaultRule, Harm


def test_the_operation_id_is_kept_with_the_call_and_its_task() -> None:
    with serving("a30pairs") as client:
        client.service._stub.requestContext = {"operationID": "vplacer-7f3a-04"}
        task = client.vm("spare").ReconfigVM_Task(vim.vm.ConfigSpec(numCPUs=8))
        client.service._stub.requestContext = {}
        client.do(task)
        (record,) = client.server.log.records("ReconfigVM_Task")
        assert (record.operation, record.this, record.user) == (
            "vplacer-7f3a-04",
            client.held("spare").moid,
            client.server.username,
        )
        info = task.info
        assert info.activationId == "vplacer-7f3a-04"
        assert info.reason.userName == client.service.content.sessionManager.currentSession.userName
        assert info.queueTime <= info.startTime <= info.completeTime


def test_a_task_is_found_again_by_entity_user_and_time() -> None:
    with serving("a30pairs") as client:
        manager, spec = client.service.content.taskManager, vim.TaskFilterSpec
        client.do(client.vm("infer-1").PowerOffVM_Task())
        since = client.service.CurrentTime()
        client.do(client.vm("spare").PowerOnVM_Task())
        client.do(client.vm("infer-1").PowerOnVM_Task())
        collector = manager.CreateCollectorForTasks(
            spec(
                entity=spec.ByEntity(entity=client.vm("infer-1"), recursion="self"),
                time=spec.ByTime(timeType="queuedTime", beginTime=since),
                userName=spec.ByUsername(systemUser=False, userList=[client.server.username]),
            )
        )
        found = collector.ReadNextTasks(10)
        assert [(task.descriptionId, task.state) for task in found] == [("VirtualMachine.powerOn", "success")]
        assert collector.ReadNextTasks(10) == []
        assert [task.key for task in collector.ReadPreviousTasks(10)] == [found[0].key]
        assert [task.key for task in collector.latestPage] == [found[0].key]
        collector.DestroyCollector()
        nobody = spec(userName=spec.ByUsername(systemUser=False, userList=["somebody"]))
        assert manager.CreateCollectorForTasks(nobody).ReadNextTasks(10) == []


def test_events_of_a_vm() -> None:
    with serving("a30pairs") as client:
        manager, spec = client.service.content.eventManager, vim.event.EventFilterSpec
        vm = client.vm("spare")
        manager.LogUserEvent(vm, "vplacer: plan 7f3a, step 4 <begins>")
        client.do(vm.PowerOnVM_Task())
        newest, first = manager.QueryEvents(spec(entity=spec.ByEntity(entity=vm, recursion="self")))
        assert isinstance(first, vim.event.GeneralUserEvent)
        assert (first.message, first.userName) == (
            "vplacer: plan 7f3a, step 4 <begins>",
            client.server.username,
        )
        assert first.vm.vm._moId == vm._moId
        assert "powerOn" in newest.fullFormattedMessage
        of_user = spec(userName=spec.ByUsername(systemUser=False, userList=["nobody"]))
        assert manager.QueryEvents(of_user) == []
        with pytest.raises(vmodl.fault.ManagedObjectNotFound):
            manager.LogUserEvent(bind(client.service, vim.VirtualMachine("vm-9")), "no such VM")


def test_those_who_wait_see_what_changes() -> None:
    with serving("a30pairs") as client:
        collector, vm = client.service.content.propertyCollector, client.vm("infer-1")
        collector.CreateFilter(
            object_filter(vm, ["runtime.powerState", "config.hardware.numCPU", "name"]), False
        )
        host = bind(client.service, vim.HostSystem(client.held("infer-1").host))
        collector.CreateFilter(object_filter(host, ["config.assignableHardwareBinding"]), False)
        version = collector.WaitForUpdatesEx("", PC.WaitOptions(maxWaitSeconds=5)).version
        thread = threading.Thread(target=lambda: client.machine.power_off("vm-2002"))
        thread.start()
        seen: dict[str, Any] = {}
        while {"runtime.powerState", "config.assignableHardwareBinding"} - set(seen):
            updates = collector.WaitForUpdatesEx(version, PC.WaitOptions(maxWaitSeconds=10))
            assert updates is not None, f"nothing more than {sorted(seen)}"
            version = updates.version
            changes = (c for f in updates.filterSet for o in f.objectSet for c in o.changeSet)
            seen.update((change.name, change.val) for change in changes)
        thread.join()
        assert seen.pop("runtime.powerState") == VmPower.OFF.value
        assert [b.vm._moId for b in seen.pop("config.assignableHardwareBinding")] == ["vm-2004"]
        assert seen == {}


def test_a_clone_is_found_where_it_was_put() -> None:
    with serving("a30pairs") as client:
        content, template = client.service.content, client.vm("gpu-template")
        host = bind(client.service, vim.HostSystem("host-1002"))
        pool = bind(client.service, vim.ResourcePool(client.held("spare").pool))
        folder = content.searchIndex.FindByInventoryPath("/dc1/vm")
        spec = vim.vm.CloneSpec(
            location=vim.vm.RelocateSpec(host=host, pool=pool), powerOn=False, template=False
        )
        made = client.do(template.CloneVM_Task(folder, "new-1", spec))
        assert made.name == "new-1"
        assert content.searchIndex.FindByInventoryPath("/dc1/vm/new-1")._moId == made._moId
        assert made._moId in {vm._moId for vm in host.vm}
        assert made._moId in {vm._moId for vm in pool.vm}
        assert client.seen("new-1").power is VmPower.OFF
        client.do(made.Destroy_Task())
        assert content.searchIndex.FindByInventoryPath("/dc1/vm/new-1") is None
        assert made._moId not in {vm._moId for vm in host.vm}
        with pytest.raises(vmodl.fault.ManagedObjectNotFound):
            made.PowerOnVM_Task()


@pytest.mark.parametrize(
    ("harm", "carried_out", "error"),
    [
        (Harm.DROP_BEFORE, False, http.client.RemoteDisconnected),
        (Harm.DROP_AFTER, True, http.client.RemoteDisconnected),
        (Harm.TRUNCATE, True, Exception),
        (Harm.EXPIRE, False, vim.fault.NotAuthenticated),
    ],
)
def test_harm_to_a_writing_call(harm: Harm, carried_out: bool, error: type[Exception]) -> None:
    with serving("a30pairs") as client:
        vm = client.vm("spare")
        client.server.faults.add(FaultRule(harm, "ReconfigVM_Task"))
        with pytest.raises(error):
            vm.ReconfigVM_Task(vim.vm.ConfigSpec(numCPUs=8))
        assert len(client.server.log.records("ReconfigVM_Task")) == 1
        assert len(client.machine.tasks()) == int(carried_out)


def test_orders_about_the_connection() -> None:
    with serving("a30pairs") as client:
        orders, vm = client.machine.orders, client.vm("spare")
        orders.add(DropConnection(When(Call.RECONFIGURE, vm._moId, nth=2), carried_out=True))
        client.do(vm.ReconfigVM_Task(vim.vm.ConfigSpec(numCPUs=8)))
        with pytest.raises(http.client.RemoteDisconnected):
            vm.ReconfigVM_Task(vim.vm.ConfigSpec(numCPUs=4))
        assert len(client.machine.tasks()) == 2
        orders.add(DropConnection(When(Call.POWER_ON), carried_out=False, down_s=0.2))
        for _ in range(2):
            with pytest.raises(http.client.RemoteDisconnected):
                vm.PowerOnVM_Task()
        assert len(client.machine.tasks()) == 2
        orders.add(ExpireSession(When(Call.POWER_OFF), renewable=False))
        time.sleep(0.25)
        running = client.vm("web-1")
        with pytest.raises(vim.fault.NotAuthenticated):
            running.PowerOffVM_Task()
        with pytest.raises(vim.fault.InvalidLogin):
            client.service.content.sessionManager.Login(client.server.username, client.server.password)
        assert client.held("web-1").is_on


def test_orders_about_tasks_and_hosts() -> None:
    with serving("a30pairs") as client:
        orders, vm = client.machine.orders, client.vm("spare")
        orders.add(FailTask(When(Call.RECONFIGURE), "InsufficientResourcesFault", "No room."))
        fault = client.fault(vm.ReconfigVM_Task(vim.vm.ConfigSpec(numCPUs=8)))
        assert isinstance(fault, vim.fault.InsufficientResourcesFault)
        assert fault.msg == "No room."
        orders.add(StallTask(When(Call.RECONFIGURE)))
        stalled = vm.ReconfigVM_Task(vim.vm.ConfigSpec(numCPUs=8))
        assert stalled.info.state == "running"
        with pytest.raises(vmodl.fault.NotSupported):
            stalled.CancelTask()
        client.machine.release(stalled._moId)
        client.do(stalled)
        orders.add(LoseHost(When(Call.POWER_ON)))
        assert isinstance(client.fault(vm.PowerOnVM_Task()), vmodl.fault.HostNotConnected)
        host = vim.HostSystem(client.held("spare").host)
        values, _ = read(client.service, host, "runtime.connectionState", "config.product")
        assert values == {"runtime.connectionState": "notResponding"}
        client.machine.regain_host(host._moId)
        assert read(client.service, host, "config.product")[0]


def test_time_passes_only_while_something_is_under_way() -> None:
    with serving("a30pairs") as client:
        first = client.service.CurrentTime()
        assert client.service.CurrentTime() == first
        client.do(client.vm("spare").PowerOnVM_Task())
        assert client.service.CurrentTime() > first


def test_no_more_time_passes_for_a_task_than_on_the_wall() -> None:
    with serving("a30pairs", MachineOptions(durations=Durations.flat(1000.0))) as client:
        time.sleep(0.2)  # while nothing is under way
        begun = time.monotonic()
        task = client.machine.power_off("vm-2001")
        time.sleep(0.02)
        client.service.CurrentTime()
        passed = (client.machine.clock() - task.queued_at).total_seconds()
        assert 0 < passed <= time.monotonic() - begun


def test_a_clock_that_runs_goes_as_fast_as_it_is_told() -> None:
    slow = MachineOptions(durations=Durations.flat(500.0))
    with serving("a30pairs", slow, clock_runs=True, speed=1000.0) as client:
        first = client.service.CurrentTime()
        task = client.vm("spare").PowerOnVM_Task()
        client.do(task)
        passed = (task.info.completeTime - task.info.startTime).total_seconds()
        assert passed == pytest.approx(500.0)
        # Sessions do not end sooner for it.
        assert client.server.vcenter.sessions.timeout_s == 1800.0 * 1000.0
        assert client.service.CurrentTime() > first


def test_the_stub_does_not_send_again() -> None:
    """What the tests above count on: pyVmomi's plain stub sends a call once, whatever happens."""
    with serving("a30pairs") as client:
        assert type(client.service._stub) is SoapAdapter.SoapStubAdapter
