"""Values as PowerShell, whatever names hold."""

from __future__ import annotations

from typing import Final

from vplacer.plan.model import Fact
from vplacer.report.scripts.vim_objects import Value, Vim

_QUOTES: Final = "'\u2018\u2019\u201a\u201b"
"""All that PowerShell takes for a single quote (about_Quoting_Rules); doubled, each stands for itself."""


def quoted(text: str) -> str:
    """Return a text as an expression; one with other characters than plain ASCII is spelled out.

    Windows PowerShell reads a script without a byte order mark in the machine's own encoding.
    """
    if all(" " <= char <= "~" for char in text):
        return "'" + text.replace("'", "''") + "'"
    spelled = "".join(_spelled(char) for char in text)
    return f"([regex]::Unescape('{spelled}'))"


def _spelled(char: str) -> str:
    if char == "\\":
        return "\\\\"
    if char in _QUOTES:
        return "''" if char == "'" else f"\\u{ord(char):04x}"
    if " " <= char <= "~":
        return char
    units = char.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[i]:02x}{units[i + 1]:02x}" for i in range(0, len(units), 2))


def ascii_comment(text: str) -> str:
    """Return a line of a comment in plain ASCII."""
    return "".join(char if " " <= char <= "~" else _spelled(char) for char in text)


def fact(value: Fact) -> str:
    """Return a field's value as an expression."""
    if value is None:
        return "$null"
    if isinstance(value, bool):
        return "$true" if value else "$false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, tuple):
        return f"@({', '.join(quoted(item) for item in value)})"
    return quoted(value)


def vim_lines(value: Value, indent: str = "") -> list[str]:
    """Return a data object, or another value, as the lines of an expression."""
    if isinstance(value, Vim):
        if not value.members:
            return [f"(New-Vim {value.type} @{{}})"]
        lines = [f"(New-Vim {value.type} @{{"]
        for name, member in value.members:
            first, *rest = vim_lines(member, indent + "  ")
            lines += [f"{indent}  {name[0].upper()}{name[1:]} = {first}", *rest]
        return [*lines, f"{indent}}})"]
    if isinstance(value, tuple):
        if not value:
            return ["@()"]
        items = [vim_lines(item, indent + "  ") for item in value]
        lines = ["@("]
        for position, item in enumerate(items):
            comma = "," if position < len(items) - 1 else ""
            lines += [f"{indent}  {item[0]}", *item[1:]]
            lines[-1] += comma
        return [*lines, f"{indent})"]
    return [fact(value)]
