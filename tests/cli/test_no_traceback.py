"""What goes wrong for users ends in a message and an exit code, never in a traceback (data-driven)."""

from __future__ import annotations

import errno
import gzip
import json
import socket
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.conftest import Runner
from tests.conftest import REPO
from vplacer.inventory.load import load_inventory_file
from vplacer.inventory.snapshot import snapshot_bytes

CASES = yaml.safe_load((REPO / "tests" / "cases" / "cli" / "no-traceback.yaml").read_text(encoding="utf-8"))
SITE = REPO / "fixtures" / "sites" / "floating.yaml"

GAP = """\
format_version: 1
host_kinds:
  one:
    cpu: {packages: 1, cores: 16}
    memory_gib: 64
clusters:
  - {name: c, hosts: [{kind: one, count: 2}]}
vms:
  - {name: one, on: esx01, cpus: 2, memory_gib: 4}
gaps:
  - {object: esx01, path: config.pciPassthruInfo, kind: permission, reason: System.Read}
"""


def snapshot() -> bytes:
    return snapshot_bytes(load_inventory_file(SITE).inventory, compress=False)


def edited(change: Callable[[dict[str, Any]], None]) -> bytes:
    document = json.loads(snapshot())
    change(document)
    return json.dumps(document).encode()


def twins() -> bytes:
    """Return a snapshot in which two VMs in different folders have one name, as vCenter allows."""
    inventory = load_inventory_file(SITE).inventory
    vms = list(inventory.vms)
    vms[:2] = [replace(vm, name="twin", folder=f"/dc1/{n}") for n, vm in enumerate(vms[:2])]
    return snapshot_bytes(replace(inventory, vms=tuple(vms)), compress=False)


def more_memory(document: dict[str, Any]) -> None:
    document["inventory"]["hosts"][0]["memory_bytes"] *= 2


MADE_UP: dict[str, Callable[[], bytes]] = {
    "cut-off-snapshot": lambda: gzip.compress(snapshot())[:-100],
    "edited-snapshot": lambda: edited(more_memory),
    "newer-snapshot": lambda: edited(lambda document: document.update(format_version=99)),
    "cut-off-gzip": lambda: gzip.compress(b"{}" * 1000)[:-10],
    "newer-plan": lambda: b'{"format": "vplacer-plan", "format_version": 99, "sha256": ""}',
    "two-vms-of-one-name": twins,
    "site-with-a-gap": GAP.encode,
    "site-of-api-7": (GAP.partition("gaps:")[0] + 'vcenter: {api_version: "7.0.3.0"}\n').encode,
}


@pytest.fixture(scope="module")
def places() -> Iterator[dict[str, str]]:
    """Return addresses and files that cases name: two simulated vCenters, and a port nobody listens at."""
    from vplacer.jobs.lab import lab_server

    site = load_inventory_file(SITE)
    with (
        lab_server(site) as server,
        lab_server(site, api_version="7.0.3.0") as old,
        socket.create_server(("127.0.0.1", 0)) as taken,
    ):
        port = taken.getsockname()[1]
        taken.close()
        yield {
            "lab": f"127.0.0.1:{server.port}",
            "ca": str(server.ca_file),
            "lab70": f"127.0.0.1:{old.port}",
            "ca70": str(old.ca_file),
            "other_ca": str(old.ca_file),
            "closed": f"127.0.0.1:{port}",
            "site": str(SITE),
        }


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_message_and_exit_code(
    case: dict[str, Any],
    folder: Path,
    vplacer: Runner,
    places: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, text in case.get("files", {}).items():
        content = MADE_UP[text]() if text in MADE_UP else text.encode()
        (folder / name).write_bytes(content)
        (folder / name).chmod(0o600)
    for name, value in case.get("env", {}).items():
        monkeypatch.setenv(name, value)
    before = sorted(path.name for path in folder.iterdir())
    outcome = vplacer([word.format_map(places) for word in case["args"].split()])
    shown = outcome.out + outcome.err
    assert outcome.code == case["exit"], shown
    assert [text for text in case.get("err", []) if text.format_map(places) not in outcome.err] == [], shown
    assert [text for text in case.get("out", []) if text.format_map(places) not in outcome.out] == [], shown
    assert [text for text in case.get("not", []) if text in shown] == []
    assert "defect of vplacer" not in outcome.err
    # What failed leaves no file behind.
    assert sorted(path.name for path in folder.iterdir()) == before


@pytest.mark.parametrize(
    "arguments",
    [
        "plan --from floating -r floating -o plan.json",
        "collect --lab floating -o site.json.gz",
        "collect --lab floating -o site.json.gz --record tape.json",
        "request init --from floating -o request.yaml",
        "lab record floating -o tape.json",
        "lab serve floating --state state.json",
    ],
)
def test_read_only_disk(
    arguments: str, folder: Path, vplacer: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every command that writes finds out, and says so, before it works for long."""

    def refuse(*args: object, **kwargs: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    for name in ("mkstemp", "TemporaryFile"):
        monkeypatch.setattr(tempfile, name, refuse)
    outcome = vplacer(arguments)
    assert (outcome.code, outcome.out) == (1, "")
    assert "cannot be written: Read-only file system" in outcome.err
    assert "next: the disk is read-only; give a path elsewhere" in outcome.err
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("name", ["~nobody-by-this-name/site.json", "x" * 300 + ".json"])
def test_strange_paths(name: str, vplacer: Runner) -> None:
    outcome = vplacer(["topology", "show", "esx01", "--from", name])
    assert outcome.code in (1, 3)
    assert "defect of vplacer" not in outcome.err
    assert name[:40] in outcome.err


def test_no_home(vplacer: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(variable)
    monkeypatch.setattr("os.path.expanduser", lambda path: path)
    assert vplacer("plan --dry-run --from floating -r floating").code == 0
