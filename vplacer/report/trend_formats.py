"""The trend of a history as text with a chart, as JSON and as CSV."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from typing import Final

from vplacer.audit.trend import Trend, TrendPoint
from vplacer.report.plan_words import aligned

_BARS: Final = "▁▂▃▄▅▆▇█"
_SHOWN: Final = 30
_CHART: Final = 60
_HEAD: Final = ("inventory of", "errors", "warnings", "notes", "waived", "new", "gone", "")
_COUNTS: Final = ("errors", "warnings", "notes", "waived", "new", "gone")
_COLUMNS: Final = ("vcenter", "instance_uuid", "taken_at", "complete", *_COUNTS)


def trend_text_in(format: str, trends: Sequence[Trend]) -> str:
    """Return trends in a format, "text" | "json" | "csv", ending in a newline."""
    return {"text": trend_text, "json": trend_json, "csv": trend_csv}[format](trends)


def trend_text(trends: Sequence[Trend]) -> str:
    """Return the last audits of each vCenter as a table, under a chart of errors and warnings."""
    if not trends:
        return "vplacer audit: this history holds no audit yet\n"
    lines: list[str] = []
    for trend in trends:
        lines += [*_of_vcenter(trend), ""]
    return "\n".join(lines[:-1]) + "\n"


def trend_json(trends: Sequence[Trend]) -> str:
    """Return all audits as JSON."""
    document = {
        "format": "vplacer-audit-trend",
        "format_version": 1,
        "vcenters": [
            {
                "name": trend.name,
                "instance_uuid": trend.instance_uuid,
                "audits": [
                    {"taken_at": point.taken_at, "complete": point.complete, **_counts(point)}
                    for point in trend.points
                ],
            }
            for trend in trends
        ],
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def trend_csv(trends: Sequence[Trend]) -> str:
    """Return all audits as CSV, a row each, with a heading."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_COLUMNS)
    for trend in trends:
        for point in trend.points:
            complete = "yes" if point.complete else "no"
            name = f"'{trend.name}" if trend.name.startswith(("=", "+", "-", "@")) else trend.name
            writer.writerow((name, trend.instance_uuid, point.taken_at, complete, *_counts(point).values()))
    return text.getvalue()


def _counts(point: TrendPoint) -> dict[str, int]:
    return {name: getattr(point, name) for name in _COUNTS}


def _of_vcenter(trend: Trend) -> list[str]:
    points = trend.points
    audits = "1 audit" if len(points) == 1 else f"{len(points)} audits"
    lines = [f"vplacer audit trend: {trend.name or trend.instance_uuid}, {audits}"]
    if len(points) > 1:
        charted = points[-_CHART:]
        lines += ["", *_chart("errors", [point.errors for point in charted])]
        lines += _chart("warnings", [point.warnings for point in charted])
    rows: list[tuple[str, ...]] = [_HEAD]
    for point in points[-_SHOWN:]:
        doubt = "" if point.complete else "incomplete"
        counts = [str(number) for number in _counts(point).values()]
        rows.append((point.taken_at, *counts[:4], f"+{counts[4]}", f"-{counts[5]}", doubt))
    lines += ["", *aligned(rows)]
    if len(points) > _SHOWN:
        lines.append(f"{len(points) - _SHOWN} earlier audits: --format json or csv has all")
    return lines


def _chart(name: str, numbers: Sequence[int]) -> list[str]:
    """Draw numbers as bars from 0 to the highest; 0 is always the lowest bar, and nothing else is."""
    top = max(numbers)
    steps = len(_BARS) - 1
    bars = "".join(_BARS[-(-number * steps // top) if top else 0] for number in numbers)
    return [f"{name:<9}{bars}  highest {top}, last {numbers[-1]}"]
