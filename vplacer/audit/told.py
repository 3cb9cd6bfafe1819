"""Findings made elsewhere (device use, settings, esxcli) as hits of a rule."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from vplacer.audit.model import Hit, Severity
from vplacer.audit.subject import Subject
from vplacer.inventory.finding import Finding

_NONE: Mapping[str, str] = MappingProxyType({})
_ALIKE: Mapping[str, Severity] = MappingProxyType({})


def hits_of(
    subject: Subject,
    *kinds: str,
    severity: Severity | None = None,
    mendable: bool = False,
    severities: Mapping[str, Severity] = _ALIKE,
    fixes: Mapping[str, str] = _NONE,
) -> Iterator[Hit]:
    """Yield a hit for each finding of some kinds; they are listed with their meaning in docs/topology.md.

    ``severities`` and ``fixes``: of single kinds; others have ``severity``, and the fix of the rule.
    """
    for finding in subject.said(*kinds):
        yield hit_of(
            finding,
            key=finding.kind if len(kinds) > 1 else "",
            severity=severities.get(finding.kind, severity),
            mendable=mendable,
            fix=fixes.get(finding.kind),
        )


def hit_of(
    finding: Finding,
    *,
    key: str = "",
    severity: Severity | None = None,
    mendable: bool = False,
    fix: str | None = None,
) -> Hit:
    """Return a finding as a hit; ``key`` tells it apart from others on the same object and device."""
    return Hit(
        finding.text,
        finding.certainty,
        vm=finding.vm,
        host=finding.host,
        device=None if finding.address is None else str(finding.address),
        key=key,
        severity=severity,
        mendable=mendable,
        fix=fix,
    )
