"""The fault matrix: what goes wrong, at which step of which plan."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from tests.plan.cases import Case, all_cases
from vplacer.inventory.vm import Backing, VmPower
from vplacer.lab.model import orders
from vplacer.lab.model.edit import VmEdit
from vplacer.lab.model.orders import Call, Order, When
from vplacer.plan.changes import Action, Clone, OverrideDrs, Power, Reconfigure, Relocate, UpgradeHardware
from vplacer.plan.model import Plan, Step

CASES = Path(__file__).parent / "cases"


@dataclass(frozen=True)
class Combination:
    """One fault at one step of one plan."""

    fault: dict[str, Any]
    case: str
    step: str

    @property
    def id(self) -> str:
        return f"{self.fault['name']} | {self.case.partition(': ')[2]} | {self.step.rpartition('/')[2]}"


@cache
def plan_case(name: str) -> tuple[Case, Plan]:
    """Return a case of the planner's tests and its plan."""
    (case,) = [case for case in all_cases() if case.id == name]
    return case, case.plan()


def combinations() -> Iterator[Combination]:
    """Return every fault at every step it makes sense for."""
    document = yaml.safe_load((CASES / "faults.yaml").read_text())
    for name in document["plans"]:
        _, plan = plan_case(name)
        for step in plan.steps:
            for fault in document["faults"]:
                if _makes_sense(plan, step, fault.get("applies", ())):
                    yield Combination(fault, name, step.id)


def _makes_sense(plan: Plan, step: Step, applies: list[str]) -> bool:
    if "tasks" in applies and call_of(step)[0] is Call.SHUT_DOWN:
        return False
    if "goes_to" in applies and goes_to(step) is None:
        return False
    if "gets_devices" in applies and not gets(plan, step):
        return False
    return "vm" not in applies or not isinstance(step.change, Clone | OverrideDrs)


def goes_to(step: Step) -> str | None:
    """Return the host that a step makes a VM at, moves it to, or starts it at."""
    match step.change:
        case Clone(host=host) | Power(after=VmPower.ON, host=host) | Relocate(host_after=host):
            return host
        case _:
            return None


def gets(plan: Plan, step: Step) -> tuple[Backing, ...]:
    """Return the devices that the VM of a step gets by the plan."""
    changes = [s.change for s in plan.steps if s.vm == step.vm and isinstance(s.change, Reconfigure)]
    devices = [item for change in changes for item in change.devices if item.action is Action.ADD]
    return tuple(item.after.backing for item in devices if item.after is not None)


def call_of(step: Step) -> tuple[Call, str | None]:
    """Return the call of a step and the object by which orders know it."""
    vm = None if step.vm.startswith("new:") else step.vm
    match step.change:
        case Clone() as clone:
            return Call.CLONE, clone.template
        case UpgradeHardware():
            return Call.UPGRADE, vm
        case Relocate():
            return Call.RELOCATE, vm
        case Reconfigure():
            return Call.RECONFIGURE, vm
        case OverrideDrs():
            return Call.EDIT_CLUSTER, None
        case Power(before=VmPower.ON):
            return Call.SHUT_DOWN, vm
        case Power(after=VmPower.ON):
            return Call.POWER_ON, vm
        case _:
            return Call.POWER_OFF, vm


def order_for(fault: dict[str, Any], plan: Plan, step: Step) -> Order:
    """Return the order to the simulated vCenter that makes a fault happen at a step."""
    fields = dict(fault["order"])
    kind = getattr(orders, fields.pop("type"))
    call, vm = call_of(step)
    same = [s for s in plan.steps if call_of(s) == (call, vm) and s.vm == step.vm]
    when = When(call, vm, nth=same.index(step) + 1, times=fields.pop("times", 1))
    if "goes_to" in fault.get("applies", ()):
        fields["host"] = goes_to(step)
    if kind is orders.TakeDevices:
        like = next((s.change.template for s in plan.steps if isinstance(s.change, Clone)), None)
        runs_at = [host for s in plan.steps if s.vm == step.vm and (host := goes_to(s)) is not None]
        fields |= {"vm": vm or like, "host": runs_at[-1], "backings": gets(plan, step)}
    if kind is orders.ChangeVm:
        fields["edit"] = VmEdit(memory_reservation_mib=1)
    order: Order = kind(when, **fields)
    return order
