"""Writes a saved plan as a script for another tool."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from vplacer.jobs.plan import show_plan

if TYPE_CHECKING:
    from vplacer.plan.script.model import Written


def plan_script(path: Path, format: str) -> Written:
    """Return a saved plan as a script of one of `vplacer.report.scripts.formats.script_format_names`.

    Raises:
        UsageError: the plan may not be carried out.
        FileFormatError, NewerFormatError: it is no plan, was edited, or is of a newer vplacer.
    """
    from vplacer.plan.script.build import make_script
    from vplacer.report.scripts.formats import load_script_format

    return load_script_format(format).write(make_script(show_plan(path)))
