"""Draws a laid-out picture as SVG: standard shapes and text, no script, nothing fetched."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from xml.etree import ElementTree as ET

from vplacer.report.picture.box import Line
from vplacer.report.picture.layout import Placed, line_width
from vplacer.report.picture.style import CORNERS, CSS, GAP, INVISIBLE, SIZES
from vplacer.report.picture.text import clean

_NAMESPACE: Final = "http://www.w3.org/2000/svg"
_BASELINE: Final = 1.05
"""Baseline of a line below its top, in font sizes."""


def draw(picture: Placed, title: str, about: str, links: Sequence[tuple[str, str]] = ()) -> str:
    """Return the SVG document, ending in a newline.

    Args:
        picture: what to draw.
        links: keys of boxes joined by a link; drawn where the two came to lie side by side.
        title: name of the picture, for readers that show none.
        about: what is in it, in words.
    """
    root = ET.Element(
        "svg",
        {
            "xmlns": _NAMESPACE,
            "width": str(picture.width),
            "height": str(picture.height),
            "viewBox": f"0 0 {picture.width} {picture.height}",
            "role": "img",
            "aria-labelledby": "title about",
        },
    )
    ET.SubElement(root, "title", {"id": "title"}).text = clean(title)
    ET.SubElement(root, "desc", {"id": "about"}).text = clean(about)
    ET.SubElement(root, "style").text = CSS
    _draw(root, picture)
    found = {placed.box.key: placed for placed in picture.walk() if placed.box.key}
    for one, other in links:
        _link(root, found[one], found[other])
    ET.indent(root, " ")
    return ET.tostring(root, encoding="unicode") + "\n"


def _draw(outer: ET.Element, placed: Placed) -> None:
    box = placed.box
    group = ET.SubElement(outer, "g", {"data-key": clean(box.key)} if box.key else {})
    if box.about:
        ET.SubElement(group, "title").text = "\n".join(clean(line) for line in box.about.split("\n"))
    if box.kind not in INVISIBLE:
        corner = CORNERS.get(box.kind, 0 if box.kind == "page" else 6)
        ET.SubElement(
            group,
            "rect",
            {
                "class": box.kind,
                "x": str(placed.x),
                "y": str(placed.y),
                "width": str(placed.width),
                "height": str(placed.height),
                "rx": str(corner),
            },
        )
    for line, x, y in placed.lines:
        _text(group, line, x, y)
    for child in placed.children:
        _draw(group, child)


def _text(group: ET.Element, line: Line, x: int, y: int) -> None:
    size = SIZES[line.style]
    ET.SubElement(
        group,
        "text",
        {
            "class": line.style,
            "font-size": str(size),
            "x": str(x),
            "y": f"{y + size * _BASELINE:g}",
            "textLength": f"{line_width(line):.0f}",
            "lengthAdjust": "spacingAndGlyphs",
        },
    ).text = line.shown


def _link(root: ET.Element, one: Placed, other: Placed) -> None:
    """Draw two bars over the gap between neighbours of one row."""
    left, right = sorted((one, other), key=lambda placed: placed.x)
    start, end = left.x + left.width, right.x
    if left.y != right.y or not 0 < end - start <= 2 * GAP:
        return
    middle = left.y + min(left.height, right.height) // 2
    for y in (middle - 5, middle + 5):
        place = {"x1": str(start), "y1": str(y), "x2": str(end), "y2": str(y)}
        ET.SubElement(root, "line", {"class": "link", **place})
