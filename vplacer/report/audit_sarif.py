"""An audit in SARIF 2.1.0 (OASIS), the format that code scanners exchange."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

from vplacer import __version__
from vplacer.audit.model import AuditFinding, AuditReport, Missing, Place, Rule, RuleResult, Severity
from vplacer.report.audit_document import FORMAT, FORMAT_VERSION

_SCHEMA: Final = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_FINGERPRINT: Final = "vplacer/v1"
_LEVELS: Final = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "note"}


def audit_sarif(report: AuditReport) -> str:
    """Return the report as a SARIF log of one run.

    Where an object is is told by logical locations, from the vCenter down; waivers are suppressions. What
    could not be read fails the invocation, and is a notification, as is what a rule could not evaluate.
    """
    places = _Places()
    rules = [result.rule for result in report.rules]
    index = {rule.id: position for position, rule in enumerate(rules)}
    results = [_result(finding, index[finding.rule], places) for finding in report.findings]
    invocation = {
        "executionSuccessful": report.complete,
        "toolExecutionNotifications": [
            *(_missing(item, report, places) for item in report.missing),
            *(item for result in report.rules for item in _not_evaluated(result, index, places)),
        ],
    }
    run = {
        "tool": {
            "driver": {
                "name": "vplacer",
                "semanticVersion": __version__,
                "version": __version__,
                "rules": [_rule(rule) for rule in rules],
                "notifications": [_INCOMPLETE, _UNTOLD],
            }
        },
        "automationDetails": {"id": f"vplacer audit/{report.about.instance_uuid}/{report.taken_at}"},
        "invocations": [invocation],
        "columnKind": "unicodeCodePoints",
        "results": results,
        "logicalLocations": places.table,
        "properties": {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "vcenter": report.about.name,
            "instance_uuid": report.about.instance_uuid,
            "taken_at": report.taken_at,
            "compared_with": report.compared_with,
        },
    }
    log = {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(log, indent=2, ensure_ascii=False) + "\n"


_INCOMPLETE: Final = {
    "id": "inventory-incomplete",
    "shortDescription": {"text": "Part of the inventory could not be read."},
    "defaultConfiguration": {"level": "error"},
}
_UNTOLD: Final = {
    "id": "not-evaluated",
    "shortDescription": {"text": "A rule could not look at something."},
    "defaultConfiguration": {"level": "note"},
}


def _rule(rule: Rule) -> dict[str, Any]:
    parts = (("Why", rule.cause), ("What is looked at", rule.evidence), ("What to do", rule.fix))
    return {
        "id": rule.id,
        "name": "".join(word.capitalize() for word in rule.name.split("-")),
        "shortDescription": {"text": f"{rule.title}."},
        "fullDescription": {"text": rule.cause},
        "help": {
            "text": "\n\n".join(f"{head}: {text}" for head, text in parts),
            "markdown": "\n\n".join(f"**{head}.** {text}" for head, text in parts),
        },
        "defaultConfiguration": {"level": _LEVELS[rule.severity]},
        "properties": {"tags": [rule.name]},
    }


class _Places:
    """The logical locations of a run: each place once, with the one it lies in."""

    def __init__(self) -> None:
        self.table: list[dict[str, Any]] = []
        self._index: dict[tuple[Place, ...], int] = {}

    def location(self, places: Sequence[Place]) -> dict[str, Any]:
        """Return the logical location of the last of some places."""
        index = self._enter(tuple(places))
        known = self.table[index]
        return {key: known[key] for key in ("name", "fullyQualifiedName", "kind")} | {"index": index}

    def _enter(self, places: tuple[Place, ...]) -> int:
        found = self._index.get(places)
        if found is not None:
            return found
        parent = self._enter(places[:-1]) if len(places) > 1 else None
        last = places[-1]
        entry = {
            "name": last.name,
            "fullyQualifiedName": "/".join(place.name.replace("/", "%2f") for place in places),
            "kind": last.kind,
        }
        self.table.append(entry if parent is None else {**entry, "parentIndex": parent})
        self._index[places] = len(self.table) - 1
        return self._index[places]


def _result(finding: AuditFinding, rule: int, places: _Places) -> dict[str, Any]:
    location: dict[str, Any] = {"logicalLocations": [places.location(finding.places)]}
    if finding.line is not None:
        location["physicalLocation"] = {
            "artifactLocation": {"uri": _uri(finding.line.file)},
            "region": {"startLine": finding.line.line},
        }
    result: dict[str, Any] = {
        "ruleId": finding.rule,
        "ruleIndex": rule,
        "level": _LEVELS[finding.severity],
        "message": {"text": f"{finding.text}."},
        "locations": [location],
        "partialFingerprints": {_FINGERPRINT: finding.fingerprint},
    }
    if finding.new is not None:
        result["baselineState"] = "new" if finding.new else "unchanged"
    if finding.first_seen is not None:
        result["provenance"] = {"firstDetectionTimeUtc": finding.first_seen}
    if finding.waived is not None:
        until = f", until {finding.waived.expires}" if finding.waived.expires else ""
        result["suppressions"] = [
            {
                "kind": "external",
                "status": "accepted",
                "justification": f"{finding.waived.reason} ({finding.waived.owner}{until})",
            }
        ]
    result["properties"] = {
        "confidence": finding.certainty.value,
        "fix": finding.fix,
        "mendable": finding.mendable,
        "owner": finding.owner,
        "numbers": dict(finding.numbers),
    }
    return result


def _missing(item: Missing, report: AuditReport, places: _Places) -> dict[str, Any]:
    who = f"{item.name} ({item.object})" if item.name else item.object
    vcenter = Place("vcenter", report.about.name or report.about.instance_uuid)
    return {
        "descriptor": {"id": _INCOMPLETE["id"], "index": 0},
        "level": "error",
        "message": {"text": f"{who}: {item.path}: {item.kind}: {item.reason}."},
        "locations": [{"logicalLocations": [places.location([vcenter])]}],
    }


def _not_evaluated(result: RuleResult, index: dict[str, int], places: _Places) -> list[dict[str, Any]]:
    found = []
    for untold in result.not_evaluated:
        notification: dict[str, Any] = {
            "descriptor": {"id": _UNTOLD["id"], "index": 1},
            "associatedRule": {"id": result.rule.id, "index": index[result.rule.id]},
            "level": "note",
            "message": {"text": f"Not evaluated: {untold.why}."},
        }
        if untold.places:
            notification["locations"] = [{"logicalLocations": [places.location(untold.places)]}]
        found.append(notification)
    return found


def _uri(file: str) -> str:
    from urllib.parse import quote

    return quote(file.replace("\\", "/"))
