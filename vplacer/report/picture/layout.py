"""Where each box of a picture goes: CSS flexbox, by the library stretchable (Rust's Taffy)."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from vplacer.errors import UsageError
from vplacer.report.picture.box import Box, Line
from vplacer.report.picture.style import GAP, INVISIBLE, LEADING, PADDING, SIZES
from vplacer.report.picture.text import width

if TYPE_CHECKING:
    from stretchable import Node


_BELOW_TEXT: Final = 5


@dataclass(frozen=True, slots=True)
class Placed:
    """A box in whole pixels from the picture's corner, and what is in it. ``lines`` with their top."""

    box: Box
    x: int
    y: int
    width: int
    height: int
    children: tuple[Placed, ...]
    lines: tuple[tuple[Line, int, int], ...]

    def walk(self) -> Iterator[Placed]:
        """Yield the box and all boxes inside, outer ones first."""
        yield self
        for child in self.children:
            yield from child.walk()


def line_height(line: Line) -> float:
    """Return how high a line is, in pixels."""
    return SIZES[line.style] * LEADING


def line_width(line: Line) -> float:
    """Return how wide a line is, in pixels."""
    return width(line.shown, SIZES[line.style])


def place(box: Box, page_width: float) -> Placed:
    """Lay a picture out on a page of a width in pixels; it becomes as high as it needs to be.

    Raises:
        UsageError: the library is not installed.
    """
    stretchable = _library()
    style = stretchable.style
    node = _node(stretchable, box, {"size": (page_width, style.AUTO)})
    node.compute_layout()
    # A row that is wrapped, or had to shrink, keeps the height it had at another width: the second run is
    # given the widths that the first one found.
    _fix_widths(node, style)
    node.compute_layout()
    return _placed(node, box)


def _library() -> Any:
    """Import stretchable, without what it does to the program's logging: it sets up the root logger."""
    root = logging.getLogger()
    quiet = logging.NullHandler()
    root.addHandler(quiet)
    try:
        import stretchable
    except ImportError:
        raise UsageError(
            "the picture cannot be laid out",
            obj="svg",
            why="the Python package stretchable is not installed",
            hint="pip install 'vplacer[svg]'; --format tree and dot work without it",
        ) from None
    finally:
        root.removeHandler(quiet)
    return stretchable


def _fix_widths(node: Node, style: Any) -> None:
    """Give each node that has others inside the width it was found to have."""
    import attrs

    if not len(node):
        return
    node.style = attrs.evolve(
        node.style,
        size=style.Size(node.get_box().width, style.AUTO),
        min_size=style.Size(style.AUTO, style.AUTO),
        max_size=style.Size(style.AUTO, style.AUTO),
        flex_shrink=0,
        flex_basis=style.AUTO,
    )
    for part in node:
        _fix_widths(part, style)


def _node(library: Any, box: Box, more: dict[str, Any]) -> Node:
    """Build the library's node of a box: one for a box of text alone, else with its text and children inside.

    ``more``: what the box it is in asks of it.
    """
    style = library.style
    padding = 0 if box.kind in INVISIBLE else PADDING
    wide, high = _text_size(box.lines)
    if not box.children:
        least = 0 if box.width is not None else max(box.least, wide + 2 * padding)
        return library.Node(**{**more, "min_size": (least, high + 2 * padding)})
    text = (library.Node(min_size=(wide, high), margin=(0, 0, _BELOW_TEXT, 0)),) if box.lines else ()
    inside = library.Node(
        *(_node(library, child, _of_child(style, child, across=box.across)) for child in box.children),
        flex_direction=style.FlexDirection.ROW if box.across else style.FlexDirection.COLUMN,
        flex_wrap=style.FlexWrap.WRAP if box.across else style.FlexWrap.NO_WRAP,
        align_items=style.AlignItems.STRETCH,
        align_content=style.AlignContent.STRETCH if _fills(box) else style.AlignContent.FLEX_START,
        gap=GAP,
        flex_grow=1,
    )
    return library.Node(*text, inside, flex_direction=style.FlexDirection.COLUMN, padding=padding, **more)


def _text_size(lines: Sequence[Line]) -> tuple[float, float]:
    return max(map(line_width, lines), default=0), sum(map(line_height, lines))


def _fills(box: Box) -> bool:
    """Whether the boxes inside take all of the height: those that share the width do."""
    return any(child.grow for child in box.children)


def _of_child(style: Any, child: Box, *, across: bool) -> dict[str, Any]:
    wanted: dict[str, Any] = {"max_size": (100 * style.PCT, style.AUTO)}
    if child.width is not None:
        wanted |= {"size": (child.width, style.AUTO), "flex_shrink": 0}
        wanted["align_self"] = style.AlignSelf.STRETCH if across else style.AlignSelf.START
    elif child.grow and across:
        wanted |= {"flex_grow": 1, "flex_basis": child.least, "min_size": (child.least, style.AUTO)}
    elif not child.grow and not across:
        wanted["align_self"] = style.AlignSelf.START
    return wanted


def _placed(node: Node, box: Box, x: float = 0, y: float = 0) -> Placed:
    frame = node.get_box()
    left, top = x + frame.x, y + frame.y
    padding = 0 if box.kind in INVISIBLE else PADDING
    lines: list[tuple[Line, int, int]] = []
    below = top + padding
    for line in box.lines:
        lines.append((line, round(left + padding), round(below)))
        below += line_height(line)
    children: tuple[Placed, ...] = ()
    if box.children:
        inside = list(node)[-1]
        at = inside.get_box()
        children = tuple(
            _placed(part, child, left + at.x, top + at.y)
            for part, child in zip(inside, box.children, strict=True)
        )
    # Edges are rounded, not sizes: what fits then still does.
    at_x, at_y = round(left), round(top)
    wide, high = round(left + frame.width) - at_x, round(top + frame.height) - at_y
    return Placed(box, at_x, at_y, wide, high, children, tuple(lines))
