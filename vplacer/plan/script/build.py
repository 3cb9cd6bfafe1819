"""Turns a plan into the list of steps that every exported script goes through."""

from __future__ import annotations

from vplacer.errors import UsageError
from vplacer.inventory.vm import VmPower
from vplacer.plan.changes import Clone, Power, UpgradeHardware
from vplacer.plan.model import Fact, FieldFact, Migration, ObjectKind, Plan, Step, StepKind
from vplacer.plan.plan_file import plan_document
from vplacer.plan.script.fields import NOT_COMPARED, host_fields, vm_fields
from vplacer.plan.script.model import Consent, Guard, Script, ScriptStep, Target

_NEW = "new:"


def make_script(plan: Plan) -> Script:
    """Return what a script for a plan must say.

    Raises:
        UsageError: the plan may not be carried out.
    """
    if plan.hypothetical:
        raise UsageError("a hypothetical plan is not carried out", why=f"made for: {'; '.join(plan.what_if)}")
    if plan.steps and not plan.applyable:
        raise UsageError(
            "the plan is only shown, and not carried out",
            why="not all VMs of the request can be placed",
            hint="plan what can be placed: --partial",
        )
    existing = [vm for vm in plan.vms if vm.vm is not None]
    return Script(
        plan=plan,
        sha256=str(plan_document(plan)["sha256"]),
        before=_before(plan),
        steps=_steps(plan),
        consents=_consents(plan),
        cycled=tuple(vm.name for vm in existing if vm.impact.power_cycle),
        moved=tuple(vm.name for vm in existing if vm.impact.migration is not Migration.NONE),
        not_compared=NOT_COMPARED,
    )


def _consents(plan: Plan) -> tuple[Consent, ...]:
    existing = [vm for vm in plan.vms if vm.vm is not None]
    found = []
    if any(vm.impact.power_cycle for vm in existing):
        found.append(Consent.POWER_CYCLE)
    if any(vm.impact.migration is not Migration.NONE for vm in existing):
        found.append(Consent.MIGRATION)
    if any(s.kind is StepKind.UPGRADE_HARDWARE and not s.vm.startswith(_NEW) for s in plan.steps):
        found.append(Consent.HW_UPGRADE)
    if any(isinstance(s.change, Power) and s.change.before is VmPower.SUSPENDED for s in plan.steps):
        found.append(Consent.HARD_POWER_OFF)
    return tuple(found)


def _before(plan: Plan) -> tuple[Guard, ...]:
    found = []
    for seen in plan.observed:
        if seen.kind is ObjectKind.VCENTER:
            continue
        pick = host_fields if seen.kind is ObjectKind.HOST else vm_fields
        found.append(Guard(seen.kind, seen.name, seen.id, pick(seen.fields)))
    return tuple(found)


def _steps(plan: Plan) -> tuple[ScriptStep, ...]:
    numbers = {step.id: number for number, step in enumerate(plan.steps, start=1)}
    names = _vm_names(plan)
    floating = {step for vm in plan.vms if not vm.nodes for step in vm.steps}
    started: set[str | None] = set()
    versions = _hardware_versions(plan)
    found = []
    for step in plan.steps:
        pause = False
        if isinstance(step.change, Power) and step.kind is StepKind.POWER_ON and step.id in floating:
            pause = step.change.host in started
            started.add(step.change.host)
        version = versions.get(step.vm)
        if isinstance(step.change, Clone):
            version = versions[step.vm] = versions.get(step.change.template)
        if isinstance(step.change, UpgradeHardware):
            versions[step.vm] = step.change.after
        found.append(
            ScriptStep(
                number=numbers[step.id],
                step=step,
                target=_target(step.vm, names),
                guards=_guards(step.preconditions, names),
                checks=_checks(step, names),
                must_be_new=step.change.name if isinstance(step.change, Clone) else None,
                pause=pause,
                waits_for=tuple(sorted(numbers[name] for name in step.depends_on)),
                hardware_version=version,
            )
        )
    return tuple(found)


def _hardware_versions(plan: Plan) -> dict[str, int | None]:
    found: dict[str, int | None] = {}
    for seen in plan.observed:
        version = dict(seen.fields).get("hardware_version")
        if seen.kind is ObjectKind.VM and isinstance(version, int):
            found[seen.id] = version
    return found


def _vm_names(plan: Plan) -> dict[str, str]:
    names = {seen.id: seen.name for seen in plan.observed if seen.kind is ObjectKind.VM}
    names |= {vm.vm or vm.demand: vm.name for vm in plan.vms}
    return names


def _target(vm: str, names: dict[str, str]) -> Target:
    if vm.startswith(_NEW):
        return Target(names.get(vm, vm.removeprefix(_NEW)), None)
    return Target(names.get(vm, vm), vm)


def _guards(facts: tuple[FieldFact, ...], names: dict[str, str]) -> tuple[Guard, ...]:
    by_object: dict[str, list[tuple[str, Fact]]] = {}
    for fact in facts:
        if fact.field != "exists":
            by_object.setdefault(fact.object, []).append((fact.field, fact.value))
    return tuple(
        Guard(ObjectKind.VM, target.name, target.moid, picked)
        for vm, values in by_object.items()
        if (picked := vm_fields(values)) and (target := _target(vm, names))
    )


def _checks(step: Step, names: dict[str, str]) -> Guard | None:
    picked = vm_fields((fact.field, fact.value) for fact in step.checks)
    target = _target(step.vm, names)
    return Guard(ObjectKind.VM, target.name, target.moid, picked) if picked else None
