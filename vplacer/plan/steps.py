"""The steps of one VM, in order: off, away from the old host, changed, on again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from vplacer.inventory.vm import VmPower
from vplacer.plan.changes import (
    Action,
    Change,
    Clone,
    Field,
    FieldChange,
    Power,
    Reconfigure,
    Relocate,
    inverse,
)
from vplacer.plan.draft import Draft
from vplacer.plan.effects import checks_of, facts_after, facts_before
from vplacer.plan.model import Fact, FieldFact, Step, StepKind
from vplacer.plan.observed import vm_facts

_WHY_NOT = {
    StepKind.UPGRADE_HARDWARE: "a hardware version cannot be lowered again",
    StepKind.POWER_OFF: "the suspended memory of the VM is given up",
}


@dataclass(slots=True)
class _Chain:
    """Steps that follow one another, and the VM's fields as they leave it."""

    vm: str
    facts: dict[str, Fact]
    names: Mapping[str, str]
    steps: list[Step] = field(default_factory=list)

    def add(self, name: str, kind: StepKind, change: Change, effect: str, subject: str | None = None) -> None:
        before = facts_before(change, self.facts)
        after = facts_after(change, self.facts)
        undo = _with_reservation(inverse(change), change, self.facts)
        preconditions = [FieldFact(subject or self.vm, *item) for item in before.items()]
        if isinstance(change, Clone):
            preconditions.append(FieldFact(self.vm, "exists", False))
        step = Step(
            id=f"{self.vm}/{name}",
            kind=kind,
            vm=self.vm,
            change=change,
            effect=effect,
            preconditions=tuple(preconditions),
            checks=tuple(FieldFact(self.vm, *item) for item in checks_of(change, after).items()),
            undo=undo,
            irreversible=None if undo is not None else _WHY_NOT[kind],
            depends_on=(self.steps[-1].id,) if self.steps else (),
        )
        self.steps.append(step)
        self.facts = after


def _with_reservation(undo: Change | None, change: Change, before: Mapping[str, Fact]) -> Change | None:
    """Let an undo also bring back the reservation that locking all memory has replaced."""
    locked = change.field(Field.MEMORY_LOCKED_TO_MAX) if isinstance(change, Reconfigure) else None
    reserved = before.get(Field.MEMORY_RESERVED_MIB.value)
    if (
        not isinstance(undo, Reconfigure)
        or locked is None
        or not locked.after
        or not isinstance(reserved, int)
    ):
        return undo
    after = facts_after(change, before).get(Field.MEMORY_RESERVED_MIB.value)
    if not isinstance(after, int) or not isinstance(reserved, int) or locked.before:
        return undo
    return replace(undo, fields=(*undo.fields, FieldChange(Field.MEMORY_RESERVED_MIB, after, reserved)))


def steps_of(draft: Draft, names: Mapping[str, str]) -> tuple[Step, ...]:
    """Return the steps of a VM, each depending on the one before. ``names``: display names of objects."""
    if not draft.changes:
        return ()
    vm = draft.demand.id if draft.is_new else draft.today.moid
    chain = _Chain(vm, vm_facts(draft.today), names)
    host = names.get(draft.host.moid, draft.host.moid)
    if draft.clone is not None:
        template = names.get(draft.clone.template, draft.clone.template)
        chain.add(
            "clone",
            StepKind.CLONE,
            draft.clone,
            f"clone {draft.demand.name} from {template} to {host}, off",
            draft.clone.template,
        )
    elif draft.was_on and draft.off:
        chain.add(
            "power_off",
            StepKind.POWER_OFF,
            Power(draft.today.power, VmPower.OFF, draft.today.host),
            f"switch {draft.demand.name} off",
        )
    if draft.detach:
        text = (
            f"take devices of {names.get(draft.today.host or '', 'the host')} away from {draft.demand.name}"
        )
        chain.add("detach", StepKind.RECONFIGURE, draft.detach, text)
    if draft.relocate is not None:
        _add_relocate(chain, draft, draft.relocate, host)
    if draft.upgrade is not None:
        versions = f"{draft.upgrade.before} to {draft.upgrade.after}"
        text = f"upgrade {draft.demand.name} from hardware version {versions}"
        chain.add("upgrade_hardware", StepKind.UPGRADE_HARDWARE, draft.upgrade, text)
    if draft.reconfigure:
        chain.add("reconfigure", StepKind.RECONFIGURE, draft.reconfigure, reconfigure_effect(draft))
    if draft.drs is not None:
        text = f"let DRS recommend, not carry out, moves of {draft.demand.name}"
        chain.add("override_drs", StepKind.OVERRIDE_DRS, draft.drs, text)
    if draft.powers_on:
        change = Power(VmPower.OFF, VmPower.ON, draft.host.moid)
        chain.add("power_on", StepKind.POWER_ON, change, f"switch {draft.demand.name} on at {host}")
    return tuple(chain.steps)


def _add_relocate(chain: _Chain, draft: Draft, change: Relocate, host: str) -> None:
    kind = StepKind.MIGRATE if change.live else StepKind.RELOCATE
    how = "running" if change.live else "switched off"
    chain.add(kind.value, kind, change, f"move {draft.demand.name} {how} to {host}")


def reconfigure_effect(draft: Draft) -> str:
    """Say in a sentence what a reconfigure does, and how much of it."""
    change = draft.reconfigure
    settings = len(change.fields) + len(change.extra_config)
    parts = [f"{settings} setting{'' if settings == 1 else 's'}"] if settings else []
    words = {Action.REMOVE: "removed", Action.ADD: "added", Action.EDIT: "edited"}
    found = Counter(item.action for item in change.devices)
    devices = [f"{found[action]} {word}" for action, word in words.items() if found[action]]
    if devices:
        parts.append(f"devices: {', '.join(devices)}")
    return f"reconfigure {draft.demand.name}: {'; '.join(parts)}"
