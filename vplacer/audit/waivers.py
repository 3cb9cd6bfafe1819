"""Waivers: findings that somebody answers for, until a day. Pure; `waivers_file` reads them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fnmatch import translate
from functools import cache
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
        if self.fingerprints and finding.fingerprint not in self.fingerprints:
            return False
        # Only what is asked for is looked up: there may be many findings and many waivers.
        return (
            (not self.vms or _fits(self.vms, finding.name_of("vm"), finding.vm))
            and (not self.hosts or _fits(self.hosts, finding.name_of("host"), finding.host))
            and (not self.clusters or _fits(self.clusters, finding.name_of("cluster"), finding.cluster))
            and (not self.devices or _fits(self.devices, finding.device))
        )


class WaiverIndex:
    """Waivers by what they are for, so that thousands of findings and hundreds of waivers meet quickly."""

    def __init__(self, waivers: Iterable[Waiver]) -> None:
        self._waivers = tuple(waivers)
        self._by_rule: dict[str, tuple[tuple[Waiver, ...], tuple[str, ...]]] = {}

    def covering(self, finding: AuditFinding) -> Iterator[Waiver]:
        """Yield the waivers that a finding falls under, expired or not, in the order of the file."""
        if not self._waivers:
            return
        waivers, vms = self._of_rule(finding.rule)
        maybe = bool(vms) and _fits(vms, finding.name_of("vm"), finding.vm)
        for waiver in waivers:
            if (maybe or not waiver.vms) and waiver.covers(finding):
                yield waiver

    def _of_rule(self, rule: str) -> tuple[tuple[Waiver, ...], tuple[str, ...]]:
        """Return the waivers for a rule, and all patterns of VMs among them."""
        found = self._by_rule.get(rule)
        if found is None:
            waivers = tuple(waiver for waiver in self._waivers if not waiver.rules or rule in waiver.rules)
            vms = tuple(pattern for waiver in waivers for pattern in waiver.vms)
            found = self._by_rule[rule] = waivers, vms
        return found


def waived(finding: AuditFinding, waivers: WaiverIndex, taken_at: str) -> Waived | None:
    """Return the first waiver that holds for a finding at a time, or None."""
    for waiver in waivers.covering(finding):
        if not waiver.expired(taken_at):
            return Waived(waiver.reason, waiver.owner, waiver.expires)
    return None


def missing_object(waiver: Waiver, inventory: Inventory) -> str | None:
    """Return which of the objects of a waiver are not in an inventory, "VM far-*", or None."""
    for word, patterns, objects in (
        ("VM", waiver.vms, inventory.vms),
        ("host", waiver.hosts, inventory.hosts),
        ("cluster", waiver.clusters, inventory.clusters),
    ):
        if patterns:
            match = _matcher(patterns).match
            if not any(match(item.name) or match(item.moid) for item in objects):
                return f"{word} {', '.join(patterns)}"
    return None


def _fits(patterns: tuple[str, ...], *names: str | None) -> bool:
    """Whether one of the names of an object is or fits one of the patterns."""
    match = _matcher(patterns).match
    return any(name is not None and match(name) is not None for name in names)


@cache
def _matcher(patterns: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(f"{re.escape(pattern)}\\Z|{translate(pattern)}" for pattern in patterns))
