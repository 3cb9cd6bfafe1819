"""One report in each format, word for word.

With VPLACER_UPDATE_GOLDEN=1 the files are written anew: look at the difference before committing it.
"""

from __future__ import annotations

import os
from typing import Any

import pytest

from tests.audit.full_report import full_report
from tests.conftest import REPO
from vplacer.report.audit_formats import audit_format
from vplacer.report.audit_text import audit_text

GOLDEN = REPO / "tests" / "audit" / "golden"
UPDATE = bool(os.environ.get("VPLACER_UPDATE_GOLDEN"))
FILES = {
    "json": "report.json",
    "ndjson": "report.ndjson",
    "sarif": "report.sarif",
    "junit": "report.xml",
    "github": "github.txt",
    "csv": "report.csv",
    "prometheus": "report.prom",
    "openmetrics": "openmetrics.txt",
}
TEXTS: dict[str, dict[str, Any]] = {
    "text": {},
    "text-v": {"details": True},
    "text-summary": {"brief": True},
    "text-narrow": {"width": 60},
}


@pytest.mark.parametrize("name", [*FILES, *TEXTS])
def test_format(name: str) -> None:
    file = GOLDEN / FILES.get(name, f"{name}.txt")
    report = full_report()
    text = audit_format(name)(report) if name in FILES else audit_text(report, **TEXTS[name])
    if UPDATE:
        GOLDEN.mkdir(exist_ok=True)
        file.write_bytes(text.encode())
    assert text == file.read_bytes().decode()
