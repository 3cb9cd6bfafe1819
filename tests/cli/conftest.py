"""Runs the command line inside the test's process, in an empty folder and a clean environment."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest

from vplacer.cli.common import Common
from vplacer.cli.main import main

NOON = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


@dataclass(frozen=True)
class Outcome:
    """How a run ended."""

    code: int
    out: str
    err: str


Runner = Callable[..., Outcome]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty folder that is the working folder, and keep the user's own settings out."""
    import os

    for name in list(os.environ):
        if name.startswith(("VPLACER_", "VMWARE_")) and name != "VPLACER_TEST_DATA":
            monkeypatch.delenv(name)
    for name in ("NO_COLOR", "FORCE_COLOR", "https_proxy", "HTTPS_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home" / "config"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home" / "data"))
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    return work


@pytest.fixture
def vplacer(folder: Path) -> Runner:
    """Return a function that runs `vplacer` with the arguments given, split at spaces if it is one text."""
    import os

    def run(arguments: str | list[str], stdin: str = "") -> Outcome:
        out, err = io.StringIO(), io.StringIO()
        common = Common(
            environ=dict(os.environ),
            stdin=io.StringIO(stdin),
            stdout=out,
            stderr=err,
            clock=lambda: NOON,
        )
        words = arguments.split() if isinstance(arguments, str) else arguments
        code = main(words, common)
        assert "Traceback" not in err.getvalue(), err.getvalue()
        return Outcome(code, out.getvalue(), err.getvalue())

    return run


@pytest.fixture
def own_locks(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep locks of applies apart from those of tests of the same site that run at the same time."""
    locks = folder.parent / "temporary"
    locks.mkdir()
    monkeypatch.setattr("vplacer.apply.lock.default_lock_folder", lambda: locks / "vplacer-locks")
    monkeypatch.setenv("TMPDIR", str(locks))  # of other processes
