"""An audit as its page shows it: hosts with their findings, worst first, and what can be filtered by."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import groupby

from vplacer.audit.model import AuditFinding, AuditReport, Rule, Severity
from vplacer.topology.host_picture import HostPicture
from vplacer.topology.levels import NumaRelation


@dataclass(frozen=True, slots=True)
class PageHost:
    """A host with the numbers of its open findings, and of the VMs on it that hold a far card."""

    picture: HostPicture
    findings: Mapping[Severity, int]
    same_socket: int
    other_socket: int

    @property
    def total(self) -> int:
        """Open findings of any severity."""
        return sum(self.findings.values())


@dataclass(frozen=True, slots=True)
class Choice:
    """A value that findings can be filtered by: its key, how it is shown, and how many findings have it."""

    key: str
    text: str
    count: int


@dataclass(frozen=True, slots=True)
class FindingGroup:
    """Findings of one rule and severity; ``fix``: what to do about each of them, "" where that differs."""

    severity: Severity
    rule: str
    fix: str
    findings: tuple[AuditFinding, ...]


@dataclass(frozen=True, slots=True)
class PageView:
    """What the page adds to a report.

    ``groups``: the findings, in their order. ``hosts``: those with the worst findings first, then in the
    order of the inventory. ``rules``, ``clusters``, ``host_choices``: what findings can be filtered by.
    """

    hosts: tuple[PageHost, ...]
    rules: tuple[Choice, ...]
    groups: tuple[FindingGroup, ...]
    clusters: tuple[Choice, ...]
    host_choices: tuple[Choice, ...]


def page_view(report: AuditReport) -> PageView:
    """Return the view of a report; without pictures it has no hosts."""
    titles = {result.rule.id: result.rule for result in report.rules}
    by_rule = Counter(finding.rule for finding in report.findings)
    open_at = _open_by_host(report)
    hosts = [_host(picture, open_at.get(picture.moid, {})) for picture in report.pictures or ()]
    return PageView(
        hosts=tuple(sorted(hosts, key=_worst_first)),
        rules=tuple(Choice(rule, _title(titles[rule]), number) for rule, number in sorted(by_rule.items())),
        groups=_groups(report),
        clusters=_choices(report, "cluster"),
        host_choices=_choices(report, "host"),
    )


def _groups(report: AuditReport) -> tuple[FindingGroup, ...]:
    """Put findings together that follow each other and are of one rule and severity."""
    found = []
    for (severity, rule), items in groupby(report.findings, lambda item: (item.severity, item.rule)):
        findings = tuple(items)
        fixes = {finding.fix for finding in findings}
        found.append(FindingGroup(severity, rule, fixes.pop() if len(fixes) == 1 else "", findings))
    return tuple(found)


def _title(rule: Rule) -> str:
    return f"{rule.id} {rule.title}"


def _open_by_host(report: AuditReport) -> dict[str, Counter[Severity]]:
    found: dict[str, Counter[Severity]] = {}
    for finding in report.findings:
        if finding.waived is None and finding.host is not None:
            found.setdefault(finding.host, Counter())[finding.severity] += 1
    return found


def _host(picture: HostPicture, found: Mapping[Severity, int]) -> PageHost:
    farthest = Counter(vm.farthest for vm in picture.vms)
    return PageHost(
        picture=picture,
        findings={severity: found.get(severity, 0) for severity in Severity},
        same_socket=farthest[NumaRelation.SAME_SOCKET],
        other_socket=farthest[NumaRelation.OTHER_SOCKET],
    )


def _worst_first(host: PageHost) -> tuple[int, ...]:
    return tuple(-host.findings[severity] for severity in Severity)


def _choices(report: AuditReport, kind: str) -> tuple[Choice, ...]:
    counts: Counter[str] = Counter()
    names: dict[str, str] = {}
    for finding in report.findings:
        key = finding.cluster if kind == "cluster" else finding.host
        if key:
            counts[key] += 1
            names[key] = finding.name_of(kind) or key
    found = (Choice(key, names[key], counts[key]) for key in counts)
    return tuple(sorted(found, key=lambda choice: (choice.text, choice.key)))
