"""Text in a picture: how wide it is, and what may stand in it.

All text is set in a monospaced font. Its width is then known without the viewer's font: 0.6 em a
column, which `draw` also states as ``textLength``, so that another font is fitted to it.
"""

from __future__ import annotations

import re
import textwrap
from typing import Final

_EM_PER_COLUMN: Final = 0.6
# What XML 1.0 cannot hold, escaped or not; and line breaks and tabs, which SVG text does not keep.
_NOT_IN_XML = re.compile("[^\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
# They would reorder what follows, or draw it over what is before.
_REORDERING = re.compile("[\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def clean(text: str) -> str:
    """Return the text without what an SVG file cannot hold or would draw elsewhere."""
    return _REORDERING.sub("", _NOT_IN_XML.sub("\ufffd", text))


def columns(text: str) -> int:
    """Return how many columns a text takes; East Asian characters take two, combining ones none."""
    from rich.cells import cell_len

    return cell_len(text)


def width(text: str, size: float) -> float:
    """Return how wide a text is in a font of ``size`` pixels."""
    return columns(text) * size * _EM_PER_COLUMN


def clip(text: str, limit: int) -> str:
    """Shorten a text to ``limit`` columns, from its middle: names differ at their ends."""
    if columns(text) <= limit:
        return text
    head, tail = "", ""
    for left, right in zip(text, reversed(text), strict=False):
        if columns(head + left + tail) >= limit:
            break
        head += left
        if columns(head + right + tail) >= limit:
            break
        tail = right + tail
    return f"{head}\u2026{tail}"


def wrap(text: str, limit: int) -> tuple[str, ...]:
    """Break a text into lines of at most ``limit`` columns, where it can at blanks."""
    lines: list[str] = []
    for line in textwrap.wrap(text, limit):
        lines += [line] if columns(line) <= limit else textwrap.wrap(line, limit // 2)
    return tuple(lines) or ("",)
