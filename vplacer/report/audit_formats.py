"""The formats of an audit, by name; the module of one is imported when it is used.

To add one: write ``report/audit_<name>.py`` with a function from a report to text, and name both here.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import PurePath
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from vplacer.audit.model import AuditReport

_FORMATS: Final = {
    "json": ("audit_json", "audit_json"),
    "ndjson": ("audit_ndjson", "audit_ndjson"),
    "sarif": ("audit_sarif", "audit_sarif"),
    "junit": ("audit_junit", "audit_junit"),
    "github": ("audit_github", "audit_github"),
    "csv": ("audit_csv", "audit_csv"),
    "prometheus": ("audit_prometheus", "audit_prometheus"),
    "openmetrics": ("audit_openmetrics", "audit_openmetrics"),
    "html": ("audit_html", "audit_html"),
}
"""Name: module of `vplacer.report` and function."""
TEXT: Final = "text"
METRICS: Final = ("prometheus", "openmetrics")
"""Formats that need the gauges of a report. Whoever collects them runs under another account."""
PICTURES: Final = ("html",)
"""Formats that need the pictures of a report."""
_SUFFIXES: Final = {
    ".txt": TEXT,
    ".json": "json",
    ".ndjson": "ndjson",
    ".jsonl": "ndjson",
    ".sarif": "sarif",
    ".xml": "junit",
    ".csv": "csv",
    ".prom": "prometheus",
    ".html": "html",
    ".htm": "html",
}


def audit_format_names() -> tuple[str, ...]:
    """Return the names of all formats, text first."""
    return (TEXT, *_FORMATS)


def audit_format_of(path: PurePath) -> str:
    """Return the format that the suffix of a file stands for; text if it stands for none."""
    if path.name.lower().endswith(".sarif.json"):
        return "sarif"
    return _SUFFIXES.get(path.suffix.lower(), TEXT)


def audit_format(name: str) -> Callable[[AuditReport], str]:
    """Return the function that writes a format other than text."""
    module, function = _FORMATS[name]
    found: Callable[[AuditReport], str] = getattr(import_module(f"vplacer.report.{module}"), function)
    return found
