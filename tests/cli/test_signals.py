"""What signals do to a running program, as another process sees it."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

CODE = "from vplacer.cli.main import run; run()"


@contextmanager
def started(folder: Path, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("VPLACER_")}
    environment |= {"HOME": str(folder), "PYTHONPATH": str(Path(__file__).parents[2])}
    process = subprocess.Popen(
        [sys.executable, "-c", CODE, *arguments],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize(
    ("number", "code", "word"), [(signal.SIGTERM, 143, ""), (signal.SIGINT, 130, "interrupted\n")]
)
def test_a_served_lab_ends_cleanly(number: int, code: int, word: str, tmp_path: Path) -> None:
    with started(
        tmp_path, "lab", "serve", "floating", "--format", "json", "--state", "state.json"
    ) as process:
        assert process.stdout is not None
        told = json.loads(process.stdout.readline())
        password = Path(told["password_file"])
        assert stat.S_IMODE(password.stat().st_mode) == 0o600
        assert Path(told["ca_file"]).read_text().startswith("-----BEGIN CERTIFICATE-----")
        process.send_signal(number)
        _, err = process.communicate(timeout=30)
    assert (process.returncode, err.lstrip()) == (code, word)
    assert not password.exists()
    assert not password.parent.exists()
    assert (tmp_path / "state.json").exists()


def test_a_reader_that_goes_away_is_no_error(tmp_path: Path) -> None:
    with started(tmp_path, "topology", "show", "esx01", "--from", "nvswitch", "--format", "json") as process:
        assert process.stdout is not None
        process.stdout.close()
        assert process.stderr is not None
        assert process.stderr.read() == ""
        assert process.wait(timeout=30) == 141


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_output_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    with Path("/dev/full").open("w") as full:
        result = subprocess.run(
            [sys.executable, "-c", CODE, "schema", "request"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=30,
            check=False,
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        )
    assert result.returncode == 1
    assert result.stderr == "Error: standard output: cannot be written: No space left on device\n"
