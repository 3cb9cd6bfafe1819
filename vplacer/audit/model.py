"""What a rule is, what it says, and what an audit comes to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, TypeAlias

from vplacer.inventory.finding import Certainty
from vplacer.inventory.vcenter import About

if TYPE_CHECKING:
    from vplacer.audit.gauges import Gauges
    from vplacer.audit.subject import Subject
    from vplacer.audit.trend import TrendPoint
    from vplacer.topology.host_picture import HostPicture


class Severity(StrEnum):
    """How bad a finding is, worst first; the words are those of SARIF.

    error: the VM is slower than it was bought to be, or will not start, now. warning: it will be, or may
    be, or something stands in the way of mending. note: worth knowing.
    """

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"

    @property
    def rank(self) -> int:
        """0 for the worst."""
        return tuple(Severity).index(self)


@dataclass(frozen=True, slots=True)
class FileLine:
    """A line of a file, 1-based."""

    file: str
    line: int


@dataclass(frozen=True, slots=True)
class Hit:
    """What a rule found at one object. References are managed object ids.

    Args:
        text: a whole sentence with the figures, without the name of the object it is about.
        certainty: how sure it is.
        vm, host, cluster: what it is about, the narrowest; the wider ones are filled in where they are known.
            ``host`` beside ``vm`` is where the VM is; a finding is known again by its VM alone.
        device: which device of it: an address, a label such as "PCI device 1", or None.
        key: tells two findings of one rule on the same object and device apart; the same at each run.
        severity: other than the rule's.
        fix: what to do about this one, where that is more exact than what the rule says.
        mendable: `vplacer plan --repair` can be asked to mend it.
        numbers: the figures as data, by name.
        line: where it stands, of what a person wrote in a file.
    """

    text: str
    certainty: Certainty
    vm: str | None = None
    host: str | None = None
    cluster: str | None = None
    device: str | None = None
    key: str = ""
    severity: Severity | None = None
    fix: str | None = None
    mendable: bool = False
    numbers: tuple[tuple[str, int], ...] = ()
    line: FileLine | None = None


@dataclass(frozen=True, slots=True)
class NotEvaluated:
    """What a rule could not look at, and why: never the same as nothing found. No object = anything."""

    why: str
    vm: str | None = None
    host: str | None = None
    cluster: str | None = None


Outcome: TypeAlias = Hit | NotEvaluated


def nothing(_subject: Subject) -> tuple[Outcome, ...]:
    """Find nothing."""
    return ()


@dataclass(frozen=True, slots=True)
class Rule:
    """One thing the audit looks for: a module `audit.rules.vplNNN_<name>` with a module-level `RULE`.

    Args:
        id: "VPL" and three digits; never given to another rule.
        name: a stable word or two for people, such as "gpu-remote".
        title: what is wrong, in a few words.
        severity: of a finding, unless it says otherwise.
        cause: why it happens and what it costs.
        evidence: what is looked at, and what makes it a finding.
        fix: what to do.
        sample: a finding's text as it might be.
        find: yields what it finds in a subject, and what it could not look at.
        needs: the option without which it has nothing to look at, and is left out; empty = none.
        after: the same, of what the other rules found and what came of them; run after all of those.
    """

    id: str
    name: str
    title: str
    severity: Severity
    cause: str
    evidence: str
    fix: str
    sample: str
    find: Callable[[Subject], Iterable[Outcome]] = nothing
    needs: str = ""
    after: Callable[[Subject, Sequence[AuditFinding], Sequence[RuleResult]], Iterable[Outcome]] | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """One step of where an object is: ``kind`` vcenter | datacenter | cluster | host | vm | device."""

    kind: str
    name: str


@dataclass(frozen=True, slots=True)
class Waived:
    """The waiver that a finding falls under."""

    reason: str
    owner: str
    expires: str | None


@dataclass(frozen=True, slots=True)
class AuditFinding:
    """One finding of the audit, complete.

    Args:
        rule: id of its rule.
        fingerprint: 16 hexadecimal digits, the same at each run for the same rule, object and device.
        severity, certainty, text, fix, mendable, numbers: see `Hit`.
        places: where it is, from the vCenter down.
        vm, host, cluster: managed object ids.
        device: see `Hit`.
        owner: why nobody but its owner may change the VM; None = it may be changed.
        waived: None = no waiver holds for it.
        first_seen: when it was seen first, ISO 8601 UTC; None = without a history that is not known.
        new: the earlier audit compared with did not have it; None = compared with none.
        line: see `Hit`.
    """

    rule: str
    fingerprint: str
    severity: Severity
    certainty: Certainty
    text: str
    fix: str
    places: tuple[Place, ...]
    vm: str | None = None
    host: str | None = None
    cluster: str | None = None
    device: str | None = None
    mendable: bool = False
    owner: str | None = None
    waived: Waived | None = None
    first_seen: str | None = None
    numbers: tuple[tuple[str, int], ...] = ()
    new: bool | None = None
    line: FileLine | None = None

    def name_of(self, kind: str) -> str | None:
        """Return the name of the place of a kind, or None."""
        return next((place.name for place in self.places if place.kind == kind), None)


@dataclass(frozen=True, slots=True)
class Gone:
    """A finding of the earlier audit compared with that is no more, looked for by the same rule.

    ``name``: of the rule. ``last_seen``: time of that audit's inventory. Times are ISO 8601 UTC.
    """

    rule: str
    name: str
    fingerprint: str
    severity: Severity
    text: str
    places: tuple[Place, ...]
    first_seen: str | None
    last_seen: str


@dataclass(frozen=True, slots=True)
class Untold:
    """A rule, or what of it, that was not evaluated: where (empty = everywhere) and why.

    ``vm``, ``host``, ``cluster``: managed object id of the one that the rule named; none = anything.
    """

    places: tuple[Place, ...]
    why: str
    vm: str | None = None
    host: str | None = None
    cluster: str | None = None


@dataclass(frozen=True, slots=True)
class RuleResult:
    """What came of one rule: findings, of them waived, and what was not looked at."""

    rule: Rule
    found: int
    waived: int
    not_evaluated: tuple[Untold, ...]


@dataclass(frozen=True, slots=True)
class Missing:
    """What could not be read: the object by id and name, which part, and why (see `Gap`)."""

    object: str
    name: str | None
    path: str
    kind: str
    reason: str


@dataclass(frozen=True, slots=True)
class AuditReport:
    """An audit of one vCenter at one moment.

    ``taken_at``: of the inventory, ISO 8601 UTC. ``counts``: objects looked at, by word. ``findings`` are
    ordered: worst first, then by rule and place. ``missing``: what could not be read, an empty inventory
    among it; not empty = the audit is incomplete, and no finding proves nothing. ``compared_with``: time of
    the inventory of the earlier audit it was compared with, None = with none; ``gone``: findings of that one
    that are no more. ``gauges``: figures for formats of metrics, ``pictures``: of each host; None = not asked
    for. ``trend``: earlier audits and this one, the oldest first; empty = there is no history.
    """

    about: About
    taken_at: str
    counts: Mapping[str, int]
    findings: tuple[AuditFinding, ...]
    rules: tuple[RuleResult, ...]
    missing: tuple[Missing, ...]
    compared_with: str | None = None
    gone: tuple[Gone, ...] = ()
    gauges: Gauges | None = None
    trend: tuple[TrendPoint, ...] = ()
    pictures: tuple[HostPicture, ...] | None = None

    @property
    def complete(self) -> bool:
        """Whether everything was read."""
        return not self.missing

    def rule_of(self, finding: AuditFinding) -> Rule:
        """Return the rule of one of the findings."""
        return next(result.rule for result in self.rules if result.rule.id == finding.rule)

    def open_at(self, severity: Severity) -> int:
        """Return how many findings of a severity or worse no waiver holds for."""
        return sum(1 for f in self.findings if f.waived is None and f.severity.rank <= severity.rank)
