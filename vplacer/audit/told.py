"""Findings made elsewhere (device use, settings, esxcli) as hits of a rule."""

from __future__ import annotations

from collections.abc import Iterator

from vplacer.audit.model import Hit, Severity
from vplacer.audit.subject import Subject


def hits_of(
    subject: Subject, *kinds: str, severity: Severity | None = None, mendable: bool = False
) -> Iterator[Hit]:
    """Yield a hit for each finding of some kinds; they are listed with their meaning in docs/topology.md."""
    for finding in subject.said(*kinds):
        yield Hit(
            finding.text,
            finding.certainty,
            vm=finding.vm,
            host=finding.host,
            device=None if finding.address is None else str(finding.address),
            key=finding.kind if len(kinds) > 1 else "",
            severity=severity,
            mendable=mendable,
        )
