"""A waiver that nothing falls under."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from vplacer.audit.model import AuditFinding, Hit, NotEvaluated, Outcome, Rule, RuleResult, Severity
from vplacer.audit.subject import Subject
from vplacer.audit.waivers import UNWAIVABLE, Waiver, missing_object
from vplacer.inventory.canonical import sha256_of
from vplacer.inventory.finding import Certainty


def after(
    subject: Subject, findings: Sequence[AuditFinding], results: Sequence[RuleResult]
) -> Iterator[Outcome]:
    """Yield the waivers that hold and that no finding falls under, and those of which that is not known."""
    if subject.waivers and subject.inventory.gaps:
        yield NotEvaluated("part of the inventory could not be read: what is missing may fall under a waiver")
        return
    used = {waiver for finding in findings for waiver in subject.waiver_index.covering(finding)}
    untold = {result.rule.id for result in results if result.not_evaluated}
    run = {result.rule.id for result in results}
    for waiver in subject.waivers or ():
        if waiver.expired(subject.inventory.taken_at) or waiver in used:
            continue
        absent = missing_object(waiver, subject.inventory)
        doubt = None if absent is not None else _doubt(waiver, run, untold)
        if doubt is not None:
            yield NotEvaluated(f"whether the waiver of {waiver.name} is still used is not known: {doubt}")
            continue
        yield Hit(
            f"nothing falls under the waiver of {waiver.name}, by {waiver.owner}"
            + (f": there is no {absent}" if absent is not None else ""),
            Certainty.PROVED,
            key=sha256_of(waiver.about)[:16],
            line=waiver.line,
        )


def _doubt(waiver: Waiver, run: set[str], untold: set[str]) -> str | None:
    from vplacer.audit.registry import all_rules

    looked_for = [rule.id for rule in all_rules() if not rule.needs]
    wanted = [rule for rule in waiver.rules or looked_for if rule not in UNWAIVABLE]
    left_out = [rule for rule in wanted if rule not in run]
    if left_out:
        return f"{left_out[0]} was left out"
    unseen = [rule for rule in wanted if rule in untold]
    return f"{unseen[0]} was not evaluated everywhere" if unseen else None


RULE = Rule(
    id="VPL091",
    name="waiver-unused",
    title="A waiver that nothing falls under",
    severity=Severity.NOTE,
    cause="What was waived has been mended, or the object has another name or is gone. Left in the file, the "
    "waiver would hide the same fault when it comes back.",
    evidence="The file of --waivers, and all findings of this audit. Where a rule that the waiver is for was "
    "left out or could not look everywhere, it is not evaluated. With --waivers only.",
    fix="Delete the waiver, or correct the name of its object.",
    sample="nothing falls under the waiver of VPL001 for VM llm-7, by ml-ops: there is no VM llm-7",
    needs="--waivers",
    after=after,
)
