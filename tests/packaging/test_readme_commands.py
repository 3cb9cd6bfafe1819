"""The two commands that README.md promises, and that CI runs the one for the tests."""

from __future__ import annotations

import re
import subprocess

import pytest

from tests.conftest import REPO


def block(name: str) -> list[str]:
    """Return the lines of the fenced block that follows ``<!-- name -->`` in README.md."""
    text = (REPO / "README.md").read_text(encoding="utf-8")
    found = re.findall(rf"^<!-- {name} -->\n```sh\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert len(found) == 1, f"README.md has {len(found)} blocks {name}"
    return str(found[0]).splitlines()


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("first-command", ["python3 -m venv", "pip install", "vplacer plan --dry-run --lab "]),
        ("test-command", ["python3 -m venv", "pip install -e '.[dev]'", "pytest"]),
    ],
)
def test_block_is_one_line_that_sets_up_and_runs(name: str, parts: list[str]) -> None:
    (line,) = block(name)
    assert [part for part in parts if part not in line] == []


def test_ci_runs_the_test_block() -> None:
    printed = subprocess.run(
        [REPO / ".ci" / "run", "--print-test-command"], capture_output=True, text=True, timeout=20, check=True
    )
    assert printed.stdout.splitlines() == block("test-command")
    # What is printed is what runs, as the last thing, so pytest's summary ends the output.
    last = (REPO / ".ci" / "run").read_text(encoding="utf-8").rstrip().splitlines()[-1]
    assert last == 'bash -euo pipefail -c "$command"'


def test_hosted_workflow_calls_the_same_script() -> None:
    workflow = (REPO / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
    assert re.search(r"^\s+- run: vplacer/\.ci/run$", workflow, re.MULTILINE)
