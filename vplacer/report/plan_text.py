"""A plan as text: one line a changed VM, what it sums up to, and what is proved."""

from __future__ import annotations

from vplacer.plan.drift_words import change_text
from vplacer.plan.model import DriftItem, Plan, Symbol, VmPlan
from vplacer.report.future_text import future_lines
from vplacer.report.infeasible_text import infeasible_lines
from vplacer.report.needs_text import plan_needs
from vplacer.report.plan_details import solver_lines, step_lines, vm_details
from vplacer.report.plan_words import (
    aligned,
    bound_text,
    count,
    devices_text,
    impact_text,
    place_text,
    why_text,
)
from vplacer.report.rehearsal_text import rehearsal_lines
from vplacer.report.solution_text import proof_line
from vplacer.report.source_text import missing_texts, source_text, what_if_lines
from vplacer.report.style import PLAIN, Style
from vplacer.solver.verdict import Status

_COLOURS = {
    Symbol.CREATE: "green",
    Symbol.CHANGE: "yellow",
    Symbol.MIGRATE: "cyan",
    Symbol.UNCHANGED: "dim",
}


def plan_text(plan: Plan, *, verbosity: int = 0, style: Style = PLAIN, seconds: float | None = None) -> str:
    """Return a plan as text, ending in a newline.

    Args:
        plan: the plan.
        verbosity: 1 = what changes field by field, and the steps; 2 = solver levels, order, assumptions.
        style: colours.
        seconds: how long the solver took; None = left out, so that equal plans are equal texts.
    """
    lines = [source_line(plan), *missing_texts(plan.source), *what_if_lines(plan.what_if, plan.hypothetical)]
    lines += drift_lines(plan)
    lines.append("")
    if plan.verdict.reasons or plan.verdict.status is Status.INFEASIBLE:
        lines += infeasible_lines(plan, style)
        lines.append("")
    lines += _vm_lines(plan, verbosity, style)
    lines += _left_alone_lines(plan)
    lines += [f"note: {text}" for text in plan.notes]
    if verbosity > 0:
        lines += plan_needs(plan)
    if verbosity > 1:
        lines += ["", *step_lines(plan), "", *solver_lines(plan)]
    lines += future_lines(plan, verbosity)
    return "\n".join(lines) + "\n\n" + summary_text(plan, style=style, seconds=seconds)


def summary_text(plan: Plan, *, style: Style = PLAIN, seconds: float | None = None) -> str:
    """Return only the last lines of a plan's text: the counts, the rehearsal and the proof."""
    lines = [
        style.paint(summary_line(plan), "bold"),
        *rehearsal_lines(plan, style),
        proof_line(plan, seconds),
    ]
    return "\n".join(lines) + "\n"


def source_line(plan: Plan) -> str:
    """Say what a plan was made from."""
    return source_text(plan.source, plan.created)


def drift_lines(plan: Plan) -> list[str]:
    """Say what moved since the previous plan, other than by that plan."""
    if not plan.drift:
        return []
    return ["Drift since the last plan", *(f"  {drift_text(item)}" for item in plan.drift)]


def drift_text(item: DriftItem) -> str:
    """Say one field that moved; of a list only what came and went."""
    return f"{item.name} {change_text(item)}"


def _vm_lines(plan: Plan, verbosity: int, style: Style) -> list[str]:
    changed = [vm for vm in plan.vms if vm.changed]
    rows = [
        (
            vm.name,
            place_text(plan, vm),
            devices_text(vm),
            bound_text(vm),
            impact_text(plan, vm),
            f"[{why_text(vm)}]",
        )
        for vm in changed
    ]
    lines = []
    for vm, row in zip(changed, aligned(rows), strict=True):
        sign = style.paint(vm.symbol.value, _COLOURS[vm.symbol])
        lines.append(f" {sign} {row}")
        lines += [f"       was: {reason.text}" for reason in vm.reasons if reason.violation]
        if verbosity > 0:
            lines += vm_details(plan, vm, style)
    unchanged = f" = {plan.summary.unchanged} unchanged"
    if plan.summary.unchanged_requested:
        unchanged += f", {plan.summary.unchanged_requested} of them in the request"
    lines.append(style.paint(unchanged, "dim"))
    if verbosity > 0:
        lines += [f"     {_stays_text(plan, vm)}" for vm in plan.vms if not vm.changed]
    return lines


def _stays_text(plan: Plan, vm: VmPlan) -> str:
    return f"= {vm.name}  {place_text(plan, vm)}  {devices_text(vm)}"


def _left_alone_lines(plan: Plan) -> list[str]:
    if not plan.left_alone:
        return []
    rows = [(item.name, item.reason) for item in plan.left_alone]
    return ["", "Left alone", *(f"   {line}" for line in aligned(rows))]


def summary_line(plan: Plan) -> str:
    """Return the line that counts: what would be done, and the violations that remain."""
    summary = plan.summary
    parts = [f"{summary.created} to create"] if summary.created else []
    parts += [
        f"{summary.reconfigured} to reconfigure",
        f"{summary.migrated} to migrate",
        count(summary.power_cycles, "power cycle"),
        f"{summary.unchanged} unchanged",
    ]
    text = f"{'Hypothetical plan' if plan.hypothetical else 'Plan'}: {', '.join(parts)}."
    if plan.verdict.status is Status.INFEASIBLE:
        text = f"Plan: none, since not all can be placed. Shown: {', '.join(parts)}."
    if plan.verdict.status is Status.UNDECIDED:
        text = "Plan: none yet."
    if plan.unplaced:
        text += f" {len(plan.unplaced)} without a place."
    if summary.violations_after is not None:
        left = count(summary.violations_after, "violation")
        was = f" (was {summary.violations_before})" if summary.violations_before is not None else ""
        text += f" {left} left{was}."
    return text
