"""Completion scripts, and what they offer."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Runner
from vplacer.cli.completion import SHELLS
from vplacer.jobs.fixtures import list_fixtures

CODE = "from vplacer.cli.main import run; run()"


def offered(words: str, folder: Path) -> list[str]:
    """Return what bash would be offered for the last word."""
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "PYTHONPATH": str(Path(__file__).parents[2]),
        "_VPLACER_COMPLETE": "bash_complete",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split(" ")) - 1),
    }
    code = f"import sys; sys.argv = ['vplacer']; {CODE}"
    result = subprocess.run(
        [sys.executable, "-c", code],
        env=environment,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert result.stderr == ""
    return [line.partition(",")[2] for line in result.stdout.splitlines() if line.startswith("plain,")]


@pytest.mark.parametrize("shell", SHELLS)
def test_each_shell_has_a_script(shell: str, vplacer: Runner) -> None:
    outcome = vplacer(f"completion {shell}")
    assert (outcome.code, outcome.err) == (0, "")
    assert "_VPLACER_COMPLETE" in outcome.out
    assert f"{shell}_complete" in outcome.out
    assert "%(" not in outcome.out


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("vplacer top", ["topology"]),
        ("vplacer lab ", ["list", "serve", "record", "export"]),
        ("vplacer plan --form", ["--format"]),
        ("vplacer plan --format ", ["text", "json"]),
        ("vplacer topology show --from floating esx", ["esx01"]),
        ("vplacer topology show --from no-such-file esx", []),
        ("vplacer topology show esx", []),
    ],
)
def test_offers(words: str, expected: list[str], tmp_path: Path) -> None:
    assert offered(words, tmp_path) == expected


def test_offers_example_sites_and_requests(tmp_path: Path) -> None:
    assert offered("vplacer plan --lab ", tmp_path) == list_fixtures("sites")
    assert offered("vplacer plan -r nv", tmp_path) == ["nvswitch", "nvswitch-nofit"]
