"""What a picture is made of: boxes with lines of text, and boxes inside them."""

from __future__ import annotations

from dataclasses import dataclass

from vplacer.report.picture.text import clean


@dataclass(frozen=True, slots=True)
class Line:
    """One line of text. ``style``: "title", "strong", "plain", "faint" or "warn"; a look, not a meaning."""

    text: str
    style: str = "plain"

    @property
    def shown(self) -> str:
        """The text as it can be drawn."""
        return clean(self.text)


@dataclass(frozen=True, slots=True)
class Box:
    """A box. ``kind`` is its look (`vplacer.report.picture.style`).

    lines: at its top, one below the other.
    children: below the lines: side by side and wrapped if ``across``, else one below the other.
    width: in pixels; None = as wide as what is in it, or as the box it is in if it is to ``grow``.
    grow: takes its part of what is left of the row, or all of the width in a column.
    least: smallest width, in pixels, before a row is wrapped.
    about: tooltip; all that the lines had to shorten.
    key: names the box in the picture; "" = nothing refers to it.
    """

    kind: str
    lines: tuple[Line, ...] = ()
    children: tuple[Box, ...] = ()
    across: bool = False
    width: float | None = None
    grow: bool = False
    least: float = 0
    about: str = ""
    key: str = ""
