"""The configuration file: what it sets, what it refuses, and where values are said to come from."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

from tests.cli.conftest import Runner
from vplacer.cli.commands import Leaf, leaves, load
from vplacer.cli.config_file import option_key, read_config
from vplacer.errors import VplacerError


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("path", "leaf"), list(leaves()), ids=lambda item: " ".join(item) if isinstance(item, tuple) else ""
)
def test_variables_are_named_after_command_and_option(path: tuple[str, ...], leaf: Leaf) -> None:
    """VPLACER_<COMMAND>_<OPTION>, or VPLACER_<OPTION> for what many commands have (docs/configuration.md)."""
    for option in load(path[-1], leaf).params:
        if isinstance(option, click.Option):
            name = option_key(option).upper().replace("-", "_")
            command = "_".join(("VPLACER", *path)).upper()
            found = option.envvar or f"{command}_{(option.name or '').upper()}"
            assert found in (f"{command}_{name}", f"VPLACER_{name}"), option.opts


def test_top_level_keys_reach_every_command_that_has_them(folder: Path) -> None:
    config = read_config(
        write(
            folder / "c.toml",
            'vcenter = "vc"\nca_file = "ca.pem"\n[plan]\ntime-limit = 5\nvcenter = "other"\n',
        )
    )
    assert config.defaults["plan"] == {
        "vcenter": "other",
        "ca_file": str(folder / "ca.pem"),
        "time_limit": 5,
    }
    assert config.defaults["topology"]["show"] == {"vcenter": "vc", "ca_file": str(folder / "ca.pem")}
    assert config.defaults["completion"] == {}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("vcentre = 'x'", "c.toml: vcentre: no such setting\n  next: did you mean vcenter?"),
        (
            "[plan]\ntime-limt = 1",
            "c.toml: plan.time-limt: no such setting\n  next: did you mean time-limit?",
        ),
        ("[lab.srve]\nport = 1", "c.toml: lab.srve: no such setting\n  next: did you mean serve?"),
        ("[plan]\nwork = 0", "c.toml: plan.work: has a wrong value: 0.0 is not in the range x>0."),
        ("[plan]\nwork = true", "c.toml: plan.work: expected one value"),
        ("[plan]\ndry-run = 'yes'", "c.toml: plan.dry-run: expected true or false"),
        ("[plan]\ninclude-managed = 'x'", "c.toml: plan.include-managed: expected a list"),
        ("[plan]\nformat = 'xml'", "c.toml: plan.format: has a wrong value: 'xml' is not one of"),
        ("ca-file = 7", "c.toml: ca-file: expected the path of a file or folder"),
        ("password_command = 7", "c.toml: password_command: expected a command"),
        ("password = 'x'", "c.toml: password: no such setting"),
        ("vcenter = ", "c.toml: is not a TOML file: "),
        ("config = 'x'", "c.toml: config: no such setting"),
        (f"seed = {'9' * 5000}", "c.toml: is not a TOML file"),
        ("[plan]\nseed = 1e9999", "plan.seed: has a wrong value: 'inf' is no number here"),
        ("[plan]\nseed = nan", "plan.seed: has a wrong value: nan is not a valid integer range"),
    ],
)
def test_wrong_settings_are_refused_by_name(text: str, message: str, folder: Path) -> None:
    with pytest.raises(VplacerError) as caught:
        read_config(write(folder / "c.toml", text))
    assert message in caught.value.render()


def test_a_file_that_is_not_there_is_refused_only_when_named(folder: Path, vplacer: Runner) -> None:
    assert vplacer("lab list").code == 0
    outcome = vplacer("lab list --config nowhere.toml")
    assert (outcome.code, outcome.out) == (3, "")
    assert outcome.err.startswith("Error: nowhere.toml: cannot read the configuration file: No such file")


@pytest.mark.parametrize("place", ["before", "after"])
def test_config_counts_before_and_after_the_command(place: str, folder: Path, vplacer: Runner) -> None:
    write(folder / "c.toml", "[lab.list]\nformat = 'json'\n")
    words = {"before": "--config c.toml lab list", "after": "lab list --config c.toml"}[place]
    assert vplacer(words).out.startswith("[")
    assert not vplacer("lab list").out.startswith("[")


def test_the_users_own_file_is_found(folder: Path, vplacer: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    write(folder.parent / "home" / "config" / "vplacer" / "config.toml", "[lab.list]\nformat = 'json'\n")
    assert vplacer("lab list").out.startswith("[")
    assert not vplacer("lab list --format text").out.startswith("["), "the command line is stronger"
    monkeypatch.setenv("VPLACER_LAB_LIST_FORMAT", "text")
    assert not vplacer("lab list").out.startswith("["), "the environment is stronger"


def test_show_tells_origins_and_no_password(
    folder: Path, vplacer: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(
        folder / "c.toml", 'password_command = ["pass", "show"]\nca-file = "/etc/ca.pem"\n[plan]\nwork = 7\n'
    )
    monkeypatch.setenv("VPLACER_PASSWORD", "hunter2")
    monkeypatch.setenv("VPLACER_PLAN_SEED", "4")
    monkeypatch.setenv("VPLACER_VCENTER", "vc.example")
    lines = vplacer("config show --origin --config c.toml").out.splitlines()
    assert lines[0] == "# configuration file: c.toml"
    assert {
        "plan.work = 7.0  # configuration file",
        "plan.seed = 4  # environment VPLACER_PLAN_SEED",
        'plan.vcenter = "vc.example"  # environment VPLACER_VCENTER',
        'collect.ca-file = "/etc/ca.pem"  # configuration file',
        'password_command = ["pass", "show"]  # configuration file',
        "VPLACER_PASSWORD = (set, not shown)  # environment",
    } <= set(lines)
    assert not any("hunter2" in line for line in lines)
    assert not any(line.startswith("plan.format") for line in lines), "a default"
    assert 'plan.format = "text"' in vplacer("config show --all").out.splitlines()


def test_show_says_so_when_nothing_is_set(vplacer: Runner) -> None:
    assert "# nothing is set; --all lists what can be" in vplacer("config show").out
