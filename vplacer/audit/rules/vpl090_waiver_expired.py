"""A waiver has expired."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from vplacer.audit.model import AuditFinding, Hit, Outcome, Rule, RuleResult, Severity
from vplacer.audit.subject import Subject
from vplacer.inventory.canonical import sha256_of
from vplacer.inventory.finding import Certainty


def after(subject: Subject, findings: Sequence[AuditFinding], _: Sequence[RuleResult]) -> Iterator[Outcome]:
    """Yield the waivers that hold no more, with the number of findings that fell under each."""
    used = Counter(waiver for finding in findings for waiver in subject.waiver_index.covering(finding))
    for waiver in subject.waivers or ():
        if not waiver.expired(subject.inventory.taken_at):
            continue
        covered = used[waiver]
        told = "1 finding falls" if covered == 1 else f"{covered} findings fall"
        yield Hit(
            f"the waiver of {waiver.name}, by {waiver.owner}, ended with {waiver.expires}; {told} under it "
            f"({waiver.reason})",
            Certainty.PROVED,
            key=sha256_of(waiver.about)[:16],
            numbers=(("findings", covered),),
            line=waiver.line,
        )


RULE = Rule(
    id="VPL090",
    name="waiver-expired",
    title="A waiver has expired",
    severity=Severity.WARNING,
    cause="Somebody answered for findings until a day, and the day has passed. What fell under the waiver is "
    "told and counted again.",
    evidence="The field expires in the file of --waivers, and the time the inventory was read, in UTC: it "
    "holds to the end of its last day. With --waivers only.",
    fix="Mend what it was about, or ask its owner whether it still holds and set a new day; if nothing falls "
    "under it any more, delete it.",
    sample="the waiver of VPL001 for VM llm-*, by ml-ops, ended with 2026-06-30; 2 findings fall under it "
    "(cards come in August)",
    needs="--waivers",
    after=after,
)
