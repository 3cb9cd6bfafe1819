"""The formats of an audit, by name; the module of one is imported when it is used.

To add one: write ``report/audit_<name>.py`` with a function from a report to text, and name both here.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Final

from vplacer.audit.model import AuditReport

_FORMATS: Final = {
    "json": ("audit_json", "audit_json"),
}
"""Name: module of `vplacer.report` and function."""
TEXT: Final = "text"


def audit_format_names() -> tuple[str, ...]:
    """Return the names of all formats, text first."""
    return (TEXT, *_FORMATS)


def audit_format(name: str) -> Callable[[AuditReport], str]:
    """Return the function that writes a format other than text."""
    module, function = _FORMATS[name]
    found: Callable[[AuditReport], str] = getattr(import_module(f"vplacer.report.{module}"), function)
    return found
