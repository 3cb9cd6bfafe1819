"""`vplacer --help` answers at once: it imports none of the heavy libraries."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = {
    "jinja2",
    "pyVmomi",
    "pyVim",
    "ortools",
    "rich",
    "networkx",
    "numpy",
    "pandas",
    "vcr",
    "cryptography",
    "jsonschema",
    "yaml",
}


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_imports(option: str, tmp_path: Path) -> None:
    code = f"import sys; sys.argv = ['vplacer', {option!r}]; from vplacer.cli.main import run; run()"
    result = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", code],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    # Lines read "import time: SELF | CUMULATIVE | NAME", the name indented by depth.
    trace = [line for line in result.stderr.splitlines() if line.startswith("import time:")]
    messages = [line for line in result.stderr.splitlines() if not line.startswith("import time:")]
    assert (result.returncode, messages) == (0, [])
    assert "vplacer" in result.stdout
    imported = {line.rpartition("|")[2].strip().partition(".")[0] for line in trace}
    assert "click" in imported
    assert imported & HEAVY == set()
