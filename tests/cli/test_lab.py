"""`vplacer lab`: a served site is a vCenter like any other."""

from __future__ import annotations

import errno
import json
import re
import ssl
import tempfile
from pathlib import Path
from types import SimpleNamespace

import pytest
from pyVim.connect import Disconnect, SmartConnect
from pyVim.task import WaitForTask
from pyVmomi import vim

from tests.cli.conftest import NOON, Runner
from vplacer.inventory.snapshot import load_snapshot
from vplacer.jobs.lab import ServeOptions, serve_site
from vplacer.jobs.world import World


def world(**environ: str) -> World:
    return World(environ=environ, clock=lambda: NOON, seconds=lambda: 0.0, warn=lambda text: None)


def test_a_served_site_is_planned_like_a_vcenter(folder: Path, vplacer: Runner) -> None:
    with serve_site(ServeOptions("floating"), world()) as served:
        account = f"--username {served.username} --password-file {served.password_file}"
        outcome = vplacer(
            f"plan --vcenter {served.address} --ca-file {served.ca_file} {account} "
            "-r floating --now 2026-11-30 --format json"
        )
    assert outcome.code == 0, outcome.err
    assert outcome.out.count("127.0.0.1") == 0
    lab = json.loads(vplacer("plan --lab floating -r floating --now 2026-11-30 --format json").out)
    plan = json.loads(outcome.out)
    # The served one has a clock that runs.
    assert {key for key in plan if plan[key] != lab[key]} == {"source", "sha256"}
    assert {key for key in plan["source"] if plan["source"][key] != lab["source"][key]} == {"taken_at"}


def test_overlays_of_a_site_go_with_the_command_that_is_printed(folder: Path, vplacer: Runner) -> None:
    with serve_site(ServeOptions("a30pairs"), world()) as served:
        account = (
            f"--vcenter {served.address} --ca-file {served.ca_file} --username {served.username} "
            f"--password-file {served.password_file}"
        )
        assert served.overlays is not None
        outcome = vplacer(f"plan --dry-run {account} --overlays {served.overlays} -r a30pairs")
        assert outcome.code == 0, outcome.err
        assert vplacer(f"plan --dry-run {account} -r a30pairs").code == 4, "NVLinks are not known without"
    assert not served.overlays.exists()
    with serve_site(ServeOptions("floating"), world()) as served:
        assert served.overlays is None


def test_the_command_that_is_printed_names_the_overlays(
    vplacer: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Interrupted:
        def wait(self) -> None:
            raise KeyboardInterrupt

    monkeypatch.setattr("vplacer.cli.lab_serve.threading", SimpleNamespace(Event=Interrupted))
    outcome = vplacer("lab serve a30pairs")
    assert outcome.code == 130
    folder = re.search(r"^  overlays +(\S+)$", outcome.out, re.MULTILINE)
    assert folder is not None
    assert f" --overlays {folder[1]} -r REQUEST\n" in outcome.err


def test_no_place_for_temporary_files(vplacer: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    def nowhere() -> str:
        raise FileNotFoundError(errno.ENOENT, "No usable temporary directory found")

    monkeypatch.setattr(tempfile, "gettempdir", nowhere)
    for arguments in ("plan --dry-run --lab floating -r floating", "lab serve floating"):
        outcome = vplacer(arguments)
        assert (outcome.code, outcome.out) == (1, "")
        assert outcome.err.startswith("Error: no folder for temporary files can be written: ")
        assert "next: set TMPDIR to a folder that can be written" in outcome.err
    assert vplacer("plan --dry-run --from floating -r floating").code == 0


def test_the_password_may_be_given(folder: Path, vplacer: Runner) -> None:
    (folder / "secret").write_text("swordfish\n")
    (folder / "secret").chmod(0o600)
    by_file = ServeOptions("floating", password_file=folder / "secret", username="me")
    for options, environ in (
        (by_file, {}),
        (ServeOptions("floating", username="me"), {"VPLACER_LAB_PASSWORD": "swordfish"}),
    ):
        with serve_site(options, world(**environ)) as served:
            outcome = vplacer(
                f"collect --vcenter {served.address} --ca-file {served.ca_file} --username me "
                "--password-file secret -o site.json"
            )
        assert outcome.code == 0, outcome.err


def test_a_read_only_account_will_do(folder: Path, vplacer: Runner) -> None:
    with serve_site(ServeOptions("a30pairs", read_only=True), world()) as served:
        outcome = vplacer(
            f"collect --vcenter {served.address} --ca-file {served.ca_file} --username {served.username} "
            f"--password-file {served.password_file} -o site.json"
        )
    assert (outcome.code, outcome.err) == (0, "site.json: 9 hosts, 16 VMs, complete\n")


@pytest.mark.parametrize("version", ["8.0.1.0", "8.0.3.0", "9.0.0.0"])
def test_older_and_newer_apis_are_read(version: str, folder: Path, vplacer: Runner) -> None:
    with serve_site(ServeOptions("floating", api_version=version), world()) as served:
        outcome = vplacer(
            f"plan --vcenter {served.address} --ca-file {served.ca_file} --username {served.username} "
            f"--password-file {served.password_file} -r floating --dry-run --format json"
        )
    assert outcome.code == 0, outcome.err
    assert json.loads(outcome.out)["source"]["api_version"] == version


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("lab serve floating --api-version 3.5", "3.5"),
        ("lab serve nowhere", "no example site has this name"),
        ("lab serve floating --password-file nowhere", "cannot be read"),
        ("lab serve floating --port 70000", "70000"),
    ],
)
def test_what_cannot_be_served(arguments: str, message: str, vplacer: Runner) -> None:
    outcome = vplacer(arguments)
    assert (outcome.code, outcome.out) == (3, "")
    assert message in outcome.err


def test_a_port_that_is_taken_is_told(vplacer: Runner) -> None:
    with serve_site(ServeOptions("floating"), world()) as served:
        port = served.address.rpartition(":")[2]
        outcome = vplacer(f"lab serve floating --port {port}")
    assert outcome.code == 3
    assert port in outcome.err


def test_what_clients_change_is_kept_in_the_state(folder: Path, vplacer: Runner) -> None:
    options = ServeOptions("a30pairs", state=folder / "state.json", speed=1000.0)
    with serve_site(options, world()) as served:
        assert served.password_file is not None
        service = SmartConnect(
            host="127.0.0.1",
            port=int(served.address.rpartition(":")[2]),
            user=served.username,
            pwd=served.password_file.read_text().strip(),
            sslContext=ssl.create_default_context(cafile=str(served.ca_file)),
        )
        vm = service.content.searchIndex.FindByInventoryPath("/dc1/vm/spare")
        WaitForTask(vm.ReconfigVM_Task(vim.vm.ConfigSpec(numCPUs=6)))
        WaitForTask(vm.PowerOnVM_Task())
        Disconnect(service)
    with serve_site(options, world()) as served:
        account = (
            f"--vcenter {served.address} --ca-file {served.ca_file} --username {served.username} "
            f"--password-file {served.password_file}"
        )
        outcome = vplacer(f"collect {account} -o site.json.gz")
        assert outcome.code == 0, outcome.err
    vms = load_snapshot(folder / "site.json.gz").vms
    spare = next(vm for vm in vms if vm.name == "spare")
    assert (spare.cpus, spare.is_on) == (6, True)


def test_a_state_that_was_edited_is_refused(folder: Path, vplacer: Runner) -> None:
    with serve_site(ServeOptions("floating", state=folder / "state.json"), world()):
        pass
    text = (folder / "state.json").read_text()
    (folder / "state.json").write_text(text.replace("float-1", "float-9"))
    outcome = vplacer("lab serve floating --state state.json")
    assert outcome.code == 3
    assert "state.json: the file was changed after it was written" in outcome.err


def test_lists_examples(vplacer: Runner) -> None:
    outcome = vplacer("lab list")
    assert outcome.code == 0
    assert "nvswitch" in outcome.out
    assert "requests: nvswitch, nvswitch-nofit" in outcome.out
    names = [site["name"] for site in json.loads(vplacer("lab list --format json").out)]
    assert names == sorted(names)
    assert {"a30pairs", "floating", "nvswitch"} <= set(names)


def test_starter_request_changes_nothing(folder: Path, vplacer: Runner) -> None:
    outcome = vplacer("request init --lab a30pairs -o request.yaml")
    assert outcome.code == 0, outcome.err
    plan = vplacer("plan --lab a30pairs -r request.yaml --dry-run --detailed-exitcode")
    assert plan.code == 0, plan.out + plan.err
    again = vplacer("request init --lab a30pairs -o request.yaml")
    assert again.code == 1
    assert "request.yaml: exists already" in again.err
    assert vplacer("request init --lab a30pairs -o request.yaml --force").code == 0
    assert vplacer("request init --from a30pairs --cluster ml").out.startswith(
        "# Request for vCenter a30pairs"
    )
    assert vplacer("request init --from a30pairs --cluster nosuch").code == 3


@pytest.mark.parametrize(
    ("format", "start"),
    [("tree", "esx01"), ("matrix", "\tGPU0"), ("json", "{"), ("dot", "graph "), ("graphml", "<graphml")],
)
def test_topology_formats(format: str, start: str, vplacer: Runner) -> None:
    outcome = vplacer(f"topology show ESX01 --lab a30pairs --format {format}")
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.startswith(start)
    assert "NV4" in outcome.out or format in ("dot", "graphml", "json"), "the site's overlays are used"


@pytest.mark.parametrize("name", ["request", "inventory", "overlay"])
def test_schemas_are_schemas(name: str, vplacer: Runner) -> None:
    from jsonschema import Draft202012Validator

    schema = json.loads(vplacer(f"schema {name}").out)
    Draft202012Validator.check_schema(schema)
    assert schema["description"]
