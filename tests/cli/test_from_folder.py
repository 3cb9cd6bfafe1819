"""`--from DIR`: a folder of saved objects is a source like any other."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Runner


@pytest.fixture
def saved(folder: Path, vplacer: Runner) -> Path:
    assert vplacer("lab export a30pairs --format vcsim -o a30pairs").code == 0
    return folder / "a30pairs"


def test_what_it_lacks_is_said_and_can_be_allowed(saved: Path, vplacer: Runner) -> None:
    refused = vplacer("collect --from a30pairs -o site.json.gz")
    assert refused.code == 5
    assert "tags  fault: a folder of govc object.save has no tags" in refused.err
    done = vplacer("collect --from a30pairs -o site.json.gz --allow-incomplete")
    assert done.code == 0, done.err
    shown = vplacer("topology show esx01 --from site.json.gz --allow-incomplete")
    assert shown.code == 0, shown.err
    assert vplacer("topology show esx01 --from a30pairs --allow-incomplete").out == shown.out


def test_overlays_beside_it_are_used(saved: Path, vplacer: Runner) -> None:
    shown = vplacer("topology show esx01 --from a30pairs --allow-incomplete --format json")
    lab = vplacer("topology show esx01 --lab a30pairs --format json")
    assert "NV" in lab.out
    assert json.loads(shown.out) == json.loads(lab.out)


def test_a_plan_leaves_vms_alone_whose_tags_nobody_knows(saved: Path, vplacer: Runner) -> None:
    plan = json.loads(
        vplacer("plan --from a30pairs -r a30pairs --allow-incomplete --format json --now 2026-11-30").out
    )
    assert "vm-2016" in plan["names"], "the template is read"
    left = {entry["name"]: entry["reason"] for entry in plan["left_alone"]}
    assert "vplacer:ignore" in left["train-1"]
    assert not {step.get("vm") for step in plan["steps"]} & {"vm-2001", "vm-2006"}


def test_no_file_of_it_is_overwritten(saved: Path, vplacer: Runner) -> None:
    file = next(saved.glob("*-HostSystem-*.xml"))
    before = file.read_bytes()
    refused = vplacer(f"collect --from a30pairs -o a30pairs/{file.name} --allow-incomplete --force")
    assert refused.code == 3
    assert "is read by this command" in refused.err
    assert file.read_bytes() == before


def test_a_folder_without_objects_does_not_hide_an_example(folder: Path, vplacer: Runner) -> None:
    (folder / "floating").mkdir()
    (folder / "floating" / "notes.txt").write_text("mine")
    done = vplacer("collect --from floating -o site.json.gz")
    assert done.code == 0, done.err


def test_a_folder_that_is_none(folder: Path, vplacer: Runner) -> None:
    (folder / "photos").mkdir()
    done = vplacer("collect --from photos -o site.json.gz")
    assert done.code == 3
    assert "photos: holds no saved objects" in done.err
    assert vplacer("collect --from / -o site.json.gz").code == 3
    assert "govc object.save -d" in done.err
