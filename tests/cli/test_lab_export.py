"""`vplacer lab export`: whole or not at all, and no folder of somebody else is touched."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from tests.cli.conftest import Runner
from vplacer.inventory.load import load_inventory_file
from vplacer.jobs.fixtures import fixture_path

_COMMAND = "lab export floating --format vcsim -o out"
_VIM = "{urn:vim25}"


def test_writes_every_object_once_and_says_what_is_not_expressed(folder: Path, vplacer: Runner) -> None:
    done = vplacer(_COMMAND)
    assert done.code == 0, done.err
    assert done.err.startswith("out: 1 host, 5 VMs, ")
    assert done.out.startswith("Not expressed in this format:\n  time: ")
    refs = []
    for path in sorted((folder / "out").glob("*.xml")):
        root = ElementTree.fromstring(path.read_bytes())
        assert root.tag == f"{_VIM}ObjectContent"
        ref = root.find(f"{_VIM}obj")
        assert ref is not None
        refs.append((ref.get("type"), ref.text))
    assert refs[0] == ("ServiceInstance", "ServiceInstance")
    assert len(refs) == len(set(refs))
    inventory = load_inventory_file(fixture_path("sites", "floating")).inventory
    assert {vm.moid for vm in inventory.vms} == {moid for kind, moid in refs if kind == "VirtualMachine"}
    answers = {path.name for path in (folder / "out").glob("EnvironmentBrowser-*/*.xml")}
    assert {"QueryConfigTarget.xml", "QueryConfigOptionDescriptor.xml"} <= answers


def test_overlays_go_beside(folder: Path, vplacer: Runner) -> None:
    done = vplacer("lab export a30pairs --format vcsim -o out")
    assert done.code == 0, done.err
    assert "out.overlays" in done.err
    assert list((folder / "out.overlays").iterdir())


def test_the_same_site_gives_the_same_bytes(folder: Path, vplacer: Runner) -> None:
    def content() -> dict[str, bytes]:
        return {str(path): path.read_bytes() for path in Path("out").rglob("*.xml")}

    vplacer(_COMMAND)
    first = content()
    assert vplacer(f"{_COMMAND} --force").code == 0
    assert content() == first


def test_an_export_is_replaced_with_force_only_and_whole(folder: Path, vplacer: Runner) -> None:
    (folder / "out").mkdir()
    assert vplacer("lab export nvswitch --format vcsim -o out").code == 0
    refused = vplacer(_COMMAND)
    assert refused.code == 1
    assert "out: holds an inventory already" in refused.err
    assert vplacer(f"{_COMMAND} --force").code == 0
    assert len(list((folder / "out").glob("*-HostSystem-*.xml"))) == 1
    assert [path.name for path in folder.iterdir()] == ["out"]


def test_into_the_working_folder(folder: Path, vplacer: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "here").mkdir()
    monkeypatch.chdir(folder / "here")
    assert vplacer("lab export a30pairs --format vcsim -o .").code == 0
    assert sorted(path.name for path in folder.iterdir()) == ["here", "here.overlays"]
    done = vplacer("topology show esx01 --from . --allow-incomplete")
    assert done.code == 0, done.err
    assert vplacer("lab export a30pairs --format vcsim -o . --force").code == 0
    assert {path.stat().st_mode & 0o077 for path in Path(".").glob("*.xml")} == {0}


@pytest.mark.parametrize("name", ["notes.txt", "site.xml", "folder", ".git"])
def test_a_folder_with_anything_else_is_left_alone(folder: Path, vplacer: Runner, name: str) -> None:
    vplacer(_COMMAND)
    strange = folder / "out" / name
    if "." in name[1:]:
        strange.write_text("mine")
    else:
        strange.mkdir()
        (strange / "x.xml").write_text("mine")
    refused = vplacer(f"{_COMMAND} --force")
    assert refused.code == 1
    assert f"there is {name}" in refused.err
    assert strange.exists()


def test_files_that_merely_look_like_an_inventory_are_left_alone(folder: Path, vplacer: Runner) -> None:
    mine = folder / "out" / "My-documents"
    mine.mkdir(parents=True)
    (mine / "x.xml").write_text("mine")
    refused = vplacer(f"{_COMMAND} --force")
    assert refused.code == 1
    assert "there is My-documents" in refused.err
    assert (mine / "x.xml").exists()


@pytest.mark.parametrize(
    ("output", "message"),
    [("missing/out", "the folder does not exist"), ("file", "cannot be written")],
)
def test_a_path_that_cannot_be_written(folder: Path, vplacer: Runner, output: str, message: str) -> None:
    (folder / "file").write_text("mine")
    done = vplacer(f"lab export floating --format vcsim -o {output}")
    assert done.code == 1
    assert message in done.err
    assert (folder / "file").read_text() == "mine"


def test_other_formats_are_refused(vplacer: Runner) -> None:
    assert vplacer("lab export floating --format ovf -o out").code == 3
