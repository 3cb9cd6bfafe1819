"""Waivers: findings that somebody answers for, until a day. Pure; `waivers_file` reads them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final

from vplacer.audit.model import AuditFinding, FileLine, Waived
from vplacer.inventory.vcenter import Inventory

UNWAIVABLE: Final = ("VPL090", "VPL091")
"""Rules about waivers themselves."""


@dataclass(frozen=True, slots=True)
class Waiver:
    """One waiver.

    Args:
        rules: ids of rules; empty = all but those of `UNWAIVABLE`.
        vms, hosts, clusters, devices: names, patterns or managed object ids; empty = any.
        fingerprints: of findings; empty = any.
        reason, owner: why, and who answers for it.
        expires: the last day it holds, "2026-12-31", to its end in UTC; None = it has no end.
        line: where it stands.
    """

    rules: tuple[str, ...]
    vms: tuple[str, ...]
    hosts: tuple[str, ...]
    clusters: tuple[str, ...]
    devices: tuple[str, ...]
    fingerprints: tuple[str, ...]
    reason: str
    owner: str
    expires: str | None
    line: FileLine

    @property
    def about(self) -> tuple[tuple[str, ...], ...]:
        """What it is for, as values: two waivers for the same are equal in it."""
        return (self.rules, self.vms, self.hosts, self.clusters, self.devices, self.fingerprints)

    @property
    def name(self) -> str:
        """What it is for, in words: "VPL001 for VM far-*"."""
        parts = [
            f"{word} {', '.join(values)}"
            for word, values in (
                ("VM", self.vms),
                ("host", self.hosts),
                ("cluster", self.clusters),
                ("device", self.devices),
                ("fingerprint", self.fingerprints),
            )
            if values
        ]
        rules = ", ".join(self.rules) or "every rule"
        return f"{rules} for {' and '.join(parts)}" if parts else rules

    def expired(self, taken_at: str) -> bool:
        """Whether it holds no more at a time, ISO 8601 UTC."""
        return self.expires is not None and taken_at[:10] > self.expires

    def covers(self, finding: AuditFinding) -> bool:
        """Whether a finding falls under it, expired or not."""
        if finding.rule in UNWAIVABLE or (self.rules and finding.rule not in self.rules):
            return False
        return (
            (not self.fingerprints or finding.fingerprint in self.fingerprints)
            and _fits(self.vms, finding.name_of("vm"), finding.vm)
            and _fits(self.hosts, finding.name_of("host"), finding.host)
            and _fits(self.clusters, finding.name_of("cluster"), finding.cluster)
            and _fits(self.devices, finding.device)
        )


def waived(finding: AuditFinding, waivers: Iterable[Waiver], taken_at: str) -> Waived | None:
    """Return the first waiver that holds for a finding at a time, or None."""
    for waiver in waivers:
        if not waiver.expired(taken_at) and waiver.covers(finding):
            return Waived(waiver.reason, waiver.owner, waiver.expires)
    return None


def missing_object(waiver: Waiver, inventory: Inventory) -> str | None:
    """Return which of the objects of a waiver are not in an inventory, "VM far-*", or None."""
    for word, patterns, objects in (
        ("VM", waiver.vms, inventory.vms),
        ("host", waiver.hosts, inventory.hosts),
        ("cluster", waiver.clusters, inventory.clusters),
    ):
        if patterns and not any(_fits(patterns, item.name, item.moid) for item in objects):
            return f"{word} {', '.join(patterns)}"
    return None


def _fits(patterns: Sequence[str], *names: str | None) -> bool:
    """Whether one of the names of an object is or fits one of the patterns; no patterns = yes."""
    if not patterns:
        return True
    known = [name for name in names if name is not None]
    return any(name == pattern or fnmatchcase(name, pattern) for pattern in patterns for name in known)
