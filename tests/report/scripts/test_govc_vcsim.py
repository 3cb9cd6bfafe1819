"""govc scripts carried out on vcsim: the plan's state is reached; what has changed before stops them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from tests.cli.conftest import Runner, folder, vplacer
from tests.report.scripts.bash_run import run_script
from tests.witness_programs import run_govc, serving

__all__ = ["folder", "vplacer"]
pytestmark = pytest.mark.live

NAME = 'it\'s "odd" $(touch pwned) `id` ü'
REQUEST = """
version: 1
vms:
  - {{template: vgpu-template, name: {name}, gpus: {{profile: nvidia_h100-3-40c}}}}
"""


@dataclass
class Shop:
    """A vCenter, a plan for it, and its script."""

    govc: Path
    url: str
    source: str
    vplacer: Runner

    def plan(self, request: str) -> list[str]:
        """Plan, save, and return what is to be done."""
        outcome = self.vplacer(f"plan {self.source} -r {request} -o plan.json --force")
        assert outcome.code == 0, outcome.err
        return [step["effect"] for step in json.loads(Path("plan.json").read_text())["steps"]]

    def script(self) -> str:
        outcome = self.vplacer("show plan.json --format govc")
        assert (outcome.code, outcome.err) == (0, "")
        return outcome.out

    def run(self, *options: str) -> CompletedProcess[str]:
        account = {"GOVC_URL": self.url, "GOVC_INSECURE": "1"}
        return run_script(self.govc, account, self.script(), *options)

    def change(self, *arguments: str) -> None:
        done = run_govc(self.govc, self.url, *arguments)
        assert done.returncode == 0, done.stderr


@pytest.fixture
def shop(witness_bin: Callable[[str], Path], folder: Path, vplacer: Runner) -> Iterator[Shop]:
    assert vplacer("lab export vgpu --format vcsim -o files").code == 0
    (folder / "password").write_text("any")
    (folder / "password").chmod(0o600)
    (folder / "odd.yaml").write_text(REQUEST.format(name=json.dumps(NAME)))
    with serving(witness_bin("vcsim"), "-load", str(folder / "files")) as url:
        address = url.rpartition("@")[2].removesuffix("/sdk")
        source = f"--vcenter {address} --insecure --username any --password-file password"
        yield Shop(witness_bin("govc"), url, source, vplacer)


def test_the_planned_state_is_reached_and_a_second_run_changes_nothing(shop: Shop) -> None:
    assert len(shop.plan("vgpu")) == 20
    checked = shop.run("--check")
    assert (checked.returncode, checked.stderr) == (0, "")
    done = shop.run()
    assert (done.returncode, done.stderr) == (0, "")
    again = shop.run()
    assert again.returncode == 6
    assert "Nothing was changed" in again.stderr
    assert shop.plan("vgpu") == []


def test_a_name_full_of_signs(shop: Shop, folder: Path) -> None:
    assert len(shop.plan("odd.yaml")) == 4
    done = shop.run()
    assert done.returncode == 0, done.stderr
    assert shop.plan("odd.yaml") == []
    assert not (folder / "pwned").exists()


def test_a_vm_changed_since_stops_it_before_the_first_change(shop: Shop) -> None:
    before = shop.plan("vgpu")
    shop.change("vm.power", "-off", "chat-1")
    stopped = shop.run()
    assert stopped.returncode == 6
    assert "chat-1" in stopped.stderr
    assert 'power is "poweredOff", not "poweredOn"' in stopped.stderr
    assert "Nothing was changed" in stopped.stderr
    shop.change("vm.power", "-on", "chat-1")
    assert shop.plan("vgpu") == before


def test_a_vm_changed_on_the_way_stops_it_there(shop: Shop) -> None:
    shop.plan("vgpu")
    # Somebody changes the VM while step 3 runs: its own change is none of the CPUs'.
    meddle = '\nstep_3() {\n  made chat-2; govc vm.change -vm "$VM" -e numa.nodeAffinity=1\n'
    guard = """\nstep_4() {\n  known x "$VM"; expect_vm x "$VM" '{"extra.numa.nodeaffinity": null}'\n"""
    spoiled = shop.script().replace("\nstep_3() {\n", meddle).replace("\nstep_4() {\n", guard)
    stopped = run_script(shop.govc, {"GOVC_URL": shop.url, "GOVC_INSECURE": "1"}, spoiled)
    assert stopped.returncode == 7
    assert "STOPPED at step 4 of 20" in stopped.stderr
    rest = shop.run("--from", "4")
    assert (rest.returncode, rest.stderr) == (0, "")


def test_another_vcenter_is_refused(shop: Shop) -> None:
    shop.plan("vgpu")
    text = shop.script()
    uuid = next(line for line in text.splitlines() if line.startswith("INSTANCE_UUID="))
    other = text.replace(uuid, "INSTANCE_UUID=00000000-0000-0000-0000-000000000000")
    stopped = run_script(shop.govc, {"GOVC_URL": shop.url, "GOVC_INSECURE": "1"}, other)
    assert stopped.returncode == 6
    assert "this is the vCenter" in stopped.stderr
