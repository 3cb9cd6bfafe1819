"""Writing to the simulated vCenter over HTTPS: whole plans step by step, and what goes wrong on the way.

The lab decodes requests and carries them out with code of its own, and refuses what vSphere refuses.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

import pytest
import yaml

from tests.conftest import REPO
from vplacer.constraints.ownership import reason_left_alone
from vplacer.constraints.state import Problem
from vplacer.errors import (
    AnswerLost,
    PermissionMissing,
    SessionLost,
    StaleError,
    VSphereFault,
)
from vplacer.inventory.cluster import VmHostRule
from vplacer.inventory.load import load_inventory_file
from vplacer.inventory.site import Site
from vplacer.inventory.vm import Vm, VmPower
from vplacer.lab.model.machine import MachineOptions
from vplacer.lab.model.orders import Call, DropConnection, ExpireSession, FailTask, StallTask, When
from vplacer.lab.soap.server import LabServer
from vplacer.plan.build import build_plan
from vplacer.plan.changes import (
    Action,
    Change,
    Clone,
    Delete,
    DeviceChange,
    DeviceValue,
    ExtraConfigChange,
    Field,
    FieldChange,
    OverrideDrs,
    Power,
    Reconfigure,
    Relocate,
    UpgradeHardware,
)
from vplacer.plan.device_match import device_value
from vplacer.plan.model import Fact, FieldFact, Plan
from vplacer.plan.observed import EXTRA_PREFIX, vm_facts
from vplacer.plan.settings import AUTOSIZE_STATE
from vplacer.port import LabelChange, Port, RuleChange, Task, TaskResult, TaskState
from vplacer.request.load import parse_request
from vplacer.request.resolve import resolve
from vplacer.solver.solve import solve
from vplacer.solver.verdict import SolveOptions
from vplacer.topology.build import build_topologies
from vplacer.vsphere.address import Address
from vplacer.vsphere.credentials import Credentials
from vplacer.vsphere.secret import Secret
from vplacer.vsphere.session import ConnectOptions, Session
from vplacer.vsphere.writer import VCenterPort

FIXTURES = REPO / "fixtures"
SPEED = 500.0


def site_named(name: str) -> Site:
    return load_inventory_file(FIXTURES / "sites" / f"{name}.yaml")


@contextmanager
def served(site: Site, **options: Any) -> Iterator[tuple[LabServer, VCenterPort]]:
    with LabServer(site, speed=SPEED, **options) as server:
        connect = ConnectOptions(Address.parse(server.url), ca_file=server.ca_file, read_timeout_s=20)
        account = Credentials(server.username, Secret(server.password), "the lab", "the lab")
        with Session.connect(connect, account) as session:
            yield server, VCenterPort(session)


def planned(site: Site, name: str, affinity: str | None) -> Plan:
    document = yaml.safe_load((FIXTURES / "requests" / f"{name}.yaml").read_text())
    for entry in document["vms"]:
        if affinity is not None and entry.get("gpus"):
            entry["affinity"] = affinity
            for ask in ("gpus", "nics"):
                if affinity == "hint" and isinstance(entry.get(ask), dict):
                    entry[ask].pop("policy", None)
    topologies = build_topologies(site.inventory, site.overlays)
    owner = partial(reason_left_alone, inventory=site.inventory)
    request = resolve(
        parse_request(yaml.safe_dump(document), "request.yaml"),
        site.inventory,
        topologies,
        owner_reason=owner,
    )
    problem = Problem(site.inventory, topologies, request)
    solution = solve(problem, SolveOptions())
    return build_plan(problem, solution, created="2026-11-30T09:00:00Z", tool_version="0.1.0")


def ended(port: Port, task: Task) -> TaskResult:
    (result,) = port.wait([task], 30)
    return result


def refusal(port: Port, vm: str, change: Reconfigure, version: str) -> str | None:
    """Return the fault that a reconfigure ends with, whether of the call or of its task."""
    try:
        return ended(port, port.reconfigure(vm, change, version, "op")).fault
    except VSphereFault as fault:
        return fault.fault_type


def succeeded(port: Port, task: Task) -> TaskResult:
    result = ended(port, task)
    assert result.state is TaskState.SUCCESS, result
    return result


def vm_now(port: Port, moid: str) -> Vm:
    (vm,) = port.read_part(vms=[moid]).vms
    return vm


def send(port: Port, vm: str, change: Change, operation: str) -> Task:
    match change:
        case Clone():
            return port.clone(change, operation)
        case Delete():
            return port.delete(vm, change, operation)
        case Reconfigure():
            return port.reconfigure(vm, change, vm_now(port, vm).change_version or "", operation)
        case UpgradeHardware():
            return port.upgrade(vm, change, operation)
        case Relocate():
            return port.relocate(vm, change, operation)
        case Power():
            return port.power(vm, change, operation)
        case OverrideDrs():
            return port.override_drs(vm, change, operation)


def written_facts(vm: Vm) -> dict[str, Fact]:
    """Return a VM's fields without the state that a host notes by itself at power-on."""
    own = {EXTRA_PREFIX + key for key in AUTOSIZE_STATE}
    return {name: value for name, value in vm_facts(vm).items() if name not in own}


class Carrier:
    """Carries plans out, strictly: every precondition before, every check after each step."""

    def __init__(self, port: VCenterPort, clusters: list[str]) -> None:
        self.port = port
        self.clusters = clusters
        self.made: dict[str, str] = {}

    def moid(self, vm: str) -> str:
        return self.made.get(vm, vm)

    def hold(self, step: str, facts: tuple[FieldFact, ...]) -> None:
        moids = {fact.object: self.moid(fact.object) for fact in facts}
        part = self.port.read_part(vms=moids.values(), clusters=self.clusters)
        vms = {vm.moid: vm for vm in part.vms}
        overrides = dict(pair for cluster in part.clusters for pair in cluster.drs_overrides)
        for fact in facts:
            vm = vms.get(moids[fact.object])
            now: Fact = vm is not None
            if fact.field == "drs_override":
                now = overrides.get(moids[fact.object])
            elif fact.field != "exists":
                assert vm is not None
                now = vm_facts(vm)[fact.field]
            assert now == fact.value, f"{step}: {fact}"

    def carry_out(self, plan: Plan) -> None:
        for step in plan.steps:
            self.hold(step.id, step.preconditions)
            result = succeeded(self.port, send(self.port, self.moid(step.vm), step.change, step.id))
            if isinstance(step.change, Clone):
                assert result.result is not None
                self.made[step.vm] = result.result
            self.hold(step.id, step.checks)

    def take_back(self, plan: Plan) -> None:
        for step in reversed(plan.steps):
            if step.undo is not None:
                succeeded(self.port, send(self.port, self.moid(step.vm), step.undo, f"undo {step.id}"))
                self.hold(step.id, step.preconditions)


@pytest.mark.parametrize(
    ("name", "affinity"),
    [
        ("a30pairs", None),
        ("a30pairs", "pin"),
        ("a30pairs", "hint"),
        ("vgpu", None),
        ("nvswitch", None),
        ("floating", None),
        ("untold", None),
    ],
)
def test_a_plan_and_its_undo(name: str, affinity: str | None) -> None:
    site = site_named(name)
    plan = planned(site, name, affinity)
    assert plan.steps
    with served(site) as (_, port):
        before = {vm.moid: written_facts(vm) for vm in port.read().vms}
        carrier = Carrier(port, [cluster.moid for cluster in site.inventory.clusters])
        carrier.carry_out(plan)
        carrier.take_back(plan)
        after = {vm.moid: written_facts(vm) for vm in port.read().vms}
    fixed = {step.vm for step in plan.steps if step.undo is None}
    for moid, facts in before.items():
        if moid not in fixed:
            assert after.get(moid) == facts, moid
    assert set(after) == set(before)


def test_operation_ids_reach_the_server() -> None:
    site = site_named("a30pairs")
    spare = next(vm for vm in site.inventory.vms if vm.name == "spare")
    with served(site) as (server, port):
        change = Reconfigure((FieldChange(Field.CPUS, 16, 8),))
        succeeded(port, send(port, spare.moid, change, "vplacer-p-vm/reconfigure"))
        assert server.machine is not None
        tasks = server.machine.tasks(spare.moid, datetime.min.replace(tzinfo=UTC))
    assert [task.operation for task in tasks] == ["vplacer-p-vm/reconfigure"]


def test_an_older_change_version_is_refused() -> None:
    site = site_named("a30pairs")
    spare = next(vm for vm in site.inventory.vms if vm.name == "spare")
    with served(site) as (_, port):
        version = vm_now(port, spare.moid).change_version or ""
        change = Reconfigure(extra_config=(ExtraConfigChange("numa.nodeAffinity", None, "0"),))
        succeeded(port, port.reconfigure(spare.moid, change, version, "op"))
        assert refusal(port, spare.moid, change, version) == "ConcurrentAccess"


def test_the_vnuma_node_of_a_device_in_three_states() -> None:
    site = site_named("a30pairs")
    train = next(vm for vm in site.inventory.vms if vm.name == "train-1")
    with served(site) as (_, port):
        succeeded(port, port.power(train.moid, Power(VmPower.ON, VmPower.OFF, train.host), "op"))
        shape = Reconfigure(
            (FieldChange(Field.CORES_PER_SOCKET, None, 12), FieldChange(Field.CORES_PER_NUMA_NODE, None, 12))
        )
        succeeded(port, send(port, train.moid, shape, "op"))
        assert vm_now(port, train.moid).vnuma.cores_per_node == 12
        for node in (1, 0, -1):
            vm = vm_now(port, train.moid)
            device = vm.devices[0]
            before = device_value(vm, device)
            edit = DeviceChange(Action.EDIT, "gpu0", device.key, before, replace(before, numa_node=node))
            succeeded(port, send(port, vm.moid, Reconfigure(devices=(edit,)), "op"))
            now = vm_now(port, train.moid)
            told = next(item for item in now.devices if item.key == device.key)
            assert (told.numa_node if told.numa_node is not None else -1) == node
            assert told.backing == device.backing
        back = Reconfigure((FieldChange(Field.CORES_PER_NUMA_NODE, 12, None),))
        succeeded(port, send(port, train.moid, back, "op"))
        assert vm_now(port, train.moid).vnuma.auto is True


def test_another_device_at_the_key_is_left_alone() -> None:
    site = site_named("a30pairs")
    train = next(vm for vm in site.inventory.vms if vm.name == "train-1")
    wrong = DeviceValue(train.devices[2].backing)
    change = Reconfigure(devices=(DeviceChange(Action.REMOVE, "x", train.devices[0].key, wrong, None),))
    with served(site) as (server, port):
        with pytest.raises(StaleError, match="is no longer what the plan knew"):
            port.reconfigure(train.moid, change, train.change_version or "", "op")
        assert server.calls["ReconfigVM_Task"] == 0


def test_labels_are_set_and_cleared() -> None:
    site = site_named("a30pairs")
    host = next(host for host in site.inventory.hosts if host.name == "esx01")
    card = next(card for card in host.pci_devices if card.passthrough and card.passthrough.label)
    assert card.passthrough is not None
    old = card.passthrough.label

    def label(port: VCenterPort) -> str | None:
        (now,) = port.read_part(hosts=[host.moid]).hosts
        found = now.device(card.address)
        assert found is not None
        assert found.passthrough is not None
        assert found.passthrough.active
        return found.passthrough.label

    with served(site) as (_, port):
        for before, after in ((old, "pair-7"), ("pair-7", None), (None, old)):
            assert port.set_labels([LabelChange(host.moid, card.address, before, after)], "op") == ()
            assert label(port) == after


def test_rules_between_vms_and_hosts() -> None:
    site = site_named("a30pairs")
    (cluster,) = site.inventory.clusters
    vms = tuple(vm.moid for vm in site.inventory.vms[:2])
    hosts = tuple(host.moid for host in site.inventory.hosts[:2])
    rule = VmHostRule(0, "planned", True, False, vms, hosts, True)
    with served(site) as (_, port):

        def rules() -> tuple[VmHostRule, ...]:
            return port.read_part(clusters=[cluster.moid]).clusters[0].vm_host_rules

        had = rules()
        for task in port.edit_rules([RuleChange(cluster.moid, None, rule)], "op"):
            succeeded(port, task)
        made = next(item for item in rules() if item.name == "planned")
        assert replace(made, key=0) == rule
        changed = replace(made, vms=vms[:1], mandatory=False)
        for task in port.edit_rules([RuleChange(cluster.moid, made, changed)], "op"):
            succeeded(port, task)
        assert next(item for item in rules() if item.name == "planned") == changed
        for task in port.edit_rules([RuleChange(cluster.moid, changed, None)], "op"):
            succeeded(port, task)
        assert rules() == had


def test_events_and_shutdown() -> None:
    site = site_named("a30pairs")
    web = next(vm for vm in site.inventory.vms if vm.name == "web-1")
    with served(site) as (server, port):
        port.log_event(web.moid, "vplacer: plan 4711")
        assert server.machine is not None
        assert server.machine.events[-1].message == "vplacer: plan 4711"
        port.shut_down(web.moid, "op")
        for _ in range(200):
            if not vm_now(port, web.moid).is_on:
                break
        assert not vm_now(port, web.moid).is_on


def test_guests_without_tools_are_told() -> None:
    site = site_named("a30pairs")
    running = [vm.moid for vm in site.inventory.vms if vm.is_on]
    off = next(vm.moid for vm in site.inventory.vms if not vm.is_on)
    options = MachineOptions(without_tools=frozenset({running[0], off}))
    with served(site, options=options) as (_, port):
        assert port.guests_without_tools([*running, off, "vm-9999"]) == {running[0]}
        assert port.guests_without_tools([]) == frozenset()
        with pytest.raises(VSphereFault, match="ToolsUnavailable"):
            port.shut_down(running[0], "op")


def test_checks_find_what_the_server_would_refuse() -> None:
    site = site_named("a30pairs")
    train = next(vm for vm in site.inventory.vms if vm.name == "train-1")
    spare = next(vm for vm in site.inventory.vms if vm.name == "spare")
    with served(site) as (server, port):
        bad = Reconfigure((FieldChange(Field.CPUS, 16, 7), FieldChange(Field.CORES_PER_SOCKET, None, 3)))
        found = port.check(spare.moid, spare.host or "", bad)
        assert any(finding.blocking for finding in found), found
        assert all(finding.message for finding in found)
        assert port.check(spare.moid, spare.host or "", Reconfigure((FieldChange(Field.CPUS, 16, 8),))) == ()
        assert any(item.blocking for item in port.check(train.moid, train.host or "", None))
        assert server.calls["ReconfigVM_Task"] == 0


@pytest.mark.parametrize("carried_out", [False, True])
def test_a_lost_answer_and_the_task_that_tells(carried_out: bool) -> None:
    site = site_named("a30pairs")
    spare = next(vm for vm in site.inventory.vms if vm.name == "spare")
    with served(site) as (server, port):
        assert server.machine is not None
        since = port.server_time()
        version = vm_now(port, spare.moid).change_version or ""
        server.machine.orders.add(DropConnection(When(Call.RECONFIGURE), carried_out=carried_out))
        change = Reconfigure((FieldChange(Field.CPUS, 16, 8),))
        with pytest.raises(AnswerLost):
            port.reconfigure(spare.moid, change, version, "op")
        assert server.calls["ReconfigVM_Task"] <= 1
        seen = port.tasks_since(spare.moid, since)
        assert len(seen) == (1 if carried_out else 0)
        if carried_out:
            assert seen[0].user == port.user
            assert seen[0].task.what == "VirtualMachine.reconfigure"
            succeeded(port, seen[0].task)
        assert vm_now(port, spare.moid).cpus == (8 if carried_out else 16)


def test_a_session_that_ends() -> None:
    site = site_named("a30pairs")
    spare = next(vm for vm in site.inventory.vms if vm.name == "spare")
    on = Power(VmPower.OFF, VmPower.ON, spare.host)
    with served(site) as (server, port):
        assert server.machine is not None
        orders = server.machine.orders
        orders.add(ExpireSession(When(Call.POWER_ON)))
        orders.add(ExpireSession(When(Call.WAIT)))
        orders.add(StallTask(When(Call.POWER_ON), seconds=100.0))
        succeeded(port, port.power(spare.moid, on, "op"))
        assert vm_now(port, spare.moid).is_on
        assert server.calls["Login"] >= 2
        orders.add(ExpireSession(When(Call.POWER_OFF), renewable=False))
        with pytest.raises(SessionLost, match="could not be renewed"):
            port.power(spare.moid, Power(VmPower.ON, VmPower.OFF, spare.host), "op")


def test_a_task_that_fails_is_quoted() -> None:
    site = site_named("a30pairs")
    spare = next(vm for vm in site.inventory.vms if vm.name == "spare")
    with served(site) as (server, port):
        assert server.machine is not None
        text = "Module 'DevicePowerOn' power on failed."
        server.machine.orders.add(FailTask(When(Call.POWER_ON), "GenericVmConfigFault", text))
        result = ended(port, port.power(spare.moid, Power(VmPower.OFF, VmPower.ON, spare.host), "op"))
    assert (result.state, result.fault) == (TaskState.ERROR, "GenericVmConfigFault")
    assert text in (result.message or "")


def test_waiting_for_several_tells_who_is_done() -> None:
    site = site_named("a30pairs")
    spare, web = (next(vm for vm in site.inventory.vms if vm.name == name) for name in ("spare", "web-1"))
    with served(site) as (server, port):
        assert server.machine is not None
        server.machine.orders.add(StallTask(When(Call.POWER_OFF, web.moid)))
        slow = port.power(web.moid, Power(VmPower.ON, VmPower.OFF, web.host), "op")
        quick = send(port, spare.moid, Reconfigure((FieldChange(Field.CPUS, 16, 8),)), "op")
        lost = Task("task-0", "VirtualMachine.reconfigure", spare.moid)
        pending = [slow, quick, lost]
        found: dict[str, TaskState] = {}
        while len(found) < 2:
            for result in port.wait(pending, 20):
                found[result.task.id] = result.state
                pending.remove(result.task)
        assert found == {quick.id: TaskState.SUCCESS, lost.id: TaskState.UNKNOWN}
        assert port.wait([slow], 0.3) == ()


def test_a_privilege_that_is_missing_is_named() -> None:
    site = site_named("a30pairs")
    spare = next(vm for vm in site.inventory.vms if vm.name == "spare")
    with served(site, read_only=True) as (_, port):
        with pytest.raises(PermissionMissing, match=r"VirtualMachine\.Interact\.PowerOn"):
            port.power(spare.moid, Power(VmPower.OFF, VmPower.ON, spare.host), "op")
        assert not vm_now(port, spare.moid).is_on
