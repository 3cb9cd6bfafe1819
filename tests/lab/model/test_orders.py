"""Orders to fail, as a client of the port meets them."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from vplacer.errors import AnswerLost, ConnectionFailed, SessionLost, VSphereError, VSphereFault
from vplacer.inventory.cluster import VmHostRule
from vplacer.inventory.load import load_inventory_file
from vplacer.inventory.measured import Spread
from vplacer.inventory.pci import PciAddress
from vplacer.inventory.vm import VmPower
from vplacer.lab.model.edit import VmEdit
from vplacer.lab.model.machine import SOMEBODY, Changes, Machine
from vplacer.lab.model.orders import (
    Call,
    ChangeVm,
    DropConnection,
    ExpireSession,
    FailCall,
    FailTask,
    LoseHost,
    StallTask,
    StartMaintenance,
    StartVm,
    StopVm,
    TakeDevices,
    When,
)
from vplacer.lab.model.port import LabPort
from vplacer.lab.model.state import seed_state
from vplacer.plan.changes import Clone, Delete, Field, FieldChange, Power, Reconfigure, Relocate
from vplacer.port import LabelChange, Port, RuleChange, TaskState

SITE = Path(__file__).parent / "sites/plain.yaml"
LOCK = Reconfigure((FieldChange(Field.MEMORY_LOCKED_TO_MAX, False, True),))
ON = Power(VmPower.OFF, VmPower.ON, "host-1001")


class Desk:
    """A port of the plain site, and short ways to use it."""

    def __init__(self, *orders: Any) -> None:
        site = load_inventory_file(SITE)
        self.machine = Machine(seed_state(site), site.overlays)
        self.port: Port = LabPort(self.machine)
        self.ids = {vm.name: vm.moid for vm in site.inventory.vms}
        for order in orders:
            when = order.when
            named = replace(order, when=replace(when, vm=self.ids.get(when.vm or "", when.vm)))
            self.machine.orders.add(named)

    def vm(self, name: str) -> Any:
        return self.port.read_part(vms=[self.ids[name]]).vms[0]

    def lock(self, name: str) -> Any:
        vm = self.vm(name)
        return self.port.reconfigure(vm.moid, LOCK, vm.change_version, "vplacer-1-1")

    def end(self, task: Any) -> Any:
        (result,) = self.port.wait([task], 600)
        return result


def test_a_task_fails_as_ordered_and_changes_nothing() -> None:
    desk = Desk(FailTask(When(Call.RECONFIGURE, nth=2), "FileFault", "no space left"))
    assert desk.end(desk.lock("idle")).state is TaskState.SUCCESS
    result = desk.end(desk.lock("kept"))
    assert (result.state, result.fault, result.message) == (TaskState.ERROR, "FileFault", "no space left")
    assert not desk.vm("kept").memory_locked_to_max
    assert desk.end(desk.lock("kept")).state is TaskState.SUCCESS


def test_a_call_is_refused_as_ordered() -> None:
    desk = Desk(FailCall(When(Call.RECONFIGURE, vm="kept"), "NoPermission", "VirtualMachine.Config.Resource"))
    assert desk.end(desk.lock("idle")).state is TaskState.SUCCESS
    with pytest.raises(VSphereError, match=r"Config\.Resource"):
        desk.lock("kept")
    assert desk.machine.tasks(desk.ids["kept"]) == ()


def test_a_task_is_held_up_and_goes_on() -> None:
    desk = Desk(StallTask(When(Call.RECONFIGURE, nth=1), 100.0), StallTask(When(Call.POWER_ON)))
    task = desk.lock("idle")
    assert desk.port.wait([task], 50) == ()
    assert desk.end(task).state is TaskState.SUCCESS
    start = desk.port.power(desk.ids["idle"], ON, "op")
    assert desk.port.wait([start], 86_400) == ()
    assert desk.vm("idle").power is VmPower.OFF
    desk.machine.release(start.id)
    assert desk.end(start).state is TaskState.SUCCESS


@pytest.mark.parametrize("carried_out", [False, True])
def test_a_change_whose_answer_is_lost_is_found_again(carried_out: bool) -> None:
    desk = Desk(DropConnection(When(Call.RECONFIGURE), carried_out))
    since = desk.port.server_time()
    with pytest.raises(AnswerLost):
        desk.lock("idle")
    seen = desk.port.tasks_since(desk.ids["idle"], since)
    assert len(seen) == carried_out
    if carried_out:
        assert seen[0].user == desk.port.user
        assert desk.end(seen[0].task).state is TaskState.SUCCESS
        assert desk.port.tasks_since(desk.ids["idle"], since)[0].result is not None
    assert bool(desk.vm("idle").memory_locked_to_max) == carried_out


def test_a_connection_that_breaks_while_reading_is_no_lost_answer_and_comes_back() -> None:
    desk = Desk(DropConnection(When(Call.READ_PART), False, down_s=3.0))
    for _ in range(2):
        with pytest.raises(ConnectionFailed):
            desk.vm("idle")
    with pytest.raises(ConnectionFailed):
        desk.port.server_time()
    desk.machine.advance(3)
    assert desk.vm("idle").cpus == 16


def test_a_session_that_cannot_be_renewed() -> None:
    desk = Desk(ExpireSession(When(Call.CHECK)), ExpireSession(When(Call.WAIT), renewable=False))
    assert desk.port.check(desk.ids["idle"], "host-1001", None) == ()
    task = desk.lock("idle")
    with pytest.raises(SessionLost):
        desk.port.wait([task], 10)
    assert desk.end(task).state is TaskState.SUCCESS


def test_another_client_writes_in_between() -> None:
    desk = Desk(ChangeVm(When(Call.RECONFIGURE), VmEdit(cpus=8)))
    result = desk.end(desk.lock("idle"))
    assert result.fault == "ConcurrentAccess"
    assert (desk.vm("idle").cpus, desk.vm("idle").memory_locked_to_max) == (8, False)


def test_another_client_takes_the_cards() -> None:
    desk = Desk(TakeDevices(When(Call.POWER_ON)))
    result = desk.end(desk.port.power(desk.ids["single"], ON, "op"))
    assert result.fault == "GenericVmConfigFault"
    assert sum(vm.name.startswith("somebody-") for vm in desk.port.read().vms) == 2
    desk = Desk(TakeDevices(When(Call.POWER_ON), most=1))
    assert desk.end(desk.port.power(desk.ids["single"], ON, "op")).state is TaskState.SUCCESS


def test_another_client_starts_and_stops_vms() -> None:
    desk = Desk()
    pair, idle = desk.ids["pair"], desk.ids["idle"]
    desk.machine.orders.add(StartVm(When(Call.POWER_ON, vm=desk.ids["single"]), pair))
    assert desk.end(desk.port.power(desk.ids["single"], ON, "op")).fault == "GenericVmConfigFault"
    assert desk.vm("pair").is_on
    desk.machine.orders.add(StopVm(When(Call.POWER_OFF), pair))
    off = Power(VmPower.ON, VmPower.OFF, None)
    assert desk.end(desk.port.power(pair, off, "op")).fault == "InvalidPowerState"
    desk.machine.orders.add(StartVm(When(Call.RECONFIGURE), "vm-9999"))
    assert desk.end(desk.lock("idle")).state is TaskState.SUCCESS
    assert any(event.user == SOMEBODY for event in desk.machine.events)
    assert desk.vm("idle").moid == idle


def test_another_client_acts_at_its_own_time() -> None:
    desk = Desk()
    desk.machine.later(5, StopVm(When(), desk.ids["plain"]))
    desk.port.wait([], 4)
    assert desk.vm("plain").is_on
    desk.port.wait([], 4)
    assert not desk.vm("plain").is_on


def test_a_host_is_lost_under_a_task() -> None:
    desk = Desk(LoseHost(When(Call.POWER_ON)))
    result = desk.end(desk.port.power(desk.ids["idle"], ON, "op"))
    assert result.fault == "HostNotConnected"
    assert desk.port.read_part(hosts=["host-1001"]).hosts[0].connection.value == "notResponding"
    assert desk.vm("plain").connection.value == "disconnected"
    desk = Desk(StartMaintenance(When(Call.POWER_ON)))
    assert desk.end(desk.port.power(desk.ids["idle"], ON, "op")).fault == "InvalidState"


def test_nothing_is_moved_off_a_lost_host() -> None:
    desk = Desk(LoseHost(When(Call.RELOCATE)))
    move = Relocate("host-1001", "host-1002", None, None, live=False)
    result = desk.end(desk.port.relocate(desk.ids["idle"], move, "op"))
    assert (result.state, result.fault) == (TaskState.ERROR, "HostNotConnected")
    assert desk.vm("idle").host == "host-1001"


def test_a_guest_that_is_asked_twice_goes_down_once() -> None:
    desk = Desk()
    plain = desk.ids["plain"]
    desk.port.shut_down(plain, "op")
    desk.machine.advance(10)
    desk.port.shut_down(plain, "op")
    desk.machine.advance(11)
    assert not desk.vm("plain").is_on
    assert desk.end(desk.port.power(plain, ON, "op")).state is TaskState.SUCCESS
    desk.machine.advance(3600)
    assert desk.vm("plain").is_on
    desk.port.shut_down(plain, "op")
    desk.machine.advance(21)
    assert not desk.vm("plain").is_on


def test_only_the_vm_that_a_clone_made_is_removed() -> None:
    desk = Desk()
    change = Clone(desk.ids["template"], "made", "host-1002", None, None, "vm")
    made = desk.end(desk.port.clone(change, "op")).result
    assert made not in desk.ids.values()
    with pytest.raises(VSphereFault, match="not the one"):
        desk.port.delete(desk.ids["idle"], Delete("made"), "op")
    assert desk.end(desk.port.delete(made, Delete("made"), "op")).state is TaskState.SUCCESS
    assert desk.port.read_part(vms=[made]).vms == ()


def test_labels_and_rules_and_events() -> None:
    desk = Desk()
    card = PciAddress.parse("0000:17:00.0")
    assert desk.port.set_labels([LabelChange("host-1001", card, "left", "new")], "op") == ()
    host = desk.port.read_part(hosts=["host-1001"]).hosts[0]
    assert host.device(card).passthrough.label == "new"
    cluster = host.cluster
    rule = VmHostRule(0, "on-one", True, False, (desk.ids["idle"],), ("host-1001",), True)
    (task,) = desk.port.edit_rules([RuleChange(cluster, None, rule)], "op")
    assert desk.end(task).state is TaskState.SUCCESS
    added = desk.port.read_part(clusters=[cluster]).clusters[0].vm_host_rules[-1]
    assert (added.name, added.key > 0) == ("on-one", True)
    (task,) = desk.port.edit_rules([RuleChange(cluster, added, None)], "op")
    assert desk.end(task).state is TaskState.SUCCESS
    assert added not in desk.port.read_part(clusters=[cluster]).clusters[0].vm_host_rules
    desk.port.log_event(desk.ids["idle"], "vplacer: changed")
    assert desk.machine.events[-1].message == "vplacer: changed"
    with pytest.raises(VSphereFault, match="ManagedObjectNotFound"):
        desk.port.log_event("vm-9999", "nothing")


def test_measuring_tells_where_vms_are() -> None:
    desk = Desk()
    desk.end(desk.port.power(desk.ids["older"], ON, "op"))
    homes = dict(desk.port.measure(["host-1001", "host-1002"]))
    assert homes[desk.ids["bound"]].nodes == (0,)
    assert homes[desk.ids["older"]].locality_percent == Spread(100, 100, 100)


def test_listeners_are_told_what_changed() -> None:
    desk = Desk()
    told: list[Changes] = []
    desk.machine.subscribe(told.append)
    task = desk.port.power(desk.ids["single"], ON, "op")
    assert (told[-1].tasks, told[-1].vms) == ({task.id}, frozenset())
    desk.end(task)
    assert told[-1].vms == {desk.ids["single"]}
    assert told[-1].hosts == {"host-1001"}
    assert told[-1].pools
    made = desk.end(desk.port.clone(Clone(desk.ids["template"], "x", "host-1002", None, None, "vm"), "op"))
    desk.end(desk.port.delete(made.result, Delete("x"), "op"))
    assert told[-1].gone == {made.result}
    assert told[-1].hosts == {"host-1002"}


def test_time_passes_only_by_waiting() -> None:
    desk = Desk()
    before = desk.port.server_time()
    task = desk.lock("idle")
    assert desk.port.wait([task], 0.5) == ()
    assert desk.port.server_time() - before == timedelta(seconds=0.5)
    assert desk.end(task).state is TaskState.SUCCESS
    assert desk.port.server_time() - before == timedelta(seconds=1)
