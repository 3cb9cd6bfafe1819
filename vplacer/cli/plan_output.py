"""Renders a plan in the format asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vplacer.cli.common import Common

if TYPE_CHECKING:
    from vplacer.plan.model import Plan


def render(plan: Plan, common: Common, *, format_: str, summary: bool, seconds: float | None = None) -> str:
    """Return a plan as text or JSON."""
    raise NotImplementedError
