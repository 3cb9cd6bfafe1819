"""What the doctor says: results of checks, privileges by verb, licences, in one report."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from vplacer.doctor.observed import CallTime, Licences, Observed, Untold
from vplacer.inventory.overlay import Overlay
from vplacer.inventory.vcenter import Inventory


class Outcome(StrEnum):
    """How a check ended."""

    OK = "ok"
    DIFFERS = "differs"
    NOT_CHECKED = "not checked"
    NOT_APPLICABLE = "not applicable"


@dataclass(frozen=True, slots=True)
class Finding:
    """What a check found, before it is given its name.

    ``text``: one sentence; ``evidence``: counts and examples; ``advice``: what to do, None = nothing.
    ``failed``: something was tried and could not be read, so the picture is incomplete.
    All texts may hold marks.
    """

    outcome: Outcome
    text: str
    evidence: tuple[str, ...] = ()
    advice: str | None = None
    failed: bool = False


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the checks look at. ``inventory`` Untold = it could not be read at all.

    ``overlays``: those in use, among them what hosts were asked in this run.
    """

    inventory: Inventory | Untold
    observed: Observed | Untold
    overlays: tuple[Overlay, ...] = ()


@dataclass(frozen=True, slots=True)
class Check:
    """One check. ``assumptions`` are ids of docs/assumptions.md."""

    id: str
    title: str
    assumptions: tuple[str, ...]
    run: Callable[[Evidence], Finding]


@dataclass(frozen=True, slots=True)
class CheckResult:
    """A check and what it found."""

    id: str
    title: str
    assumptions: tuple[str, ...]
    finding: Finding


@dataclass(frozen=True, slots=True)
class MissingPrivilege:
    """A privilege that the account lacks on some objects of a kind; ``examples`` are marked names."""

    privilege: str
    kind: str
    why: str
    objects: int
    looked_at: int
    examples: tuple[str, ...]


class Verb(StrEnum):
    """What an account is used for."""

    READ = "read"
    MEASURE = "measure"
    PLAN = "plan"
    APPLY = "apply"


@dataclass(frozen=True, slots=True)
class VerbResult:
    """Whether the account may do all that a verb takes; ``untold``: kinds of objects not looked at."""

    verb: Verb
    asked: bool
    outcome: Outcome
    missing: tuple[MissingPrivilege, ...]
    untold: tuple[str, ...]
    looked_at: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DoctorReport:
    """The whole report. ``names``: moid to kind and name; ``order``: moids as pseudonyms number them.

    ``source``: "vCenter" | "simulated vCenter" | "recorded session" | "file".
    """

    created: str
    version: str
    source: str
    vcenter: Mapping[str, str]
    counts: Mapping[str, int]
    results: tuple[CheckResult, ...]
    verbs: tuple[VerbResult, ...]
    licences: Licences | Untold
    calls: tuple[CallTime, ...]
    names: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    order: tuple[str, ...] = ()

    @property
    def differs(self) -> bool:
        """Whether something is not as the product relies on, or an asked-for verb lacks a privilege."""
        return any(result.finding.outcome is Outcome.DIFFERS for result in self.results) or any(
            verb.outcome is Outcome.DIFFERS for verb in self.verbs if verb.asked
        )

    @property
    def incomplete(self) -> bool:
        """Whether something was tried and could not be read."""
        return any(result.finding.failed for result in self.results) or any(
            verb.outcome is Outcome.NOT_CHECKED and verb.untold for verb in self.verbs if verb.asked
        )
