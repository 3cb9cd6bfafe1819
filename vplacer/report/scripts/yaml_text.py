"""Values as YAML for Ansible, whatever names hold: never a template, never another type."""

from __future__ import annotations

import re
from typing import Final

from vplacer.plan.model import Fact
from vplacer.report.scripts.vim_objects import Value, Vim

_TEMPLATES: Final = ("{{", "{%", "{#")
_ESCAPES: Final = {'"': '\\"', "\\": "\\\\"}


def quoted(text: str) -> str:
    """Return a text as a double-quoted scalar, in plain ASCII; one that a template engine would read is
    marked as data (Ansible: !unsafe)."""
    inside = "".join(_spelled(char) for char in text)
    mark = "!unsafe " if any(sign in text for sign in _TEMPLATES) else ""
    return f'{mark}"{inside}"'


def title(text: str) -> str:
    """Return a text as the name of a task, which Ansible would read as a template."""
    return quoted(re.sub(r"\{(?=[{%#])", "{ ", text))


def _spelled(char: str) -> str:
    if char in _ESCAPES:
        return _ESCAPES[char]
    if " " <= char <= "~":
        return char
    number = ord(char)
    return (
        f"\\x{number:02x}"
        if number < 0x100
        else f"\\u{number:04x}"
        if number < 0x10000
        else f"\\U{number:08x}"
    )


def fact(value: Fact) -> str:
    """Return a field's value."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, tuple):
        return f"[{', '.join(quoted(item) for item in value)}]"
    return quoted(value)


def facts(values: tuple[tuple[str, Fact], ...]) -> str:
    """Return fields as a flow mapping."""
    return "{" + ", ".join(f"{quoted(name)}: {fact(value)}" for name, value in values) + "}"


def vim_json(value: Value) -> str:
    """Return a data object as the vSphere JSON API wants it."""
    if isinstance(value, Vim):
        members = [f'"_typeName": {quoted(value.type)}']
        members += [f"{quoted(name)}: {_member(value.type, name, member)}" for name, member in value.members]
        return "{" + ", ".join(members) + "}"
    if isinstance(value, tuple):
        return f"[{', '.join(vim_json(item) for item in value)}]"
    return fact(value)


def _member(type_: str, name: str, value: Value) -> str:
    if (type_, name) == ("OptionValue", "value"):  # a member of any type names its own
        return f'{{"_typeName": "string", "_value": {vim_json(value)}}}'
    return vim_json(value)
