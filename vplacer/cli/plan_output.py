"""Renders a plan in the format asked for."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from vplacer.cli.common import Common

if TYPE_CHECKING:
    from vplacer.plan.model import Plan


def render(plan: Plan, common: Common, *, format: str, summary: bool, seconds: float | None = None) -> str:
    """Return a plan as text or JSON.

    Args:
        plan: the plan.
        common: tells colours and how much detail.
        format: "text" or "json".
        summary: counts and verdict only.
        seconds: how long the solver took, for text; None = not told.
    """
    if format == "json":
        from vplacer.report.plan_json import plan_json

        return _summary_json(plan) if summary else plan_json(plan)
    from vplacer.report.plan_text import plan_text, source_line, summary_line
    from vplacer.report.solution_text import proof_line
    from vplacer.report.style import Style

    if summary:
        return "\n".join([source_line(plan), summary_line(plan), proof_line(plan, seconds)])
    style = Style(common.color(common.stdout))
    return plan_text(plan, verbosity=common.verbose, style=style, seconds=seconds)


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


def _summary_json(plan: Plan) -> str:
    """Return the parts of a plan file that count and judge; ``sha256`` is that of the whole plan."""
    from vplacer.plan.plan_file import plan_document

    document = plan_document(plan)
    return json.dumps({key: document[key] for key in _SUMMARY_KEYS}, sort_keys=True, indent=1)
