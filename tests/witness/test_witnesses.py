"""The witness programs do what the tests that use them rely on."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.witness_programs import run_govc, serving

pytestmark = pytest.mark.live

Find = Callable[[str], Path]


def test_govc_reads_vcsim(witness_bin: Find) -> None:
    with serving(witness_bin("vcsim"), "-api-version", "8.0.3.0", "-host", "2", "-vm", "1") as url:
        govc = witness_bin("govc")
        about = run_govc(govc, url, "about")
        assert "API version:  8.0.3.0" in about.stdout, about.stderr
        hosts = run_govc(govc, url, "find", "/DC0/host/DC0_C0", "-type", "h").stdout.split()
        assert hosts == ["/DC0/host/DC0_C0/DC0_C0_H0", "/DC0/host/DC0_C0/DC0_C0_H1"]
        vms = run_govc(govc, url, "find", "/DC0/vm", "-type", "m").stdout.split()
        assert vms == ["/DC0/vm/DC0_H0_VM0", "/DC0/vm/DC0_C0_RP0_VM0"]


def test_every_group_of_govc_commands_is_linked(witness_bin: Find) -> None:
    listing = subprocess.run([witness_bin("govc")], capture_output=True, text=True, timeout=60, check=False)
    commands = set((listing.stdout + listing.stderr).split())
    wanted = {"about", "find", "host.info", "vm.info", "device.info", "device.pci.ls", "collect"}
    wanted |= {"object.save", "gpu.host.info", "gpu.vm.info", "cluster.rule.ls", "vm.power", "vm.clone"}
    assert wanted - commands == set()


def test_only_the_given_account_may_log_in(witness_bin: Find) -> None:
    with serving(witness_bin("vcsim"), "-username", "reader", "-password", "right") as url:
        host = url.rpartition("@")[2]
        govc = witness_bin("govc")
        assert run_govc(govc, f"https://reader:right@{host}", "about").returncode == 0
        refused = run_govc(govc, f"https://reader:wrong@{host}", "about")
        assert refused.returncode == 1
        assert "Login failure" in refused.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["-load", "."], "no *.xml in"),
        (["-method-delay", "CloneVM_Task"], "is not Name:milliseconds"),
    ],
)
def test_bad_options_are_refused_in_one_line(
    witness_bin: Find, tmp_path: Path, options: list[str], message: str
) -> None:
    result = subprocess.run(
        [witness_bin("vcsim"), *options],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert result.returncode == 1
    assert message in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_a_saved_inventory_can_be_served_again(witness_bin: Find, tmp_path: Path) -> None:
    vcsim, govc = witness_bin("vcsim"), witness_bin("govc")
    with serving(vcsim, "-api-version", "8.0.3.0") as url:
        saved = run_govc(govc, url, "object.save", "-d", str(tmp_path / "saved"))
        assert saved.returncode == 0, saved.stderr
        names = run_govc(govc, url, "find", "/", "-type", "m").stdout
    with serving(vcsim, "-load", str(tmp_path / "saved")) as url:
        assert run_govc(govc, url, "find", "/", "-type", "m").stdout == names
