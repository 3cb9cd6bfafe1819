"""Standard output that is full, closed or gone, as another process sees it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

REPO = Path(__file__).parents[2]
FULL = Path("/dev/full")


def shell(folder: Path, line: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """Run a line of sh in which $V is the program."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("VPLACER_")}
    environment.pop("PYTHONUNBUFFERED", None)
    environment |= {"HOME": str(folder), "PYTHONPATH": str(REPO), "V": f"{sys.executable} -m vplacer"}
    return subprocess.run(
        ["sh", "-c", line],
        env=environment | environ,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize("buffering", [{}, {"PYTHONUNBUFFERED": "1"}])
@pytest.mark.parametrize(
    "command", ["schema request", "lab list", "plan --dry-run --from floating -r floating"]
)
@pytest.mark.skipif(not FULL.exists(), reason="no /dev/full")
def test_a_full_disk(command: str, buffering: dict[str, str], tmp_path: Path) -> None:
    done = shell(tmp_path, f"$V {command} > /dev/full", **buffering)
    assert done.returncode == 1
    assert "standard output: cannot be written: No space left on device" in done.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="a file size limit that write() stops at is Linux's")
def test_a_part_that_is_taken_is_not_the_whole(tmp_path: Path) -> None:
    """A limit on the size of files makes the first write a short one, as a full disk does."""
    line = "trap '' XFSZ; ulimit -f 8; $V schema request > out.json"
    done = shell(tmp_path, line, PYTHONUNBUFFERED="1")
    assert (tmp_path / "out.json").stat().st_size <= 8 * 1024
    assert done.returncode == 1
    assert "standard output: cannot be written: File too large" in done.stderr


@pytest.mark.parametrize("command", ["schema request", "lab list", "--help", "plan --help", "--version"])
@pytest.mark.parametrize("redirection", [">&-", "<&- >&-"])
def test_a_closed_output(command: str, redirection: str, tmp_path: Path) -> None:
    done = shell(tmp_path, f"$V {command} {redirection}")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        "Error: standard output: cannot be written: it is closed\n  code: OutputError, exit 1\n"
    )


def test_a_closed_output_does_not_matter_where_nothing_is_printed(tmp_path: Path) -> None:
    done = shell(tmp_path, "$V collect --from floating -o site.json >&-")
    assert (done.returncode, done.stderr) == (0, "site.json: 1 host, 5 VMs, complete\n")


def test_a_closed_error_stream_leaves_the_exit_code(tmp_path: Path) -> None:
    assert shell(tmp_path, "$V schema request >&- 2>&-").returncode == 1
    done = shell(tmp_path, "$V schema request 2>&-")
    assert (done.returncode, done.stdout[:1]) == (0, "{")


def test_a_reader_that_goes_away(tmp_path: Path) -> None:
    line = '{ $V topology show esx01 --from nvswitch --format json; echo "rc $?" >&2; } | head -c 10'
    for environ in ({}, {"PYTHONUNBUFFERED": "1"}):
        done = shell(tmp_path, line, **environ)
        assert done.stdout == "{" + done.stdout[1:]
        assert done.stderr in ("rc 141\n", "rc 0\n"), "0 where all of it fitted into the pipe"


def test_runs_as_a_module(tmp_path: Path) -> None:
    done = shell(tmp_path, "$V --version")
    assert done.returncode == 0
    assert done.stdout.startswith("vplacer ")
    assert "Usage: vplacer " in shell(tmp_path, "$V --help").stdout
