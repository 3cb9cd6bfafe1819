"""What a history says of an audit, and what it keeps of it: when findings came, and when they went."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from vplacer.audit.compare import Earlier, not_looked_for
from vplacer.audit.history_file import reading, writing
from vplacer.audit.model import AuditFinding, AuditReport, Place, Severity
from vplacer.audit.trend import Trend, TrendPoint
from vplacer.inventory.vcenter import Inventory

DAYS: Final = 400
"""How long what is over is kept: a year can be compared with the last."""
_COLUMNS: Final = (
    "rule, name, fingerprint, severity, text, places, vm, host, cluster, first_seen, last_seen, gone_at"
)


@dataclass(frozen=True, slots=True)
class Recorded:
    """An audit beside its history. ``later``: time of a later audit that is why it was not kept, or None."""

    report: AuditReport
    later: str | None


def record(path: Path, report: AuditReport, inventory: Inventory, days: int = DAYS) -> Recorded:
    """Keep an audit in a history, and return it with what the history knows: first seen, new, gone.

    Audits are known by vCenter and time of the inventory: the same one again changes nothing, and one of
    the same time with other rules adds to it. An older one than the last is not kept, and only told when
    its findings were seen first. Findings are gone only where they were looked for (`not_looked_for`).

    Args:
        path: the file, made if it is not there.
        report: the audit.
        inventory: that it is of.
        days: how long audits and findings that were not seen again are kept, counted back from this one.

    Raises:
        FileFormatError, NewerFormatError, OutputError: see `history_file.writing`.
    """
    vcenter, now = report.about.instance_uuid, report.taken_at
    with writing(path) as db:
        (later,) = db.execute(
            "SELECT max(taken_at) FROM audits WHERE vcenter = ? AND taken_at > ?", (vcenter, now)
        ).fetchone()
        if later is not None:
            return Recorded(_with_first_seen(db, report), later)
        db.execute("REPLACE INTO vcenters VALUES (?, ?)", (vcenter, report.about.name))
        (before,) = db.execute(
            "SELECT max(taken_at) FROM audits WHERE vcenter = ? AND taken_at < ?", (vcenter, now)
        ).fetchone()
        _mark_gone(db, report, inventory)
        _mark_seen(db, report)
        _count(db, report)
        _prune(db, vcenter, now, days)
        known = _with_first_seen(db, report)
        gone = tuple(earlier.gone() for earlier in _rows(db, vcenter, "gone_at = ?", now)) if before else ()
        trend = _points(db, vcenter)
    findings = tuple(
        replace(finding, new=finding.first_seen == now if before else None) for finding in known.findings
    )
    return Recorded(replace(known, findings=findings, compared_with=before, gone=gone, trend=trend), None)


def trends(path: Path) -> tuple[Trend, ...]:
    """Return how the findings of each vCenter of a history went, by name.

    Raises:
        FileFormatError, NewerFormatError, UnknownObjectError: see `history_file.reading`.
    """
    with reading(path) as db:
        if not db.execute("PRAGMA user_version").fetchone()[0]:
            return ()
        vcenters = db.execute("SELECT uuid, name FROM vcenters ORDER BY name, uuid").fetchall()
        return tuple(Trend(uuid, name, _points(db, uuid)) for uuid, name in vcenters)


def seen_since(path: Path, vcenter: str, rule: str, now: str) -> dict[str, str]:
    """Return since when a rule has a finding on each VM (moid), seen first before ``now`` and not gone since.

    Args:
        path: the file; one that is not there knows nothing.
        vcenter: instance UUID.
        rule: id.
        now: of the inventory, ISO 8601 UTC.

    Raises:
        FileFormatError, NewerFormatError, UnknownObjectError: see `history_file.reading`.
    """
    if not path.exists():
        return {}
    with reading(path) as db:
        if not db.execute("PRAGMA user_version").fetchone()[0]:
            return {}
        return dict(
            db.execute(
                "SELECT vm, min(first_seen) FROM findings WHERE vcenter = ? AND rule = ? AND gone_at IS NULL"
                " AND vm IS NOT NULL AND first_seen < ? GROUP BY vm",
                (vcenter, rule, now),
            )
        )


def _mark_gone(db: sqlite3.Connection, report: AuditReport, inventory: Inventory) -> None:
    """Mark what was looked for and not found; what this very audit had brought is taken out again."""
    vcenter, now = report.about.instance_uuid, report.taken_at
    unseen = not_looked_for(report, inventory)
    found = {finding.fingerprint for finding in report.findings}
    for earlier in _rows(db, vcenter, "gone_at IS NULL"):
        if earlier.fingerprint in found or unseen(earlier):
            continue
        key = (vcenter, earlier.fingerprint, earlier.first_seen)
        if earlier.first_seen == now:
            db.execute("DELETE FROM findings WHERE vcenter = ? AND fingerprint = ? AND first_seen = ?", key)
        else:
            db.execute(
                "UPDATE findings SET gone_at = ? WHERE vcenter = ? AND fingerprint = ? AND first_seen = ?",
                (now, *key),
            )


def _mark_seen(db: sqlite3.Connection, report: AuditReport) -> None:
    """Note each finding as seen: those that are open, or were taken for gone at this very time, go on."""
    vcenter, now = report.about.instance_uuid, report.taken_at
    open_since = dict(
        db.execute(
            "SELECT fingerprint, max(first_seen) FROM findings"
            " WHERE vcenter = ? AND (gone_at IS NULL OR gone_at = ?) GROUP BY fingerprint",
            (vcenter, now),
        )
    )
    names = {result.rule.id: result.rule.name for result in report.rules}
    db.executemany(
        "REPLACE INTO findings (vcenter, first_seen, last_seen, gone_at, fingerprint, rule, name, severity,"
        " waived, text, places, vm, host, cluster) VALUES (?, ?, ?, NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            (vcenter, open_since.get(finding.fingerprint, now), now, *_values(finding, names[finding.rule]))
            for finding in report.findings
        ),
    )


def _values(finding: AuditFinding, name: str) -> tuple[object, ...]:
    places = json.dumps([[place.kind, place.name] for place in finding.places], ensure_ascii=False)
    about = (finding.fingerprint, finding.rule, name, finding.severity.value, finding.waived is not None)
    return (*about, finding.text, places, finding.vm, finding.host, finding.cluster)


def _count(db: sqlite3.Connection, report: AuditReport) -> None:
    vcenter, now = report.about.instance_uuid, report.taken_at
    counts = dict.fromkeys((*(severity.value for severity in Severity), "waived"), 0)
    for word, number in db.execute(
        "SELECT CASE WHEN waived THEN 'waived' ELSE severity END, count(*) FROM findings"
        " WHERE vcenter = ? AND gone_at IS NULL GROUP BY 1",
        (vcenter,),
    ):
        counts[word] = number
    (new, gone) = db.execute(
        "SELECT coalesce(sum(first_seen = ?), 0), coalesce(sum(gone_at = ?), 0) FROM findings"
        " WHERE vcenter = ?",
        (now, now, vcenter),
    ).fetchone()
    db.execute(
        "REPLACE INTO audits VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (vcenter, now, report.complete, *counts.values(), new, gone),
    )


def _prune(db: sqlite3.Connection, vcenter: str, now: str, days: int) -> None:
    """Take out audits, and findings last seen, before a day; the newest audit always stays."""
    limit = (datetime.fromisoformat(now) - timedelta(days=days)).strftime("%Y-%m-%dT%H:%M:%SZ")
    db.execute("DELETE FROM audits WHERE vcenter = ? AND taken_at < ?", (vcenter, limit))
    db.execute("DELETE FROM findings WHERE vcenter = ? AND last_seen < ?", (vcenter, limit))


def _with_first_seen(db: sqlite3.Connection, report: AuditReport) -> AuditReport:
    """Return a report whose findings say since when they were there at its time, where that is known."""
    first = dict(
        db.execute(
            "SELECT fingerprint, max(first_seen) FROM findings WHERE vcenter = ? AND first_seen <= ?"
            " AND (gone_at IS NULL OR gone_at > ?) GROUP BY fingerprint",
            (report.about.instance_uuid, report.taken_at, report.taken_at),
        )
    )
    findings = (replace(item, first_seen=first.get(item.fingerprint)) for item in report.findings)
    return replace(report, findings=tuple(findings))


def _rows(db: sqlite3.Connection, vcenter: str, where: str, *values: str) -> Iterable[Earlier]:
    order = "ORDER BY rule, text, fingerprint, first_seen"
    query = f"SELECT {_COLUMNS} FROM findings WHERE vcenter = ? AND {where} {order}"
    for row in db.execute(query, (vcenter, *values)).fetchall():
        rule, name, fingerprint, severity, text, places, vm, host, cluster, first, last, _ = row
        yield Earlier(
            rule=rule,
            name=name,
            fingerprint=fingerprint,
            severity=Severity(severity),
            text=text,
            places=tuple(Place(kind, place) for kind, place in json.loads(places)),
            vm=vm,
            host=host,
            cluster=cluster,
            first_seen=first,
            last_seen=last,
        )


def _points(db: sqlite3.Connection, vcenter: str) -> tuple[TrendPoint, ...]:
    rows = db.execute(
        "SELECT taken_at, complete, errors, warnings, notes, waived, new, gone FROM audits"
        " WHERE vcenter = ? ORDER BY taken_at",
        (vcenter,),
    )
    return tuple(TrendPoint(taken_at, bool(complete), *counts) for taken_at, complete, *counts in rows)
