"""`vplacer labels`: planned, saved, set at a vCenter, planned again."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import Runner
from vplacer.inventory.load import load_inventory_file
from vplacer.inventory.overlay_file import save_overlays
from vplacer.lab.soap.server import LabServer

SITE = """
format_version: 1
host_kinds:
  a30:
    cpu: {packages: 2, cores: 32}
    memory_gib: 512
    devices: [{gpu: A30, count: 2, node: 0}, {gpu: A30, node: 1}]
    nvlinks: [[gpu0, gpu1], {between: [gpu0, gpu2], lanes: 0}, {between: [gpu1, gpu2], lanes: 0}]
clusters: [{name: ml, hosts: [{kind: a30, count: 2}]}]
vms: [{name: web, "on": esx01, cpus: 2, memory_gib: 8}]
"""


@pytest.fixture
def lab(folder: Path) -> Iterator[LabServer]:
    (folder / "site.yaml").write_text(SITE)
    site = load_inventory_file(folder / "site.yaml")
    (folder / "overlays").mkdir()
    save_overlays(folder / "overlays", site.overlays)
    with LabServer(site) as server:
        (folder / "password").write_text(server.password)
        (folder / "password").chmod(0o600)
        yield server


@pytest.fixture
def source(lab: LabServer) -> str:
    address = lab.url.removeprefix("https://").removesuffix("/sdk")
    return (
        f"--vcenter {address} --ca-file {lab.ca_file} --username {lab.username} "
        "--password-file password --overlays overlays"
    )


def test_planned_compared_set_and_planned_again(source: str, vplacer: Runner) -> None:
    planned = vplacer(f"labels plan {source} --scheme pair -o labels.json")
    assert planned.code == 0, planned.err
    assert "none -> gpu-n0-p0" in planned.out
    assert "saved to labels.json" in planned.err
    checked = vplacer(f"labels apply labels.json {source} --check")
    assert (checked.code, checked.out) == (
        0,
        "All is as the plan saw it; nothing was changed. 6 labels to set.\n",
    )
    done = vplacer(f"labels apply labels.json {source}")
    assert done.code == 0, done.err
    assert done.out.endswith("Labels: 6 set, all cards of the plan have theirs.\n")
    again = vplacer(f"labels plan {source} --scheme pair")
    assert "Labels: 0 to set, 6 right already." in again.out
    repeated = vplacer(f"labels apply labels.json {source}")
    assert "Labels: 0 set, all cards of the plan have theirs." in repeated.out


def test_the_inventory_is_read_once(lab: LabServer, source: str, vplacer: Runner) -> None:
    def reads() -> int:
        return lab.calls["CreateContainerView"]

    before = reads()
    assert vplacer(f"labels plan {source} -o labels.json").code == 0
    once = reads() - before
    assert vplacer(f"labels apply labels.json {source}").code == 0
    assert once > 0
    assert reads() < before + 3 * once, "single hosts are read back, not everything"


def test_what_somebody_did_since_is_refused(source: str, vplacer: Runner) -> None:
    assert vplacer(f"labels plan {source} --prefix card -o theirs.json").code == 0
    assert vplacer(f"labels plan {source} -o ours.json").code == 0
    assert vplacer(f"labels apply theirs.json {source}").code == 0
    refused = vplacer(f"labels apply ours.json {source}")
    assert refused.code == 6
    assert "esx01 0000:" in refused.err
    assert "planned for unset, now card-n0" in refused.err


def test_a_file_of_another_kind_an_edited_one_and_no_vcenter(source: str, vplacer: Runner) -> None:
    assert vplacer(f"labels plan {source} -o labels.json").code == 0
    document = json.loads(Path("labels.json").read_text())
    document["cards"][0]["after"] = "mine"
    Path("edited.json").write_text(json.dumps(document))
    edited = vplacer(f"labels apply edited.json {source}")
    assert (edited.code, "changed after it was written" in edited.err) == (3, True)
    assert vplacer(f"collect {source} -o site.json").code == 0
    wrong = vplacer(f"labels apply site.json {source}")
    assert (wrong.code, "a snapshot, not a plan of labels" in wrong.err) == (3, True)
    nowhere = vplacer("labels apply labels.json")
    assert (nowhere.code, "give --vcenter HOST" in nowhere.err) == (3, True)
    over = vplacer(f"labels plan {source} -o site.json")
    assert (over.code, "is not a plan of labels" in over.err) == (1, True)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--cluster mll", "did you mean ml?"),
        ("--prefix nic", "--prefix and --nic-prefix are the same"),
        ("--prefix 1x", "cannot begin a label"),
    ],
)
def test_bad_options(options: str, message: str, folder: Path, vplacer: Runner) -> None:
    (folder / "site.yaml").write_text(SITE)
    outcome = vplacer(f"labels plan --from site.yaml {options}")
    assert (outcome.code, message in outcome.err) == (3, True)
