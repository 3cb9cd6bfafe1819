"""How the findings of a vCenter went from audit to audit."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TrendPoint:
    """One audit: findings that were open by severity, those waived, and what came and went with it.

    ``taken_at``: of the inventory, ISO 8601 UTC. ``complete``: everything was read; else nothing was taken
    for gone. Findings of rules that were left out count as they were last seen.
    """

    taken_at: str
    complete: bool
    errors: int
    warnings: int
    notes: int
    waived: int
    new: int
    gone: int


@dataclass(frozen=True, slots=True)
class Trend:
    """The audits of one vCenter that a history holds, the oldest first."""

    instance_uuid: str
    name: str
    points: tuple[TrendPoint, ...]
