"""How findings went from audit to audit, as an SVG picture: a column an audit.

It is made here and not by a library of charts: three stacked numbers are some rectangles, which take the
colours of the page, its dark ones too, print as lines, need no script, and are the same bytes each time.
What draws better (on a canvas, by script) can do none of these.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from vplacer.audit.trend import TrendPoint
from vplacer.report.page.render import minute

if TYPE_CHECKING:
    from markupsafe import Markup

SHOWN: Final = 60
"""Audits that are drawn, the latest; all are in the table."""
_WIDE: Final = 860
_HIGH: Final = 170
_LEFT: Final = 48
_TOP: Final = 26
_BOTTOM: Final = 24
_NARROWEST: Final = 20
"""Columns are placed as if there were at least so many, so that two audits are no two barn doors."""


def trend_chart(points: Sequence[TrendPoint]) -> Markup | None:
    """Return the picture; None for fewer than two audits."""
    from markupsafe import Markup

    if len(points) < 2:
        return None
    shown = points[-SHOWN:]
    top = max(1, *(point.errors + point.warnings + point.notes for point in shown))
    step = (_WIDE - _LEFT) / max(len(shown), _NARROWEST)
    base = _HIGH - _BOTTOM
    scale = (base - _TOP) / top
    parts = [
        Markup('<svg class="chart" viewBox="0 0 {} {}" role="img" aria-label="{}">').format(
            _WIDE, _HIGH, _about(shown)
        ),
        _key(),
        _text(_LEFT - 6, _TOP + 4, f"{top:,}", "end"),
        _text(_LEFT - 6, base, "0", "end"),
        Markup('<line class="axis" x1="{}" y1="{}" x2="{}" y2="{}"/>').format(_LEFT, base, _WIDE, base),
    ]
    for index, point in enumerate(shown):
        parts.append(_column(point, _LEFT + index * step + 1, step - 2, base, scale))
    parts.append(_text(_LEFT, _HIGH - 8, minute(shown[0].taken_at), "start"))
    last = min(_WIDE, int(_LEFT + len(shown) * step))
    if last > _LEFT + 300:
        parts.append(_text(last, _HIGH - 8, minute(shown[-1].taken_at), "end"))
    return Markup("").join([*parts, Markup("</svg>")])


def _column(point: TrendPoint, x: float, wide: float, base: float, scale: float) -> Markup:
    from markupsafe import Markup

    told = (
        f"{minute(point.taken_at)}: {point.errors} errors, {point.warnings} warnings, {point.notes} notes"
        + ("" if point.complete else "; INCOMPLETE")
    )
    made = [Markup("<g><title>{}</title>").format(told)]
    y = base
    for look, number in (("error", point.errors), ("warning", point.warnings), ("note", point.notes)):
        high = number * scale
        y -= high
        if number:
            made.append(_box(look, x, y, wide, high))
    if not point.complete:
        made.append(_box("gap", x, _TOP, wide, base - _TOP))
    return Markup("").join([*made, Markup("</g>")])


def _box(look: str, x: float, y: float, wide: float, high: float) -> Markup:
    from markupsafe import Markup

    shape = Markup('<rect class="{}" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}"/>')
    return shape.format(look, x, y, max(wide, 1), high)


def _key() -> Markup:
    from markupsafe import Markup

    made = []
    for index, (look, word) in enumerate(
        (("error", "errors"), ("warning", "warnings"), ("note", "notes"), ("gap", "incomplete audit"))
    ):
        x = _LEFT + index * 110
        made += [_box(look, x, 4, 12, 12), _text(x + 18, 15, word, "start")]
    return Markup("").join(made)


def _text(x: float, y: float, words: str, anchor: str) -> Markup:
    from markupsafe import Markup

    return Markup('<text x="{}" y="{:.0f}" text-anchor="{}">{}</text>').format(x, y, anchor, words)


def _about(points: Sequence[TrendPoint]) -> str:
    first, last = points[0], points[-1]
    return (
        f"Open findings of {len(points)} audits: {first.errors} errors, {first.warnings} warnings and "
        f"{first.notes} notes at {minute(first.taken_at)}; {last.errors}, {last.warnings} and {last.notes} "
        f"at {minute(last.taken_at)}"
    )
