"""Renders a plan in the format asked for."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from vplacer.cli.common import Common

if TYPE_CHECKING:
    from vplacer.apply.preflight import Preflight
    from vplacer.plan.model import Plan


def render(
    plan: Plan,
    common: Common,
    *,
    format: str,
    summary: bool,
    seconds: float | None = None,
    checked: Preflight | None = None,
) -> str:
    """Return a plan as text or JSON.

    Args:
        plan: the plan.
        common: tells colours and how much detail.
        format: "text" or "json".
        summary: counts and verdict only.
        seconds: how long the solver took, for text; None = not told.
        checked: what the vCenter says of its steps; None = it was not asked.
    """
    if format == "json":
        from vplacer.report.plan_json import plan_json

        return _summary_json(plan, checked) if summary else plan_json(plan, checked)
    from vplacer.report.plan_text import plan_text, source_line, summary_line
    from vplacer.report.solution_text import proof_line
    from vplacer.report.style import Style

    if summary:
        return "\n".join([source_line(plan), summary_line(plan), proof_line(plan, seconds)])
    style = Style(common.color(common.stdout))
    return plan_text(plan, verbosity=common.verbose, style=style, seconds=seconds)


def render_check(plan: Plan, common: Common, checked: Preflight) -> str:
    """Return what the vCenter says of a plan's steps, as text."""
    from vplacer.report.apply_text import preflight_text
    from vplacer.report.style import Style

    return preflight_text(plan, checked, style=Style(common.color(common.stdout)))


_SUMMARY_KEYS = (
    "format",
    "format_version",
    "created",
    "source",
    "verdict",
    "applyable",
    "summary",
    "unplaced",
    "sha256",
)


def _summary_json(plan: Plan, checked: Preflight | None) -> str:
    """Return the parts of a plan file that count and judge; ``sha256`` is that of the whole plan."""
    from vplacer.plan.plan_file import CHECK, plan_document

    document = plan_document(plan)
    shown = {key: document[key] for key in _SUMMARY_KEYS}
    if checked is not None:
        from vplacer.report.apply_json import preflight_document

        shown[CHECK] = preflight_document(checked)
    return json.dumps(shown, sort_keys=True, indent=1)
