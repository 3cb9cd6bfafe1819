"""`vplacer hardware`, and the page that must say the same."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Runner
from tests.conftest import REPO


def test_the_page_has_the_tables_of_today(folder: Path, vplacer: Runner) -> None:
    page = (REPO / "docs" / "hardware.md").read_text(encoding="utf-8")
    written = page.partition("a test compares them. -->\n\n")[2]
    assert written == vplacer("hardware list --format markdown").out, (
        "put the output of `vplacer hardware list --format markdown` below the comment"
    )


def test_list(folder: Path, vplacer: Runner) -> None:
    text = vplacer("hardware list").out
    assert [line for line in text.splitlines() if line and line[0] != " "] == [
        "GPUs",
        "NICs",
        "Boards",
        "CPU features",
        "CPUs",
    ]
    document = json.loads(vplacer("hardware list --format json").out)
    names = [gpu["name"] for gpu in document["gpus"]]
    assert {"P4", "T4", "A30", "H200-SXM-141", "B200-SXM-180", "MI300X"} <= set(names)
    assert all(gpu["sources"]["ids"] for gpu in document["gpus"])
    unknown = next(gpu for gpu in document["gpus"] if gpu["name"] == "H800-80")
    assert (unknown["nvlink"], unknown["without_nvlink"], unknown["memory_gb_s"]) == (None, False, None)


@pytest.mark.parametrize("name", ["A30", "a30", "10de:20b7", "NVIDIA A30"])
def test_show(name: str, folder: Path, vplacer: Runner) -> None:
    outcome = vplacer(["hardware", "show", name])
    assert outcome.code == 0, outcome.err
    assert "4 x 25 each way = 200; bridge of 2: 4 links" in outcome.out
    assert "NVIDIA A30 Tensor Core GPU, datasheet, 2021" in outcome.out
    document = json.loads(vplacer(["hardware", "show", name, "--format", "json"]).out)
    assert document["figures"]["tensor"]["BF16"] == 165
    assert document["ids"] == ["10de:20b7"]


def test_show_by_all_four_ids(folder: Path, vplacer: Runner) -> None:
    assert vplacer("hardware show 10de:25b6:10de:14a9").out.startswith("A16 ")


def test_show_a_nic(folder: Path, vplacer: Runner) -> None:
    assert "400 Gb/s a port" in vplacer("hardware show ConnectX-7").out


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("A100", "did you mean A100-40, A100-80, A100-SXM-40, A100-SXM-80?"),
        ("10de:fff0", "`vplacer hardware list` names all"),
        ("10DE:25B6", "which model this is: A2 (subsystem 157e), A16 (subsystem 14a9)"),
        ("10de:nope", "`vplacer hardware list` names all"),
        ("", "`vplacer hardware list` names all"),
        ("99999999999999999999:1", "`vplacer hardware list` names all"),
    ],
)
def test_not_known(name: str, told: str, folder: Path, vplacer: Runner) -> None:
    outcome = vplacer(["hardware", "show", name])
    assert outcome.code == 3
    assert told in outcome.err
