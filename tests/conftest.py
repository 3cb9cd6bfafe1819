"""What every test may use: the public test data, the witness programs, hypothesis profiles."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import pytest
from hypothesis import settings

REPO = Path(__file__).resolve().parent.parent
IN_CI = os.environ.get("CI", "").lower() in {"1", "true", "yes"}

# In CI the same examples every time, and the failing one printed so that it can be replayed anywhere.
# No deadline: a slow machine is no defect.
settings.register_profile("ci", derandomize=True, deadline=None, print_blob=True)
settings.register_profile("dev", deadline=None, print_blob=True)
settings.load_profile("ci" if IN_CI else "dev")


def missing(what: str) -> NoReturn:
    """Skip the test for want of a prerequisite; in CI, where everything must be there, fail it."""
    if IN_CI:
        pytest.fail(f"{what} (CI is set, so this is no reason to skip)")
    pytest.skip(what)


@pytest.fixture(scope="session")
def test_data() -> Path:
    """Return the folder of public test data that ``VPLACER_TEST_DATA`` names."""
    value = os.environ.get("VPLACER_TEST_DATA")
    if not value:
        missing("VPLACER_TEST_DATA is not set")
    folder = Path(value)
    if not folder.is_dir():
        pytest.fail(f"VPLACER_TEST_DATA names no folder: {folder}")
    return folder


@pytest.fixture(scope="session")
def witness_bin() -> Callable[[str], Path]:
    """Return a function from a program's name (``vcsim``, ``govc``) to its file, built from tests/witness."""
    folder = Path(os.environ.get("VPLACER_WITNESS_BIN") or REPO / "build" / "witness")

    def find(name: str) -> Path:
        program = shutil.which(name, path=folder)
        if program is None:
            missing(f"no {name} in {folder}: .ci/run builds it, or see CONTRIBUTING.md")
        return Path(program)

    return find
