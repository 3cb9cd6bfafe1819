"""An earlier audit, from the file of `--format json`, to compare with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from vplacer.audit.compare import Earlier, not_looked_for
from vplacer.audit.model import AuditReport, Place, Severity
from vplacer.errors import FileFormatError, UsageError
from vplacer.inventory.json_document import JsonFormat, parse_document
from vplacer.inventory.vcenter import Inventory
from vplacer.inventory.yaml_marks import read_bytes

_FILE: Final = JsonFormat(
    "vplacer-audit", "report of an audit in JSON", 1, "`vplacer audit --format json -o FILE` writes one"
)


@dataclass(frozen=True, slots=True)
class EarlierAudit:
    """An audit to compare with. ``rules``: ids of those that were applied."""

    path: str
    instance_uuid: str
    vcenter: str
    taken_at: str
    rules: frozenset[str]
    findings: tuple[Earlier, ...]


def load_earlier(path: Path) -> EarlierAudit:
    """Read the JSON report of an audit.

    Raises:
        UnknownObjectError: there is no such file, or it cannot be read.
        FileFormatError: it is none, or is damaged.
        NewerFormatError: a newer vplacer wrote it.
    """
    document = parse_document(read_bytes(path), str(path), _FILE)
    try:
        taken_at = str(document["taken_at"])
        return EarlierAudit(
            path=str(path),
            instance_uuid=str(document["vcenter"]["instance_uuid"]),
            vcenter=str(document["vcenter"]["name"]),
            taken_at=taken_at,
            rules=frozenset(str(rule["id"]) for rule in document["rules"]),
            findings=tuple(_finding(item, taken_at) for item in document["findings"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise FileFormatError("is damaged", path=str(path), why=f"{type(error).__name__}: {error}") from None


def refuse_unlike(earlier: EarlierAudit, inventory: Inventory) -> None:
    """Refuse an earlier audit that an inventory cannot be compared with.

    Raises:
        UsageError: it is of another vCenter, or of a later time.
    """
    about = inventory.about
    if earlier.instance_uuid != about.instance_uuid:
        raise UsageError(
            f"is an audit of another vCenter ({earlier.vcenter}) than {about.name}",
            obj=earlier.path,
            hint="leave out --since, or name another audit",
        )
    if earlier.taken_at > inventory.taken_at:
        raise UsageError(
            f"is an audit of {earlier.taken_at}, later than this inventory of {inventory.taken_at}",
            obj=earlier.path,
            hint="name an earlier audit",
        )


def compared(report: AuditReport, earlier: EarlierAudit, inventory: Inventory) -> AuditReport:
    """Return a report that says what is new and what is gone since an earlier audit.

    Of rules that were not applied then, nothing is called new.
    """
    unseen = not_looked_for(report, inventory)
    then = {item.fingerprint: item for item in earlier.findings}
    now = {finding.fingerprint for finding in report.findings}
    findings = []
    for finding in report.findings:
        known = then.get(finding.fingerprint)
        new = known is None if finding.rule in earlier.rules else None
        since = finding.first_seen or (known.first_seen or known.last_seen if known is not None else None)
        findings.append(replace(finding, new=new, first_seen=since))
    gone = [item.gone() for item in earlier.findings if item.fingerprint not in now and not unseen(item)]
    return replace(report, findings=tuple(findings), compared_with=earlier.taken_at, gone=tuple(gone))


def _finding(item: Mapping[str, Any], taken_at: str) -> Earlier:
    return Earlier(
        rule=str(item["rule"]),
        name=str(item["name"]),
        fingerprint=str(item["fingerprint"]),
        severity=Severity(item["severity"]),
        text=str(item["text"]),
        places=tuple(Place(str(place["kind"]), str(place["name"])) for place in item["places"]),
        vm=item["vm"],
        host=item["host"],
        cluster=item["cluster"],
        first_seen=item["first_seen"],
        last_seen=taken_at,
    )
