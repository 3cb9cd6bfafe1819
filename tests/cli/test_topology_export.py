"""`vplacer topology export`: one host or all, to standard output, a file or a folder."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.cli.conftest import Runner
from tests.report.views import hard
from vplacer.jobs.topology_export import file_names

FORMATS = ("dot", "graphml", "json", "matrix", "nccl", "svg", "tree")


@pytest.mark.parametrize("format", FORMATS)
def test_the_same_text_as_show_goes_to_standard_output_and_into_a_file(
    format: str, folder: Path, vplacer: Runner
) -> None:
    shown = vplacer(f"topology show esx01 --from a30pairs --format {format}")
    sent = vplacer(f"topology export esx01 --from a30pairs --format {format}")
    assert (sent.code, sent.err) == (0, "")
    assert sent.out == shown.out
    written = vplacer(f"topology export ESX01 --from a30pairs --format {format} -o it")
    assert (written.code, written.out) == (0, "")
    assert (folder / "it").read_text() == shown.out


@pytest.mark.parametrize("format", FORMATS)
def test_all_hosts_go_into_a_folder_and_may_go_there_again(
    format: str, folder: Path, vplacer: Runner
) -> None:
    (folder / "out").mkdir()
    for _ in range(2):
        outcome = vplacer(f"topology export --all --from floating --format {format} -o out")
        assert outcome.code == 0, outcome.err
        assert "out: 1 host\n" in outcome.err
    (file,) = (folder / "out").iterdir()
    assert file.name.startswith("esx01.")


def test_all_hosts_are_all(folder: Path, vplacer: Runner) -> None:
    (folder / "out").mkdir()
    assert vplacer("topology export --all --from a30pairs --format nccl -o out").code == 0
    assert sorted(path.name for path in (folder / "out").iterdir()) == [
        f"esx0{number}.xml" for number in range(1, 10)
    ]


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ("--format svg", 3, "neither HOST nor --all"),
        ("esx01 --all --format svg", 3, "both HOST and --all"),
        ("--all --format svg", 3, "give -o DIR"),
        ("--all --format svg -o nowhere", 1, "there is no such folder"),
        ("esx01 --format svg -o nowhere/x.svg", 1, "the folder does not exist"),
        ("esx01 --format nosuch", 3, "nosuch"),
        ("esx01", 3, "--format"),
        ("esx99 --format svg", 3, "no host has this name"),
    ],
)
def test_what_is_refused(arguments: str, code: int, said: str, folder: Path, vplacer: Runner) -> None:
    outcome = vplacer(f"topology export {arguments} --from a30pairs")
    assert outcome.code == code
    assert said in outcome.err
    assert list(folder.iterdir()) == []


def test_another_file_is_not_replaced(folder: Path, vplacer: Runner) -> None:
    (folder / "esx01.json").write_text('{"mine": 1}\n')
    command = "topology export esx01 --from a30pairs --format json -o esx01.json"
    outcome = vplacer(command)
    assert outcome.code == 1
    assert "not known to be an export as json" in outcome.err
    assert (folder / "esx01.json").read_text() == '{"mine": 1}\n'
    assert vplacer(f"{command} --force").code == 0
    assert vplacer(command).code == 0, "it is an export now"


def test_what_is_read_is_never_replaced(folder: Path, vplacer: Runner) -> None:
    assert vplacer("collect --from a30pairs -o site.json").code == 0
    before = (folder / "site.json").read_bytes()
    outcome = vplacer("topology export esx01 --from site.json --format json -o site.json --force")
    assert outcome.code == 3
    assert "is read by this command" in outcome.err
    assert (folder / "site.json").read_bytes() == before


def test_file_names_are_safe_and_differ() -> None:
    host = hard("odd").host
    names = ["esx1.example.com", "a/b:c", "ESX", "esx", "..hidden"]
    hosts = [replace(host, name=name, moid=f"host-{index}") for index, name in enumerate(names)]
    assert file_names(hosts, ".svg") == (
        "esx1.example.com.svg",
        "a_b_c.svg",
        "ESX.host-2.svg",
        "esx.host-3.svg",
        "hidden.svg",
    )
