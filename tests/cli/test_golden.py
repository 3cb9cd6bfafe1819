"""What commands print for the example sites, word for word.

Each file of tests/cases/cli/golden holds a command and its output. With VPLACER_UPDATE_GOLDEN=1 the files
are written anew: look at the difference before committing it.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from tests.cli.conftest import Runner
from tests.conftest import REPO

UPDATE = bool(os.environ.get("VPLACER_UPDATE_GOLDEN"))
FILES = sorted((REPO / "tests" / "cases" / "cli" / "golden").glob("*.txt"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_output(file: Path, vplacer: Runner) -> None:
    command = file.read_text(encoding="utf-8").splitlines()[0]
    assert command.startswith("$ vplacer ")
    outcome = vplacer(command.removeprefix("$ vplacer "))
    seconds = re.compile(r"\d+\.\d s\.$", re.MULTILINE)
    text = f"{command}\n{seconds.sub('0.0 s.', outcome.out)}{outcome.err}(exit {outcome.code})\n"
    if UPDATE:
        file.write_text(text, encoding="utf-8")
    assert text == file.read_text(encoding="utf-8")
