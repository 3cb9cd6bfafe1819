"""The doctor's report with all names shown or replaced: what its text, Markdown and JSON are made of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from vplacer.doctor.licensing import DRS, VGPU, VMOTION, has_feature, is_host_licence
from vplacer.doctor.marks import Show, render
from vplacer.doctor.marks import secret as secret_mark
from vplacer.doctor.model import CheckResult, DoctorReport, VerbResult
from vplacer.doctor.observed import Licence, Untold
from vplacer.doctor.pseudonyms import Pseudonyms, RealNames

FORMAT = "vplacer-doctor"
FORMAT_VERSION = 1


def doctor_document(report: DoctorReport, *, anonymous: bool) -> dict[str, Any]:
    """Return the report as plain values.

    Args:
        report: the report.
        anonymous: names are replaced by pseudonyms.
    """
    show: Show = Pseudonyms(report.names, report.order) if anonymous else RealNames(report.names)

    def shown(text: str) -> str:
        return render(text, show)

    names = [name for kind, name in report.names.values() if kind == "vcenter"]
    return {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "created": report.created,
        "vplacer": report.version,
        "anonymous": anonymous,
        "source": report.source,
        "vcenter": {"name": "vcenter-1" if anonymous else (names[0] if names else None), **report.vcenter},
        "counts": dict(report.counts),
        "checks": [_check(result, shown) for result in report.results],
        "privileges": [_verb(verb, shown) for verb in report.verbs],
        "licences": _licences(report, shown),
        "calls": [
            {
                "call": call.method,
                "count": call.count,
                "total_s": round(call.total_s, 3),
                "longest_s": round(call.longest_s, 3),
            }
            for call in report.calls
        ],
    }


def _check(result: CheckResult, shown: Callable[[str], str]) -> dict[str, Any]:
    finding = result.finding
    return {
        "id": result.id,
        "title": result.title,
        "outcome": finding.outcome.value,
        "text": shown(finding.text),
        "evidence": [shown(text) for text in finding.evidence],
        "advice": None if finding.advice is None else shown(finding.advice),
        "assumptions": list(result.assumptions),
        "incomplete": finding.failed,
    }


def _verb(verb: VerbResult, shown: Callable[[str], str]) -> dict[str, Any]:
    return {
        "verb": verb.verb.value,
        "asked": verb.asked,
        "outcome": verb.outcome.value,
        "missing": [
            {
                "privilege": item.privilege,
                "on": item.kind,
                "for": item.why,
                "objects": item.objects,
                "looked_at": item.looked_at,
                "examples": [shown(text) for text in item.examples],
            }
            for item in verb.missing
        ],
        "not_checked": [shown(text) for text in verb.untold],
        "looked_at": list(verb.looked_at),
    }


def _licences(report: DoctorReport, shown: Callable[[str], str]) -> dict[str, Any]:
    licences = report.licences
    if isinstance(licences, Untold):
        return {"not_checked": shown(licences.why), "found": []}
    assigned = licences.assigned
    why = f"which host has which licence: {shown(assigned.why)}" if isinstance(assigned, Untold) else None
    return {
        "not_checked": why,
        "found": [_licence(licence, shown) for licence in licences.found],
    }


def _licence(licence: Licence, shown: Callable[[str], str]) -> dict[str, Any]:
    features = (DRS, VMOTION, VGPU) if is_host_licence(licence) else ()
    return {
        "edition": licence.edition,
        "key": shown(secret_mark("licence", licence.key)),
        "total": licence.total,
        "used": licence.used,
        "hosts": len(licence.hosts),
        "hours_left": licence.hours_left,
        "has": {feature: has_feature(licence, feature).value for feature in features},
    }
