"""govc scripts carried out on the simulated vCenter over HTTPS, which keeps vSphere's rules."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from tests.cli.conftest import Runner, folder, vplacer
from tests.conftest import REPO
from tests.report.scripts.bash_run import run_script
from tests.witness_programs import lab_environment
from vplacer.inventory.load import load_inventory_file
from vplacer.inventory.overlay_file import save_overlays
from vplacer.lab.soap.server import LabServer

__all__ = ["folder", "vplacer"]
pytestmark = pytest.mark.live

SITE = """
format_version: 1
host_kinds:
  t4:
    cpu: {packages: 2, cores: 16}
    memory_gib: 256
    devices: [{gpu: T4, node: 0}, {gpu: T4, node: 1}]
  bare: {cpu: {packages: 2, cores: 16}, memory_gib: 256}
clusters: [{name: ml, drs: partiallyAutomated, hosts: [{kind: t4}, {kind: bare}]}]
vms:
  - {name: "it's $(touch pwned) {{ 7*7 }} / ü", "on": esx01, cpus: 8, memory_gib: 32, hardware_version: 17}
  - {name: "small\\t\\u202eone", "on": esx01, cpus: 2, memory_gib: 8}
  - {name: plain, "on": esx02, cpus: 2, memory_gib: 8}
"""
REQUEST = """
version: 1
defaults: {affinity: pin, policy: required}
vms:
  - {select: {name: "it's*"}, gpus: {count: 1, model: T4}, hardware_version: 20}
  - {select: {name: "small*"}, cpus: 4}
"""


@dataclass
class Shop:
    """A lab, a plan for it, and its script."""

    govc: Path
    server: LabServer
    source: str
    vplacer: Runner

    def plan(self, request: str) -> list[str]:
        outcome = self.vplacer(f"plan {self.source} -r {request} -o plan.json --force")
        assert outcome.code == 0, outcome.err
        return [step["effect"] for step in json.loads(Path("plan.json").read_text())["steps"]]

    def run(self, *options: str) -> CompletedProcess[str]:
        script = self.vplacer("show plan.json --format govc")
        assert script.code == 0, script.err
        account = lab_environment(self.server) | {"GOVMOMI_HOME": str(Path.cwd())}
        return run_script(self.govc, account, script.out, *options)


@pytest.fixture
def open_shop(
    witness_bin: Callable[[str], Path], folder: Path, vplacer: Runner
) -> Iterator[Callable[[Path], Shop]]:
    servers: list[LabServer] = []

    def make(file: Path) -> Shop:
        site = load_inventory_file(file)
        server = LabServer(site, speed=200, session_timeout_s=1e7)
        servers.append(server)
        server.start()
        (folder / "password").write_text(server.password)
        (folder / "password").chmod(0o600)
        address = server.url.removeprefix("https://").removesuffix("/sdk")
        source = (
            f"--vcenter {address} --ca-file {server.ca_file} --username {server.username} "
            f"--password-file password --overlays overlays"
        )
        (folder / "overlays").mkdir(exist_ok=True)
        save_overlays(folder / "overlays", site.overlays)
        return Shop(witness_bin("govc"), server, source, vplacer)

    yield make
    for server in servers:
        server.stop()


def test_the_planned_state_of_an_example_site_is_reached(open_shop: Callable[[Path], Shop]) -> None:
    shop = open_shop(REPO / "fixtures/sites/vgpu.yaml")
    assert shop.plan("vgpu")
    done = shop.run()
    assert done.returncode == 0, done.stderr
    assert shop.plan("vgpu") == []


# How far a script goes at each example, as far as govc can say what is to be done.
STOPS = {
    "floating": None,
    "vgpu": None,
    "a100pcie": "govc cannot set cores per socket, the vNUMA topology, Dynamic DirectPath devices",
    "a30pairs": "govc cannot set cores per socket, the vNUMA topology, Dynamic DirectPath devices",
    "dgx2": "govc cannot set cores per socket, the vNUMA topology, the vNUMA node of a device",
    "nvswitch": "govc cannot set cores per socket, the vNUMA topology, Dynamic DirectPath devices",
    "subnuma": "hosts of the cluster have several cards at 0000:81:00.0",
    "untold": "hosts of the cluster have several cards at 0000:04:00.0",
}


@pytest.mark.long
@pytest.mark.parametrize("site", STOPS)
def test_every_example_goes_as_far_as_govc_can(site: str, open_shop: Callable[[Path], Shop]) -> None:
    shop = open_shop(REPO / f"fixtures/sites/{site}.yaml")
    assert shop.plan(site)
    done = shop.run("--allow-power-cycle", "--allow-migration", "--allow-hw-upgrade", "--partial")
    stop = STOPS[site]
    if stop is None:
        assert (done.returncode, done.stderr) == (0, "")
        assert shop.plan(site) == []
    else:
        assert done.returncode == 7
        assert stop in done.stderr


def test_a_card_at_an_address_that_several_hosts_have_stops_it(open_shop: Callable[[Path], Shop]) -> None:
    shop = open_shop(REPO / "fixtures/sites/untold.yaml")
    assert shop.plan("untold")
    stopped = shop.run()
    assert stopped.returncode == 7
    assert "STOPPED at step 3" in stopped.stderr
    assert "hosts of the cluster have several cards at 0000:04:00.0" in stopped.stderr


def test_running_vms_with_odd_names_are_cycled_and_upgraded(
    open_shop: Callable[[Path], Shop], folder: Path
) -> None:
    (folder / "site.yaml").write_text(SITE)
    (folder / "request.yaml").write_text(REQUEST)
    shop = open_shop(folder / "site.yaml")
    effects = shop.plan("request.yaml")
    assert len([text for text in effects if " off" in text]) == 2, effects
    assert any("upgrade" in text for text in effects), effects
    for missing in ("--allow-hw-upgrade", "--allow-power-cycle"):
        given = {"--allow-hw-upgrade", "--allow-power-cycle"} - {missing}
        refused = shop.run(*given)
        assert (refused.returncode, missing in refused.stderr) == (3, True)
    done = shop.run("--allow-power-cycle", "--allow-hw-upgrade")
    assert done.returncode == 0, done.stderr
    assert shop.plan("request.yaml") == []
    assert not (folder / "pwned").exists()
