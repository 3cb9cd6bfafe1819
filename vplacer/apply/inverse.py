"""Taking a step back: the inverse step, held to the fields that still are as vplacer wrote them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace

from vplacer.apply.compare import same
from vplacer.apply.words import Words
from vplacer.inventory.vm import VmPower
from vplacer.plan.changes import (
    Action,
    DeviceChange,
    Field,
    OverrideDrs,
    Power,
    Reconfigure,
    Relocate,
    Scalar,
)
from vplacer.plan.effects import checks_of, facts_after
from vplacer.plan.model import Fact, FieldFact, Step, StepKind
from vplacer.plan.observed import EXTRA_PREFIX, device_text

_KINDS = {StepKind.POWER_OFF: StepKind.POWER_ON, StepKind.POWER_ON: StepKind.POWER_OFF}


def inverse_step(step: Step, depends_on: Iterable[str] = ()) -> Step | None:
    """Return the step that takes one back, under the same id; None = nothing does."""
    if step.undo is None:
        return None
    written = {fact.field for fact in step.checks}
    return replace(
        step,
        kind=_KINDS.get(step.kind, step.kind),
        change=step.undo,
        effect=f"take back: {step.effect}",
        preconditions=step.checks,
        checks=tuple(f for f in step.preconditions if f.object == step.vm and f.field in written),
        undo=step.change,
        irreversible=None,
        depends_on=tuple(depends_on),
    )


def held_to(step: Step, facts: Mapping[str, Fact], words: Words) -> tuple[Step | None, tuple[str, ...]]:
    """Leave out of an inverse step what somebody else has changed since.

    Args:
        step: the inverse step.
        facts: the fields of its VM as they are.
        words: names objects in what is told.

    Returns:
        The step for the rest, None = nothing is left to do; and what is left as it is, in words.
    """
    match step.change:
        case Reconfigure():
            return _reconfigure(step, step.change, facts, words)
        case Power() as power:
            if facts.get("power") == power.after.value:
                return None, ()
            host = facts.get("host")
            if power.after is VmPower.ON and isinstance(host, str):
                # Where it is now: it may not have been possible to take it back to its old host.
                step = replace(step, change=replace(power, host=host))
            return step, ()
        case Relocate() as move:
            if facts.get("host") == move.host_after:
                return None, ()
            if facts.get("host") != move.host_before:
                return None, (f"it is on another host by now ({words.value('host', facts.get('host'))})",)
            return step, ()
        case OverrideDrs() as drs:
            if same(facts.get("drs_override"), drs.before):
                return step, ()
            if same(facts.get("drs_override"), drs.after):
                return None, ()
            return None, ("its DRS level was changed since",)
        case _:
            return step, ()


def _reconfigure(
    step: Step, change: Reconfigure, facts: Mapping[str, Fact], words: Words
) -> tuple[Step | None, tuple[str, ...]]:
    left: list[str] = []
    fields = []
    for item in change.fields:
        now = facts.get(item.field.value)
        if same(now, _fact(item.before)):
            fields.append(item)
        elif not same(now, _fact(item.after)):
            left.append(
                f"{words.field(item.field.value)} was changed to {words.value(item.field.value, now)} since"
            )
    extras = []
    for extra in change.extra_config:
        now = facts.get(EXTRA_PREFIX + extra.key)
        if now == extra.before:
            extras.append(extra)
        elif now != extra.after:
            left.append(f"{extra.key} was changed to {words.value(extra.key, now)} since")
    devices, groups = change.devices, change.groups
    if (devices or groups) and not _can_go_back(step, devices, facts):
        if not same(facts.get("devices"), _value(step.checks, "devices")):
            left.append("its devices were changed since")
        devices, groups = (), ()
    kept = Reconfigure(tuple(fields), tuple(extras), devices, groups)
    if not kept:
        return None, tuple(left)
    checks = checks_of(kept, facts_after(kept, facts))
    unlocked = not facts.get(Field.MEMORY_LOCKED_TO_MAX.value) or kept.field(Field.MEMORY_LOCKED_TO_MAX)
    if unlocked and not kept.field(Field.MEMORY_RESERVED_MIB):
        # What stays reserved of memory that is no longer locked is the server's affair.
        checks.pop("memory_reserved_mib", None)
    return replace(step, change=kept, checks=tuple(FieldFact(step.vm, *c) for c in checks.items())), tuple(
        left
    )


def _can_go_back(step: Step, devices: tuple[DeviceChange, ...], facts: Mapping[str, Fact]) -> bool:
    """Whether the devices are as they were written, or at least those that would go are still there."""
    now = facts.get("devices")
    if same(now, _value(step.preconditions, "devices")):
        return True
    going = Counter(
        device_text(item.before)
        for item in devices
        if item.action is not Action.ADD and item.before is not None
    )
    return bool(going) and going <= Counter(now if isinstance(now, tuple) else ())


def _value(facts: Iterable[FieldFact], field: str) -> Fact:
    return next((fact.value for fact in facts if fact.field == field), None)


def _fact(value: Scalar) -> Fact:
    return tuple(str(item) for item in value) if isinstance(value, tuple) else value
