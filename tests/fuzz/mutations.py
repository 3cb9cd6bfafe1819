"""Strategies that damage real files: their bytes, their lines and words, or the values inside JSON."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

_ODD_TEXT = (
    "",
    " ",
    "\t",
    "\n",
    "\r\n",
    ",",
    ":",
    '"',
    "<",
    "/>",
    "]]>",
    "&amp;",
    "&#0;",
    "&x;",
    "X",
    "NV4",
    "SYS",
    "N/A",
    "GPU0",
    "GPU1",
    "GPU00000000000000000001",
    "-1",
    "0",
    "00",
    "1e999",
    "4294967295",
    "4294967296",
    "9" * 400,
    "9" * 5000,
    "0x" + "f" * 40,
    "0000:17:00.0",
    "ffffffff:ff:1f.7",
    "00000:101:00.0",
    "PCI 0:300:0:0",
    "null",
    "true",
    "[",
    "{",
    "- ",
    "? ",
    "*a",
    "&a ",
    "!!python/name:os.system",
    "\u0661\u0662",
    "\u00b2",
    "\ufeff",
    "\ud7ff",
    "\x1b[4m",
    "\x00",
    "\x85",
    "\u2028",
)
_ODD_VALUES: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    -1,
    2**31,
    2**63,
    10**30,
    1.5,
    "",
    "x",
    "0000:17:00.0",
    "9" * 400,
    [],
    {},
    [[]],
    [None],
    {"": None},
    {"type": "Overlay"},
)


@st.composite
def damaged_text(draw: st.DrawFn, samples: Sequence[str]) -> str:
    """Draw one of the samples with one to six changes: characters, words or lines cut, put in or swapped."""
    text = draw(st.sampled_from(samples))
    for _ in range(draw(st.integers(1, 6))):
        text = _change(draw, text)
    return text


def _change(draw: st.DrawFn, text: str) -> str:
    kind = draw(st.sampled_from(("cut", "put", "words", "lines", "end", "repeat", "character")))
    size = len(text)
    start = draw(st.integers(0, size))
    if kind == "cut":
        return text[:start] + text[start + draw(st.integers(1, 40)) :]
    if kind == "put":
        return text[:start] + draw(st.sampled_from(_ODD_TEXT)) + text[start:]
    if kind == "character":
        return text[:start] + draw(st.characters(codec="utf-8")) + text[start + 1 :]
    if kind == "end":
        return text[:start]
    if kind == "repeat":
        stop = start + draw(st.integers(1, 200))
        return text[:stop] + text[start:stop] + text[stop:]
    if kind == "words":
        # The word at a place is replaced by an odd one, or by another of the text.
        left = max(text.rfind(mark, 0, start) for mark in ' \t\n"=,:') + 1
        right = min((p for mark in ' \t\n"=,:' if (p := text.find(mark, start)) >= 0), default=size)
        other = draw(st.integers(0, size))
        new = draw(st.sampled_from((*_ODD_TEXT, text[other : other + 12])))
        return text[:left] + new + text[right:]
    lines = text.splitlines(keepends=True)
    if not lines:
        return text
    one, two = (draw(st.integers(0, len(lines) - 1)) for _ in range(2))
    match draw(st.sampled_from(("swap", "drop", "double", "join"))):
        case "swap":
            lines[one], lines[two] = lines[two], lines[one]
        case "drop":
            del lines[one]
        case "double":
            lines.insert(two, lines[one])
        case _:
            lines[one] = lines[one].rstrip("\r\n")
    return "".join(lines)


@st.composite
def damaged_bytes(draw: st.DrawFn, samples: Sequence[bytes]) -> bytes:
    """Draw one of the samples with one to four changes to its bytes."""
    data = draw(st.sampled_from(samples))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(data)))
        stop = start + draw(st.integers(0, 16))
        data = data[:start] + draw(st.binary(max_size=8)) + data[stop:]
    return data[: draw(st.integers(0, len(data)))] if draw(st.booleans()) else data


@st.composite
def damaged_json(draw: st.DrawFn, samples: Sequence[Any]) -> Any:
    """Draw one of the samples (JSON values) with one to four values inside replaced, dropped or copied."""
    value = copy.deepcopy(draw(st.sampled_from(samples)))
    for _ in range(draw(st.integers(1, 4))):
        holder, key = _place(draw, value)
        if holder is None:
            continue
        match draw(st.sampled_from(("odd", "odd", "drop", "copy", "add"))):
            case "odd":
                holder[key] = copy.deepcopy(draw(st.sampled_from(_ODD_VALUES)))
            case "drop":
                del holder[key]
            case "copy":
                other, other_key = _place(draw, value)
                if other is not None:
                    holder[key] = copy.deepcopy(other[other_key])
            case _:
                odd = copy.deepcopy(draw(st.sampled_from(_ODD_VALUES)))
                if isinstance(holder, dict):
                    holder["unheard-of"] = odd
                else:
                    holder.append(odd)
    return value


def _place(draw: st.DrawFn, value: Any) -> tuple[Any, Any]:
    """Draw a place inside a JSON value, as its holder and key; (None, None) where there is none."""
    holder, key = None, None
    for _ in range(draw(st.integers(1, 9))):
        if isinstance(value, dict) and value:
            holder, key = value, draw(st.sampled_from(sorted(value)))
        elif isinstance(value, list) and value:
            holder, key = value, draw(st.integers(0, len(value) - 1))
        else:
            break
        value = holder[key]
    return holder, key
