"""A plan as JSON: the plan file's own document, stable and documented in docs/plan-file.md."""

from __future__ import annotations

from vplacer.plan.model import Plan
from vplacer.plan.plan_file import plan_bytes


def plan_json(plan: Plan) -> str:
    """Return a plan as JSON text ending in a newline: byte for byte what `vplacer plan -o` saves."""
    return plan_bytes(plan).decode("ascii")
