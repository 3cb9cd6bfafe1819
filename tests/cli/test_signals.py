"""What signals do to a running program, as another process sees it."""

from __future__ import annotations

import json
import os
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from tests.cli.conftest import Runner
from vplacer.constraints.state import Problem
from vplacer.solver.solve import solve as REAL_SOLVE
from vplacer.solver.verdict import Solution, SolveOptions, StoppedBy

CODE = (
    # Tests run in the background inherit that SIGINT is ignored.
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler);"
    "from vplacer.cli.main import run; run()"
)


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
    assert result.stderr == (
        "Error: standard output: cannot be written: No space left on device\n  code: OutputError, exit 1\n"
    )


def test_ctrl_c_while_reading_gives_up_at_once(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("x")
    (tmp_path / "secret").chmod(0o600)
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        options = ("--username", "ro", "--password-file", "secret", "-r", "nvswitch", "--dry-run")
        with started(tmp_path, "plan", "--vcenter", address, *options) as process:
            connection, _ = server.accept()  # and never answers
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=30)
            connection.close()
    assert (process.returncode, out, err.strip()) == (130, "", "interrupted")


def interrupting(times: int) -> Callable[..., Solution]:
    """Return a solver that the user interrupts: one that obeys and hands over what it has."""

    def solve(problem: Problem, options: SolveOptions, stop: Callable[[], StoppedBy | None]) -> Solution:
        assert stop() is None
        for _ in range(times):
            os.kill(os.getpid(), signal.SIGINT)
        assert stop() is StoppedBy.INTERRUPT
        return replace(REAL_SOLVE(problem, options, lambda: None), stopped_by=StoppedBy.INTERRUPT)

    return solve


def test_first_ctrl_c_shows_the_best_plan_so_far(vplacer: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vplacer.solver.solve.solve", interrupting(1))
    before = signal.getsignal(signal.SIGINT)
    outcome = vplacer("plan --dry-run --from floating -r floating")
    assert outcome.code == 130
    assert "stopping with the best plan found so far; Ctrl-C again gives up at once" in outcome.err
    assert "interrupted" in outcome.out.splitlines()[-1]
    assert "Plan: 1 to reconfigure" in outcome.out
    assert signal.getsignal(signal.SIGINT) is before


def test_second_ctrl_c_gives_up(vplacer: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vplacer.solver.solve.solve", interrupting(2))
    outcome = vplacer("plan --from floating -r floating -o plan.json")
    assert (outcome.code, outcome.out) == (130, "")
    assert outcome.err.endswith("interrupted\n")
    assert not Path("plan.json").exists()


def test_ctrl_c_before_the_search_begins(vplacer: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    def solve(problem: Problem, options: SolveOptions, stop: Callable[[], StoppedBy | None]) -> Solution:
        os.kill(os.getpid(), signal.SIGINT)
        assert stop() is StoppedBy.INTERRUPT
        return REAL_SOLVE(problem, options, stop)

    monkeypatch.setattr("vplacer.solver.solve.solve", solve)
    outcome = vplacer("plan --dry-run --from floating -r floating")
    assert outcome.code == 130
    assert "(interrupted): placed 1 of 1" in outcome.out.splitlines()[-1]


def test_a_time_limit_stops_the_search(vplacer: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    def solve(problem: Problem, options: SolveOptions, stop: Callable[[], StoppedBy | None]) -> Solution:
        while stop() is None:
            time.sleep(0.01)
        assert stop() is StoppedBy.TIME
        return REAL_SOLVE(problem, options, stop)

    monkeypatch.setattr("vplacer.solver.solve.solve", solve)
    outcome = vplacer("plan --dry-run --from floating -r floating --time-limit 0.1")
    assert outcome.code == 0
    assert "(the time limit was reached): placed 1 of 1" in outcome.out.splitlines()[-1]
