"""A plan as JSON: the plan file's own document, stable and documented in docs/plan-file.md."""

from __future__ import annotations

from vplacer.apply.preflight import Preflight
from vplacer.inventory.json_document import sealed_bytes
from vplacer.plan.model import Plan
from vplacer.plan.plan_file import CHECK, plan_bytes, plan_document
from vplacer.report.apply_json import preflight_document


def plan_json(plan: Plan, checked: Preflight | None = None) -> str:
    """Return a plan as JSON text ending in a newline: byte for byte what `vplacer plan -o` saves.

    ``checked``: what the vCenter says of its steps; it stands beside the plan, which the hash is of.
    """
    if checked is None:
        return plan_bytes(plan).decode("ascii")
    return sealed_bytes(plan_document(plan) | {CHECK: preflight_document(checked)}).decode("ascii")
