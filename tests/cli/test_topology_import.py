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
        "esx01.txt is output of nvidia-smi topo -m (--format nvidia-smi)\n"
        "ov: esx01: 8 devices, 8 with a NUMA node, links between 2 of 6 pairs; "
        "use it with --overlays ov\n"
    )
    assert vplacer("topology show esx01 --from site.json --overlays ov --format matrix").out == matrix
    section = json.loads((folder / "ov" / "esx01.json").read_text())["sources"][0]
    assert (section["source"], section["created"]) == ("nvidia-smi topo -m", "2026-11-30T12:00:00Z")
    assert section["detail"] == "file esx01.txt; addresses from the matrix"


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


def as_printed(matrix: str) -> str:
    """Return the matrix as nvidia-smi prints it: no addresses of GPUs, NICs by name."""
    return matrix.partition("GPU Legend")[0] + "NIC Legend:\n\n  NIC0: mlx5_0\n"


def nodes(folder: Path) -> list[int | None]:
    devices = json.loads((folder / "ov" / "esx01.json").read_text())["sources"][0]["devices"]
    return [device["numa_node"] for device in devices if device["ids"].startswith("10de")]


def test_contradictions_are_named_and_left_out(matrix: str, folder: Path, vplacer: Runner) -> None:
    (folder / "esx01.txt").write_text(as_printed(matrix.replace("64-127\t1", "64-127\t0", 1)))
    outcome = vplacer("topology import esx01.txt --host esx01 --from site.json -o ov --order pci")
    assert outcome.code == 0
    assert (
        "Warning: GPU2 0000:83:00.0: the file says NUMA node 0, vCenter says pNUMA 1; not used\n"
        in outcome.err
    )
    assert nodes(folder) == [0, 0, None, 1]


def test_a_bare_matrix_is_refused_with_what_to_run(matrix: str, folder: Path, vplacer: Runner) -> None:
    (folder / "esx01.txt").write_text(as_printed(matrix))
    outcome = vplacer("topology import esx01.txt --host esx01 --from site.json -o ov")
    assert outcome.code == 3
    assert "nvidia-smi --query-gpu=index,pci.bus_id --format=csv > gpus.csv" in outcome.err
    assert "--order pci" in outcome.err
    assert not (folder / "ov").exists()


@pytest.mark.parametrize(
    ("option", "detail"),
    [
        (
            "--query-gpu gpus.csv",
            "file esx01.txt; addresses from nvidia-smi --query-gpu",
        ),
        (
            "--order pci",
            "file esx01.txt; GPUs numbered in the order of PCI addresses (--order pci), not checked",
        ),
        (
            " ".join(f"--gpu 0000:{bus}:00.0" for bus in ("06", "07", "83", "84")),
            "file esx01.txt; addresses given (--gpu)",
        ),
    ],
)
def test_addresses_may_be_told(option: str, detail: str, matrix: str, folder: Path, vplacer: Runner) -> None:
    (folder / "esx01.txt").write_text(as_printed(matrix))
    (folder / "gpus.csv").write_text(
        "index, name, pci.bus_id\n"
        + "".join(f"{n}, NVIDIA A30, 00000000:{bus}:00.0\n" for n, bus in enumerate(("06", "07", "83", "84")))
    )
    outcome = vplacer(
        f"topology import esx01.txt --host esx01 --from site.json -o ov --nic mlx5_0=0000:08:00.0 {option}"
    )
    assert outcome.code == 0, outcome.err
    assert nodes(folder) == [0, 0, 1, 1]
    section = json.loads((folder / "ov" / "esx01.json").read_text())["sources"][0]
    assert section["detail"] == detail
    assert "0000:08:00.0" in [device["address"] for device in section["devices"]]


def test_numbers_in_another_order_are_refused_with_both_maps(
    matrix: str, folder: Path, vplacer: Runner
) -> None:
    (folder / "esx01.txt").write_text(as_printed(matrix))
    gpus = " ".join(f"--gpu 0000:{bus}:00.0" for bus in ("83", "84", "06", "07"))
    command = f"topology import esx01.txt --host esx01 --from site.json -o ov {gpus}"
    outcome = vplacer(command)
    assert outcome.code == 3
    assert (
        "the file says 0: 0000:83:00.0 0000:84:00.0, 1: 0000:06:00.0 0000:07:00.0; "
        "vCenter says 0: 0000:06:00.0 0000:07:00.0, 1: 0000:83:00.0 0000:84:00.0" in outcome.err
    )
    assert not (folder / "ov").exists()
    assert vplacer(f"{command} --links-only").code == 0
    assert nodes(folder) == [None, None, None, None]


def test_collect_stores_what_was_imported_beside_what_vcenter_said(
    matrix: str, folder: Path, vplacer: Runner
) -> None:
    (folder / "esx01.txt").write_text(as_printed(matrix))
    assert (
        vplacer("topology import esx01.txt --host esx01 --from site.json --order pci --overlays ov").code == 0
    )
    assert vplacer("collect --from site.json --overlays ov -o again.json").code == 0
    assert (folder / "again.overlays" / "esx01.json").read_bytes() == (
        folder / "ov" / "esx01.json"
    ).read_bytes()
    assert (folder / "again.json").read_bytes() == (folder / "site.json").read_bytes(), "never mixed"
    shown = vplacer("topology show esx01 --from again.json --format matrix").out
    assert shown == vplacer("topology show esx01 --from site.json --overlays ov --format matrix").out
    assert "NV4" in shown


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ("site.json --host esx01", 3, "site.json: the format cannot be told"),
        ("site.json --host esx01 --format nvidia-smi", 3, "site.json: no matrix found"),
        ("site.json --host esx01 --format esxcli", 3, "site.json:1:1: a list of devices is needed"),
        ("nowhere.txt --host esx01", 3, "nowhere.txt: there is no such file"),
        ("esx01.txt --host esx99", 3, "esx99: no host has this name"),
        ("esx01.txt --host esx01 --gpu x", 3, "x: is no PCI address"),
        ("esx01.txt --host esx01 --gpu 0000:06:00.0", 3, "the matrix has 4 GPUs, 1 addresses are given"),
        ("esx01.txt --host esx01 --nic NIC0", 3, "'NIC0' is not of the form"),
        ("esx01.txt --host esx01 --nic NIC9=0000:08:00.0", 3, "NIC9: the matrix has no device of this name"),
        ("esx01.txt --host esx01 --format hwloc", 3, "esx01.txt:1: not valid XML"),
        ("esx01.txt --host esx01 --format lspci", 3, "'lspci' is not"),
        ("esx01.txt --host esx01 --gpu 0000:06:00.0 --order pci", 3, "told in several ways"),
        ("esx01.txt --host esx01 --query-gpu nowhere.csv", 3, "nowhere.csv: there is no such file"),
        ("esx01.txt --host esx01 --query-gpu esx01.txt", 3, "esx01.txt:14: 2 cells"),
        ("esx01.txt --host esx01 --taken-in nobody", 3, "nobody: no VM has this name"),
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
