"""What was read, when, whether all of it, and what was added: the first line of a text."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from vplacer.plan.model import MissingPart, Source
from vplacer.report.plan_words import count

_SHOWN_GAPS = 5


def source_text(source: Source, now: str) -> str:
    """Say what was read, when, whether all of it, and which overlays were added; ``now`` tells their age."""
    missing = len(source.gaps)
    gaps = "complete" if not missing else f"INCOMPLETE: {count(missing, 'part')} could not be read"
    text = (
        f"{source.vcenter}  {count(source.hosts, 'host')}  {count(source.vms, 'VM')}  "
        f"read {_minute(source.taken_at)}, {gaps}"
    )
    overlays = _overlay_texts(source, now)
    return f"{text}; overlays: {', '.join(overlays)}" if overlays else text


def missing_texts(source: Source) -> list[str]:
    """Name what could not be read: the first few, and how many more."""
    gaps = source.gaps
    lines = [
        f"  not read: {' '.join(filter(None, (gap.name or gap.object, gap.path)))} ({_why_missing(gap)})"
        for gap in gaps[:_SHOWN_GAPS]
    ]
    if len(gaps) > _SHOWN_GAPS:
        lines.append(f"  not read: {len(gaps) - _SHOWN_GAPS} more, all of them in the JSON")
    return lines


def what_if_lines(changes: Sequence[str], hypothetical: bool) -> list[str]:
    """Say that the site is not so, and how it was changed; nothing of a site as it is."""
    if not hypothetical:
        return []
    return [
        "HYPOTHETICAL: not the site as it is; nothing of this can be applied",
        *(f"  {c}" for c in changes),
    ]


def _why_missing(gap: MissingPart) -> str:
    return f"{gap.kind}: {gap.reason}" if gap.reason else gap.kind


def _overlay_texts(source: Source, now: str) -> list[str]:
    """Say which hosts have overlays, hosts of one source and age together."""
    grouped: dict[tuple[str, str], list[str]] = {}
    for item in source.overlays:
        grouped.setdefault((item.source, _age(item.created, now)), []).append(item.host)
    texts = []
    for (tool, age), hosts in sorted(grouped.items()):
        named = sorted(set(hosts))
        who = " ".join(named) if len(named) <= 3 else f"{named[0]} ... {named[-1]} ({len(named)} hosts)"
        texts.append(f"{who} ({tool}, {age})")
    return texts


def _minute(iso: str) -> str:
    """Shorten an ISO 8601 UTC time to minutes; any other text stays."""
    return f"{iso[:10]} {iso[11:16]}Z" if len(iso) >= 17 and iso.endswith("Z") else iso


def _age(then: str, now: str) -> str:
    try:
        days = (datetime.fromisoformat(now) - datetime.fromisoformat(then)).days
    except (ValueError, TypeError):
        return f"of {then}"
    return "of today" if days <= 0 else f"{count(days, 'day')} old"
