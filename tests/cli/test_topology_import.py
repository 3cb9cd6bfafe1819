"""`vplacer topology import`: from the matrix that a tool prints to an overlay that plans use."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Runner


@pytest.fixture
def matrix(folder: Path, vplacer: Runner) -> str:
    """Return the matrix of a host, beside a snapshot without overlays: our layout is that of nvidia-smi."""
    text = vplacer("topology show esx01 --lab a30pairs --format matrix").out
    assert vplacer("collect --from a30pairs -o site.json").code == 0
    (folder / "site.overlays").rename(folder / "away")
    (folder / "esx01.txt").write_text(text)
    return text


def test_the_overlay_says_what_the_matrix_said(matrix: str, folder: Path, vplacer: Runner) -> None:
    assert vplacer("topology show esx01 --from site.json --format matrix").out != matrix
    outcome = vplacer("topology import esx01.txt --host ESX01 --from site.json -o ov")
    assert (outcome.code, outcome.out) == (0, "")
    assert outcome.err == (
        "ov: esx01: 4 devices, 4 with a NUMA node, NVLink between 2 pairs of 6 pairs known; "
        "use it with --overlays ov\n"
    )
    assert vplacer("topology show esx01 --from site.json --overlays ov --format matrix").out == matrix
    section = json.loads((folder / "ov" / "esx01.json").read_text())["sources"][0]
    assert (section["source"], section["created"]) == ("nvidia-smi topo -m", "2026-11-30T12:00:00Z")


def test_the_users_folder_is_the_default(matrix: str, folder: Path, vplacer: Runner) -> None:
    outcome = vplacer(["topology", "import", "-", "--host", "esx01", "--from", "site.json"], matrix)
    assert outcome.code == 0, outcome.err
    assert str(folder.parent / "home" / "data" / "vplacer" / "overlays") in outcome.err
    assert vplacer("topology show esx01 --from site.json --format matrix").out == matrix


def test_other_sources_stay_and_an_import_replaces_the_one_before(
    matrix: str, folder: Path, vplacer: Runner
) -> None:
    overlays = folder / "away"
    before = {section["source"] for section in json.loads((overlays / "esx01.json").read_text())["sources"]}
    for _ in range(2):
        assert vplacer("topology import esx01.txt --host esx01 --from site.json -o away").code == 0
    sources = [section["source"] for section in json.loads((overlays / "esx01.json").read_text())["sources"]]
    assert sorted(sources) == sorted({*before, "nvidia-smi topo -m"})


def test_contradictions_are_named_and_left_out(matrix: str, folder: Path, vplacer: Runner) -> None:
    (folder / "esx01.txt").write_text(matrix.replace("64-127\t1", "64-127\t0"))
    outcome = vplacer("topology import esx01.txt --host esx01 --from site.json -o ov")
    assert outcome.code == 0
    for gpu in ("GPU2 0000:83:00.0", "GPU3 0000:84:00.0"):
        assert f"Warning: {gpu}: the matrix says NUMA node 0, vCenter says pNUMA 1; not used\n" in outcome.err
    devices = json.loads((folder / "ov" / "esx01.json").read_text())["sources"][0]["devices"]
    assert [device["numa_node"] for device in devices] == [0, 0, None, None]


def test_addresses_may_be_given(matrix: str, folder: Path, vplacer: Runner) -> None:
    gpus = " ".join(f"--gpu 0000:{bus}:00.0" for bus in ("83", "84", "06", "07"))
    outcome = vplacer(
        f"topology import esx01.txt --host esx01 --from site.json -o ov --nic NIC0=0000:08:00.0 {gpus}"
    )
    assert outcome.code == 0
    assert "GPU0 0000:83:00.0: the matrix says NUMA node 0, vCenter says pNUMA 1" in outcome.err
    devices = json.loads((folder / "ov" / "esx01.json").read_text())["sources"][0]["devices"]
    assert "0000:08:00.0" in [device["address"] for device in devices]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ("site.json --host esx01", 3, "site.json: no matrix found"),
        ("nowhere.txt --host esx01", 3, "nowhere.txt: there is no such file"),
        ("esx01.txt --host esx99", 3, "esx99: no host has this name"),
        ("esx01.txt --host esx01 --gpu x", 3, "x: is no PCI address"),
        ("esx01.txt --host esx01 --gpu 0000:06:00.0", 3, "the matrix has 4 GPUs, 1 addresses are given"),
        ("esx01.txt --host esx01 --nic NIC0", 3, "'NIC0' is not of the form"),
        ("esx01.txt --host esx01 --nic NIC9=0000:08:00.0", 3, "NIC9: the matrix has no device of this name"),
        ("esx01.txt --host esx01 --format hwloc", 3, "'hwloc' is not"),
        ("esx01.txt", 3, "Missing option '--host'"),
        ("esx01.txt --host esx01 -o esx01.txt", 1, "esx01.txt: cannot be written"),
    ],
)
def test_what_cannot_be_imported(
    arguments: str, code: int, message: str, matrix: str, folder: Path, vplacer: Runner
) -> None:
    out = "" if " -o " in arguments else " -o ov"
    outcome = vplacer(f"topology import {arguments} --from site.json{out}")
    assert (outcome.code, outcome.out) == (code, "")
    assert message in outcome.err
    assert "defect of vplacer" not in outcome.err
    assert not (folder / "ov").exists()
