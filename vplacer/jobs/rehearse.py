"""Rehearses a saved plan over SOAP and HTTPS: the real executor, adapter and session at a simulated vCenter.

It is made from the inventory the plan was made from, so that nothing of the real vCenter is touched; things
can be ordered to go wrong on the way.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from vplacer.apply.options import ApplyOptions
from vplacer.errors import UsageError
from vplacer.jobs.apply import Watch, load_applyable
from vplacer.jobs.fault_words import FAULTS
from vplacer.jobs.output_file import check_temporary_folder
from vplacer.jobs.source import SourceOptions, read_source
from vplacer.jobs.world import World

if TYPE_CHECKING:
    from vplacer.apply.outcome import Outcome
    from vplacer.lab.model.orders import Order, When
    from vplacer.plan.model import Plan, Step


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that goes wrong at a step. ``step``: its id or its number from 1; None = the first."""

    kind: str
    step: str | None = None


@dataclass(frozen=True, slots=True)
class RehearseJob:
    """What to rehearse, on what, and what goes wrong.

    Args:
        plan: the plan file.
        source: where the inventory comes from.
        options: as of an apply; the consents are those that an apply would be given.
        faults: what goes wrong.
        speed: seconds of the simulated vCenter's time in one second.
    """

    plan: Path
    source: SourceOptions
    options: ApplyOptions
    faults: tuple[Fault, ...] = ()
    speed: float = 60.0


@dataclass(frozen=True, slots=True)
class Rehearsed:
    """How it went. ``told``: what was ordered to go wrong, in words."""

    plan: Plan
    outcome: Outcome
    told: tuple[str, ...] = field(default=())


def parse_fault(text: str) -> Fault:
    """Return the fault of a text: ``KIND`` or ``KIND@STEP``.

    Raises:
        ValueError: there is no such kind.
    """
    kind, _, step = text.partition("@")
    if kind not in FAULTS:
        raise ValueError(f"'{kind}' is no kind of fault; there are {', '.join(FAULTS)}")
    return Fault(kind, step or None)


def run_rehearse(job: RehearseJob, world: World, watch: Watch) -> Rehearsed:
    """Carry a plan out at a simulated vCenter of its own.

    Raises:
        RequestError: the plan is only to be looked at, or lacks a consent; the inventory is of another
            vCenter; a fault names no step.
        StaleError: what the plan was decided on is not so in the inventory.
    """
    from vplacer.apply.clock import FastClock
    from vplacer.apply.run import apply_plan
    from vplacer.inventory.site import Site
    from vplacer.lab.soap.server import LabServer
    from vplacer.vsphere.address import Address
    from vplacer.vsphere.credentials import Credentials
    from vplacer.vsphere.secret import Secret
    from vplacer.vsphere.session import ConnectOptions, Session
    from vplacer.vsphere.writer import VCenterPort

    plan = load_applyable(job.plan)
    orders = [_order(fault, plan) for fault in job.faults]
    check_temporary_folder()
    reading = read_source(job.source, world)
    _demand_same(plan, reading.inventory.about.instance_uuid, reading.inventory.about.name)
    site = Site(plan.source.vcenter, "snapshot", reading.inventory, reading.overlays)
    # Its clock runs from the start, as that of a vCenter does, and the executor's with it.
    with LabServer(site, speed=job.speed, clock_runs=True) as server:
        machine = server.machine
        assert machine is not None
        clock = FastClock(machine.clock(), job.speed)
        credentials = Credentials(server.username, Secret(server.password), "the lab", "the lab")
        connect = ConnectOptions(address=Address.parse(server.url), ca_file=server.ca_file)
        for order in orders:
            machine.orders.add(order)
        with Session.connect(connect, credentials) as session:
            port = VCenterPort(session, sleep=clock.sleep, seconds=clock.seconds)
            outcome = apply_plan(
                plan,
                port,
                job.options,
                None,
                clock,
                watch.listener,
                watch.stop,
                overlays=reading.overlays,
            )
    told = tuple(f"{FAULTS[fault.kind]}: {_step(fault, plan).effect}" for fault in job.faults)
    return Rehearsed(plan, outcome, told)


def _demand_same(plan: Plan, uuid: str, name: str) -> None:
    if plan.source.instance_uuid != uuid:
        raise UsageError(
            "this is not the inventory that the plan was made for",
            obj=name,
            why=f"the plan is for {plan.source.vcenter}",
            hint="give the snapshot that it was made from, or read that vCenter",
        )


def _step(fault: Fault, plan: Plan) -> Step:
    """Return the step that a fault is at.

    Raises:
        UsageError: there is none of that id or number.
    """
    if not plan.steps:
        raise UsageError("the plan has no steps at which anything could go wrong")
    if fault.step is None:
        return plan.steps[0]
    if re.fullmatch(r"[0-9]{1,6}", fault.step) and 1 <= int(fault.step) <= len(plan.steps):
        return plan.steps[int(fault.step) - 1]
    found = plan.step_by_id.get(fault.step)
    if found is None:
        raise UsageError(
            f"the plan has no step '{fault.step}'",
            why=f"given with --fault {fault.kind}@{fault.step}",
            hint=f"give a number from 1 to {len(plan.steps)}, or an id, which `vplacer show -vv` lists",
        )
    return found


def _when(step: Step, plan: Plan) -> When:
    """Return the call of a step, as orders name it."""
    from vplacer.lab.model.orders import Call, When
    from vplacer.plan.changes import Clone
    from vplacer.plan.model import StepKind

    calls = {
        StepKind.CLONE: Call.CLONE,
        StepKind.UPGRADE_HARDWARE: Call.UPGRADE,
        StepKind.RECONFIGURE: Call.RECONFIGURE,
        StepKind.RELOCATE: Call.RELOCATE,
        StepKind.MIGRATE: Call.RELOCATE,
        StepKind.OVERRIDE_DRS: Call.EDIT_CLUSTER,
        StepKind.POWER_ON: Call.POWER_ON,
        StepKind.POWER_OFF: Call.SHUT_DOWN,
    }
    call = calls[step.kind]
    if isinstance(step.change, Clone):
        return When(call, step.change.template)
    if call is Call.EDIT_CLUSTER or step.vm.startswith("new:"):
        # A VM that is yet to be made has no id: the call of that kind which would be its turn.
        same = [item for item in plan.steps if item.kind is step.kind]
        nth = 1 + [item.id for item in same].index(step.id)
        return When(call, nth=nth)
    return When(call, step.vm)


def _order(fault: Fault, plan: Plan) -> Order:
    from vplacer.lab.model import orders
    from vplacer.lab.model.edit import VmEdit

    when = _when(_step(fault, plan), plan)
    match fault.kind:
        case "fail":
            return orders.FailTask(when)
        case "refuse":
            return orders.FailCall(when)
        case "stall":
            return orders.StallTask(when, 600.0)
        case "drop-before":
            return orders.DropConnection(when, carried_out=False)
        case "drop-after":
            return orders.DropConnection(when, carried_out=True)
        case "expire":
            return orders.ExpireSession(when)
        case "change":
            return orders.ChangeVm(when, VmEdit(extra_config=(("numa.nodeAffinity", "0"),)))
        case "off":
            return orders.StopVm(when)
        case "take":
            return orders.TakeDevices(when)
        case "lose-host":
            return orders.LoseHost(when)
        case _:
            return orders.StartMaintenance(when)
