"""A plan as a page for people: one file, each host before and after side by side."""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

from vplacer.plan.before_after import HostChange, Part, host_changes
from vplacer.plan.changes import Power
from vplacer.plan.model import Migration, Plan, Step, StepKind, Symbol, VmPlan
from vplacer.report.future_text import future_lines
from vplacer.report.infeasible_text import infeasible_lines
from vplacer.report.page.picture_data import picture_data
from vplacer.report.page.render import counted, json_data, page
from vplacer.report.plan_details import change_rows
from vplacer.report.plan_text import drift_lines, summary_line
from vplacer.report.plan_words import (
    bound_text,
    devices_text,
    impact_details,
    impact_text,
    place_text,
    why_text,
)
from vplacer.report.rehearsal_text import rehearsal_lines
from vplacer.report.solution_text import proof_line
from vplacer.report.source_text import source_text
from vplacer.solver.verdict import Status

_SCRIPTS: Final = ("page.js", "hosts.js")
_WORDS: Final = {
    Symbol.CREATE: "+ new",
    Symbol.CHANGE: "~ changes",
    Symbol.MIGRATE: "> moves",
    Symbol.DESTROY: "- removed",
    Symbol.REPLACE: "-/+ replaced",
}
_BEFORE: Final = {Part.CHANGES, Part.LEAVES}
_AFTER: Final = {Part.CHANGES, Part.ARRIVES, Part.NEW}


def plan_html(plan: Plan) -> str:
    """Return the page."""
    summary, cycles = plan.summary, plan.summary.power_cycles
    unplaced = infeasible_lines(plan) if plan.verdict.reasons or plan.unplaced else []
    values: dict[str, Any] = {
        "plan": plan,
        "source": source_text(plan.source, plan.created),
        "verdict": _verdict(plan),
        "tiles": [
            _tile("+", summary.created, "to create", "vms-at", "note"),
            _tile("~", summary.reconfigured, "to reconfigure", "vms-at", "note"),
            _tile(">", summary.migrated, "to migrate", "vms-at", "warning"),
            _tile("!", cycles, "power cycle" if cycles == 1 else "power cycles", "steps-at", "warning"),
            _tile("✕", len(plan.unplaced), "without a place", "unplaced" if unplaced else "vms-at", "error"),
        ],
        "counts": summary_line(plan),
        "proof": proof_line(plan),
        "rehearsal": rehearsal_lines(plan),
        "failed": plan.rehearsal is not None and bool(plan.rehearsal.faults),
        "drift": [line.strip() for line in drift_lines(plan)[1:]],
        "unplaced": "\n".join(unplaced).strip(),
        "vms": [_vm(plan, vm) for vm in sorted(plan.vms, key=_dearest_first) if vm.changed],
        "hosts": [_host(change) for change in host_changes(plan)],
        "steps": _steps(plan),
        "future": "\n".join(future_lines(plan, 0)).strip(),
    }
    return page("plan.html", _SCRIPTS, "vplacer plan", values)


def _tile(mark: str, number: int, word: str, target: str, look: str) -> dict[str, Any]:
    return {"mark": mark, "number": number, "word": word, "target": target, "look": look}


def _verdict(plan: Plan) -> dict[str, str]:
    status, placed = plan.verdict.status, f"{plan.summary.placed} of {plan.summary.requested} placed"
    match status:
        case Status.OPTIMAL:
            return {"look": "good", "text": f"Optimal, proved: {placed}."}
        case Status.FEASIBLE:
            return {"look": "warning", "text": f"Feasible, not proved to be the best: {placed}."}
        case Status.INFEASIBLE:
            return {"look": "error", "text": f"Infeasible, proved: only {placed}."}
        case Status.UNDECIDED:
            return {
                "look": "error",
                "text": "Undecided: no placement was found, and none is proved impossible.",
            }


def _dearest_first(vm: VmPlan) -> tuple[bool, bool, bool]:
    """Order VMs by what a change costs their users; new ones last, equal ones as in the plan."""
    return (vm.vm is None, not vm.impact.power_cycle, vm.impact.migration is Migration.NONE)


def _vm(plan: Plan, vm: VmPlan) -> dict[str, Any]:
    steps = [plan.step_by_id[step] for step in vm.steps]
    return {
        "name": vm.name,
        "word": _WORDS.get(vm.symbol, vm.symbol.value),
        "cycle": vm.impact.power_cycle,
        "place": place_text(plan, vm),
        "devices": devices_text(vm),
        "bound": bound_text(vm),
        "impact": impact_text(plan, vm),
        "was": [reason.text for reason in vm.reasons if reason.violation],
        "why": "; ".join(reason.text for reason in vm.reasons if not reason.violation) or why_text(vm),
        "notes": [*impact_details(vm.impact), *vm.notes],
        "rows": [(s.value, what, text) for step in steps for s, what, text in change_rows(plan, step.change)],
    }


def _host(change: HostChange) -> dict[str, Any]:
    counts = Counter(change.parts.values())
    words = [f"{counted(counts[part], 'VM')} {_verb(part, counts[part])}" for part in Part if counts[part]]
    return {
        "name": change.after.name,
        "tally": ", ".join(words),
        "before": json_data(picture_data(change.before, _parts(change, _BEFORE))),
        "after": json_data(picture_data(change.after, _parts(change, _AFTER))),
    }


def _verb(part: Part, number: int) -> str:
    if part is Part.NEW:
        return "made"
    return part.value if number == 1 else part.value.removesuffix("s")


def _parts(change: HostChange, wanted: set[Part]) -> dict[str, str]:
    return {vm: part.value for vm, part in change.parts.items() if part in wanted}


def _steps(plan: Plan) -> list[dict[str, Any]]:
    numbers = {step.id: index for index, step in enumerate(plan.steps, start=1)}
    existing = {vm.vm for vm in plan.vms if vm.vm is not None}
    return [
        {
            "effect": step.effect,
            "badges": _badges(step, step.vm in existing),
            "after": ", ".join(str(number) for number in sorted(numbers[item] for item in step.depends_on)),
            "fixed": step.irreversible if step.vm in existing else None,
        }
        for step in plan.steps
    ]


def _badges(step: Step, existing: bool) -> list[dict[str, str]]:
    """Return what a step costs the users of a VM that is there today."""
    if not existing:
        return []
    match step.kind:
        case StepKind.POWER_OFF:
            return [{"look": "warning", "word": "! power cycle: off"}]
        case StepKind.POWER_ON if isinstance(step.change, Power):
            return [{"look": "", "word": "on again"}]
        case StepKind.MIGRATE:
            return [{"look": "warning", "word": "> migrates running"}]
        case StepKind.RELOCATE:
            return [{"look": "", "word": "> moves switched off"}]
        case _:
            return []
