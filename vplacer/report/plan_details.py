"""The details of a plan: fields before and after, steps in order, the solver's levels."""

from __future__ import annotations

from vplacer.inventory.vm import SriovBacking, VmPower
from vplacer.plan.changes import (
    Action,
    Change,
    Clone,
    Delete,
    DeviceChange,
    DeviceValue,
    OverrideDrs,
    Power,
    Reconfigure,
    Relocate,
    UpgradeHardware,
)
from vplacer.plan.drift_words import value_text
from vplacer.plan.model import Plan, Step, Symbol, VmPlan
from vplacer.plan.observed import device_text
from vplacer.report.needs_text import step_needs
from vplacer.report.plan_words import aligned, count, impact_details
from vplacer.report.style import Style

_INDENT = "       "
_SIGN_COLOURS = {Symbol.CREATE: "green", Symbol.DESTROY: "red", Symbol.REPLACE: "yellow"}
Row = tuple[Symbol, str, str]


def vm_details(plan: Plan, vm: VmPlan, style: Style) -> list[str]:
    """Return what changes of one VM field by field, why, and how it can be taken back."""
    steps = [plan.step_by_id[step_id] for step_id in vm.steps]
    rows = [row for step in steps for row in change_rows(plan, step.change)]
    lines = []
    widths = aligned([(sign.value, name, text) for sign, name, text in rows])
    for (sign, _, _), line in zip(rows, widths, strict=True):
        painted = style.paint(sign.value, _SIGN_COLOURS.get(sign, "yellow"))
        lines.append(f"{_INDENT}{painted}{line[len(sign.value) :]}")
    lines += [f"{_INDENT}why: {reason.text}" for reason in vm.reasons if not reason.violation]
    lines += [f"{_INDENT}{text}" for text in impact_details(vm.impact)]
    lines += [f"{_INDENT}note: {text}" for text in vm.notes]
    fixed = [step.irreversible for step in steps if step.irreversible is not None and vm.vm is not None]
    lines.append(f"{_INDENT}steps: {', '.join(step.kind.value for step in steps)}")
    lines += [f"{_INDENT}cannot be undone: {text}" for text in fixed]
    return lines


def change_rows(plan: Plan, change: Change) -> list[Row]:
    """Return the rows of a change: sign, what, before and after."""
    match change:
        case Clone():
            store = f", datastore {plan.name(change.datastore)}" if change.datastore else ""
            text = f"from {plan.name(change.template)} in {change.folder or '/'}{store}"
            return [(Symbol.CREATE, "clone", text)]
        case Delete():
            return [(Symbol.DESTROY, "vm", change.name)]
        case UpgradeHardware():
            return [(Symbol.CHANGE, "hardware_version", f"{change.before} -> {change.after}")]
        case Power():
            return [(Symbol.POWER_CYCLE, "power", _power_text(plan, change))]
        case Relocate():
            how = "running" if change.live else "switched off"
            text = f"{plan.name(change.host_before)} -> {plan.name(change.host_after)} ({how})"
            return [(Symbol.MIGRATE, "host", text)]
        case OverrideDrs():
            text = f"{change.before or 'as the cluster'} -> {change.after or 'as the cluster'}"
            return [(Symbol.CHANGE, "drs", text)]
        case Reconfigure():
            return _reconfigure_rows(plan, change)


def _power_text(plan: Plan, change: Power) -> str:
    words = {VmPower.ON: "on", VmPower.OFF: "off", VmPower.SUSPENDED: "suspended"}
    where = f" at {plan.name(change.host)}" if change.host and change.after is VmPower.ON else ""
    return f"{words[change.before]} -> {words[change.after]}{where}"


def _reconfigure_rows(plan: Plan, change: Reconfigure) -> list[Row]:
    rows: list[Row] = [
        (Symbol.CHANGE, item.field.value, f"{value_text(item.before)} -> {value_text(item.after)}")
        for item in change.fields
    ]
    for extra in change.extra_config:
        sign = Symbol.CHANGE
        if extra.before is None or extra.after is None:
            sign = Symbol.CREATE if extra.before is None else Symbol.DESTROY
        rows.append((sign, extra.key, f"{value_text(extra.before)} -> {value_text(extra.after)}"))
    for group in change.groups:
        sign = Symbol.CREATE if group.action is Action.ADD else Symbol.DESTROY
        rows.append((sign, "device group", group.group.name))
    return rows + _device_rows(plan, change)


def _device_rows(plan: Plan, change: Reconfigure) -> list[Row]:
    """Return devices; a removal and an addition in one task are shown as one replacement."""
    removed = [item for item in change.devices if item.action is Action.REMOVE]
    added = [item for item in change.devices if item.action is Action.ADD]
    edited = [item for item in change.devices if item.action is Action.EDIT]
    paired = min(len(removed), len(added))
    rows: list[Row] = [
        (Symbol.REPLACE, new.ref, f"{_before(plan, old)} -> {_after(plan, new)}")
        for old, new in zip(removed[:paired], added[:paired], strict=True)
    ]
    rows += [(Symbol.DESTROY, item.ref, _before(plan, item)) for item in removed[paired:]]
    rows += [(Symbol.CREATE, item.ref, _after(plan, item)) for item in added[paired:]]
    rows += [(Symbol.CHANGE, item.ref, f"{_before(plan, item)} -> {_after(plan, item)}") for item in edited]
    return rows


def _before(plan: Plan, item: DeviceChange) -> str:
    return _device(plan, item.before) if item.before is not None else "none"


def _after(plan: Plan, item: DeviceChange) -> str:
    return _device(plan, item.after) if item.after is not None else "none"


def _device(plan: Plan, device: DeviceValue) -> str:
    """Return a device as text, its network by name."""
    text = device_text(device)
    if isinstance(device.backing, SriovBacking) and device.backing.network is not None:
        network = device.backing.network
        text = text.replace(f" on {network}", f" on {plan.name(network)}")
    return text


def step_lines(plan: Plan) -> list[str]:
    """Return all steps in order, with the steps each waits for and what each needs."""
    numbers = {step.id: index for index, step in enumerate(plan.steps, start=1)}
    rows = [(f"{numbers[step.id]}.", step.effect, _waits(step, numbers)) for step in plan.steps]
    lines = [f"Steps ({count(len(plan.steps), 'step')})"]
    for step, row in zip(plan.steps, aligned(rows), strict=True):
        lines += [f"  {row}", f"{_INDENT}needs {step_needs(step)}"]
    return lines


def _waits(step: Step, numbers: dict[str, int]) -> str:
    waits = sorted(numbers[item] for item in step.depends_on)
    return f"after {', '.join(str(number) for number in waits)}" if waits else ""


def solver_lines(plan: Plan) -> list[str]:
    """Return the levels of the objective with value and bound, and what the answer rests on."""
    verdict = plan.verdict
    rows = [("level", "value", "bound", "gap", "unit")]
    for level in verdict.levels:
        bound, gap = ("?" if number is None else str(number) for number in (level.bound, level.gap))
        rows.append((level.title, str(level.value), bound, gap, level.unit))
    head = f"Solver {verdict.solver_version}, seed {verdict.seed}: {verdict.status.value}"
    lines = [head, *(f"  {line}" for line in aligned(rows))]
    return lines + [f"  assumed: {text}" for text in verdict.assumptions]
