"""How boxes and lines of a picture look: sizes, and colours for a light and a dark page."""

from __future__ import annotations

from typing import Final

SIZES: Final = {"title": 17, "strong": 13, "plain": 12, "faint": 11, "warn": 12}
"""Font size by style of line, in pixels."""

LEADING: Final = 1.4
"""Height of a line, in font sizes."""

PADDING: Final = 9
GAP: Final = 8

INVISIBLE: Final = frozenset({"group", "row"})
"""Kinds of box that only hold others: no frame, no padding."""

_LIGHT: Final = """\
svg{--page:#ffffff;--ink:#1b1f24;--faint:#57606a;--warn:#9a3b00;--line:#8c959f;--package:#f6f8fa;
--node:#ffffff;--switch:#eef3f9;--gpu:#dcf2e0;--gpu-line:#2d7d3c;--nic:#ddeafc;--nic-line:#2f66b0;
--nvswitch:#efe3fb;--nvlink:#7a3fb8;--vm:#fff3cf;--vm-line:#997000;--unknown:#fff1ec}"""
_DARK: Final = """\
@media (prefers-color-scheme:dark){svg{--page:#0d1117;--ink:#e6edf3;--faint:#9aa5b1;--warn:#ffb77c;
--line:#6e7681;--package:#161b22;--node:#0d1117;--switch:#1b2531;--gpu:#14361d;--gpu-line:#56b668;--nic:#14294a;--nic-line:#6aa3f0;
--nvswitch:#2b1b42;--nvlink:#b98cf0;--vm:#3a2f0b;--vm-line:#d3a72c;--unknown:#3a1d14}}"""
_LOOKS: Final = """\
text{font-family:ui-monospace,"DejaVu Sans Mono",Menlo,Consolas,monospace;fill:var(--ink);white-space:pre}
.title,.strong{font-weight:700}.faint{fill:var(--faint)}.warn{fill:var(--warn);font-weight:700}
rect{stroke:var(--line);fill:none}.page{fill:var(--page);stroke:none}.package{fill:var(--package)}
.node{fill:var(--node);stroke-width:1.5}.switch{fill:var(--switch)}.gpu{fill:var(--gpu);stroke:var(--gpu-line);stroke-width:2}
.nic{fill:var(--nic);stroke:var(--nic-line)}.nvswitch{fill:var(--nvswitch);stroke:var(--nvlink)}
.nvlink{fill:var(--nvswitch);stroke:var(--nvlink);stroke-width:2}
.vm{fill:var(--vm);stroke:var(--vm-line)}.vm-off{fill:none;stroke:var(--vm-line);stroke-dasharray:2 3}
.floating{stroke-dasharray:8 4;stroke:var(--vm-line)}
.unknown{fill:var(--unknown);stroke:var(--warn);stroke-width:2;stroke-dasharray:6 4}.note{stroke:none}
.link{stroke:var(--nvlink);stroke-width:5}"""

CSS: Final = f"{_LIGHT}\n{_DARK}\n{_LOOKS}"
"""The style sheet of every picture: light colours, dark ones where the reader's system asks for them."""

CORNERS: Final = {"gpu": 3, "nic": 3, "nvswitch": 3, "vm": 11, "vm-off": 11}
"""Radius of the corners by kind; the shape tells VMs from devices without their colour."""
