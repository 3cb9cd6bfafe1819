"""What signals do to an apply that is under way, as another process sees it."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.cli.conftest import Runner
from tests.cli.test_signals import started
from tests.conftest import REPO
from vplacer.inventory.load import load_inventory_file
from vplacer.inventory.vm import VmPower
from vplacer.jobs.overlays import save_overlays
from vplacer.lab.model.orders import Call, StallTask, When
from vplacer.lab.soap.faults import FaultRule, Harm
from vplacer.lab.soap.server import LabServer

pytestmark = pytest.mark.usefixtures("own_locks")

VM = "vm-2006"


@contextmanager
def stalling(folder: Path, vplacer: Runner, seconds: float | None) -> Iterator[tuple[LabServer, list[str]]]:
    """Serve a site where the reconfiguration of a VM that runs takes so long; yield it and how to log in."""
    site = load_inventory_file(REPO / "fixtures" / "sites" / "a30pairs.yaml")
    save_overlays(folder / "overlays", tuple(site.overlays))
    with LabServer(site, password="word", speed=50.0, clock_runs=True) as server:
        assert server.machine is not None
        server.machine.orders.add(StallTask(When(Call.RECONFIGURE, VM), seconds))
        (folder / "secret").write_text("word")
        (folder / "secret").chmod(0o600)
        login = (
            f"--vcenter 127.0.0.1:{server.port} --ca-file {server.ca_file} --username {server.username} "
            "--password-file secret --overlays overlays"
        ).split()
        assert vplacer(["plan", "-r", "a30pairs", "-o", "plan.json", "-q", *login]).code == 0
        yield server, login


def until_line(process: subprocess.Popen[str], text: str) -> None:
    """Read standard error up to a line with a text."""
    assert process.stderr is not None
    deadline = time.monotonic() + 60
    while text not in (line := process.stderr.readline()):
        assert line, f"the program ended before it said '{text}'"
        assert time.monotonic() < deadline


def power(server: LabServer) -> VmPower:
    assert server.machine is not None
    return next(vm.power for vm in server.machine.state.inventory.vms if vm.moid == VM)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_the_first_signal_brings_to_an_end_what_is_off(
    number: int, code: int, folder: Path, vplacer: Runner
) -> None:
    with stalling(folder, vplacer, 100.0) as (server, login):
        with started(folder, "apply", "plan.json", "--allow-power-cycle", *login) as process:
            until_line(process, "notebook-1  reconfigure: begun")
            process.send_signal(number)
            until_line(process, "stopping: nothing new is begun, waiting for")
            out, err = process.communicate(timeout=60)
        assert process.returncode == code, out + err
        assert "Stopped part way: " in out
        assert "go on:      vplacer apply --resume plan.json" in out
        assert power(server) is VmPower.ON
        resumed = vplacer(["apply", "--resume", "plan.json", "--allow-power-cycle", *login])
        assert resumed.code == 0, resumed.out


def test_the_second_lets_go_and_resume_finds_the_task(folder: Path, vplacer: Runner) -> None:
    with stalling(folder, vplacer, None) as (server, login):
        with started(folder, "apply", "plan.json", "--allow-power-cycle", *login) as process:
            until_line(process, "notebook-1  reconfigure: begun")
            process.send_signal(signal.SIGINT)
            until_line(process, "stopping: nothing new is begun, waiting for")
            process.send_signal(signal.SIGINT)
            until_line(process, "goes on in the vCenter; vplacer apply --resume plan.json finds it again")
            out, err = process.communicate(timeout=60)
        assert process.returncode == 130, out + err
        assert out.splitlines()[0] == "NEEDS ATTENTION"
        assert "notebook-1: it ran before and is off now" in out
        assert server.machine is not None
        for task in server.machine.tasks(VM, datetime.min.replace(tzinfo=UTC)):
            server.machine.release(task.id)
        resumed = vplacer(["apply", "--resume", "--allow-power-cycle", *login])
        assert resumed.code == 0, resumed.out
        assert power(server) is VmPower.ON
        assert server.calls["ReconfigVM_Task"] == 7


def test_before_the_first_change_a_signal_ends_it_at_once(folder: Path, vplacer: Runner) -> None:
    with stalling(folder, vplacer, None) as (server, login):
        assert server.machine is not None
        before = server.machine.state.inventory
        server.faults.add(FaultRule(Harm.DELAY, "RetrievePropertiesEx", delay_s=4.0))
        already = server.calls["RetrievePropertiesEx"]
        with started(folder, "apply", "plan.json", "--allow-power-cycle", *login) as process:
            while server.calls["RetrievePropertiesEx"] == already:
                time.sleep(0.05)
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=60)
        assert (process.returncode, err.strip()) == (130, "interrupted")
        assert server.machine is not None
        assert server.machine.state.inventory == before
