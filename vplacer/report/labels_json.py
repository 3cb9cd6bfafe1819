"""A plan of labels as JSON: the label file's own document, stable and documented in docs/labels.md."""

from __future__ import annotations

from vplacer.plan.labels.labels_file import labels_bytes
from vplacer.plan.labels.model import LabelPlan


def labels_json(plan: LabelPlan) -> str:
    """Return a plan of labels as JSON text ending in a newline: byte for byte what `-o` saves."""
    return labels_bytes(plan).decode("ascii")
