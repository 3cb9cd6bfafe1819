"""`vplacer plan` and `vplacer show`: exit codes, what is saved, what is told beside the plan."""

from __future__ import annotations

import json
import re
import stat
from dataclasses import replace
from pathlib import Path

import pytest

from tests.cli.conftest import Runner
from vplacer.inventory.load import load_inventory_file
from vplacer.inventory.snapshot import save_snapshot
from vplacer.inventory.vm import Ownership, VmPower
from vplacer.jobs.fixtures import fixture_path, list_fixtures

UNCHANGED = "version: 1\nvms:\n  - select: {name: float-1}\n"
FITTING = [name for name in list_fixtures("requests") if not name.endswith("-nofit") and name != "big96"]
NOT_FITTING = [name for name in list_fixtures("requests") if name.endswith("-nofit")]


@pytest.mark.parametrize("name", FITTING)
def test_every_example_has_a_plan(name: str, vplacer: Runner) -> None:
    outcome = vplacer(f"plan --dry-run --lab {name} -r {name}")
    assert (outcome.code, outcome.err) == (0, "")
    lines = outcome.out.splitlines()
    assert lines[-3].startswith("Plan: ")
    assert re.fullmatch(r"Rehearsed: [0-9]+ steps?, no fault; .* with tasks as long as usual\.", lines[-2])
    assert lines[-1].startswith("Proved: ")


@pytest.mark.parametrize("name", NOT_FITTING)
def test_what_cannot_fit_says_why_and_exits_with_4(name: str, folder: Path, vplacer: Runner) -> None:
    site = name.removesuffix("-nofit")
    outcome = vplacer(f"plan --lab {site} -r {name} -o plan.json")
    assert outcome.code == 4
    assert "Cannot place " in outcome.out
    assert "considered" in outcome.out
    assert outcome.out.splitlines()[-1].startswith("Proved infeasible: ")
    assert outcome.err == "plan.json was not written: there is no plan to carry out\n"
    assert list(folder.iterdir()) == []


def test_partial_places_what_can_be_placed(folder: Path, vplacer: Runner) -> None:
    outcome = vplacer("plan --from nvswitch -r nvswitch-nofit --partial -o plan.json")
    assert outcome.code == 0, outcome.err
    assert "1 without a place" in outcome.out
    assert "pretrain-2" in outcome.out
    assert (folder / "plan.json").exists()


def test_detailed_exit_code(folder: Path, vplacer: Runner) -> None:
    (folder / "same.yaml").write_text(UNCHANGED)
    assert vplacer("plan --from floating -r floating --detailed-exitcode").code == 2
    assert vplacer("plan --from floating -r same.yaml --detailed-exitcode").code == 0
    assert vplacer("plan --from floating -r floating").code == 0


def test_a_saved_plan_is_shown_again(folder: Path, vplacer: Runner) -> None:
    first = vplacer("plan --from a30pairs -r a30pairs -o plan.json")
    assert first.err == "saved to plan.json; vplacer show plan.json shows it again\n"
    assert stat.S_IMODE((folder / "plan.json").stat().st_mode) == 0o600
    shown = vplacer("show plan.json")
    # All but the time that the solver took.
    assert shown.out.splitlines()[:-1] == first.out.splitlines()[:-1]
    assert vplacer("show plan.json --format json").out == (folder / "plan.json").read_text()
    summary = vplacer("show plan.json --summary").out.splitlines()
    assert [line.split()[0] for line in summary] == ["a30pairs", "Plan:", "Proved:"]
    assert len(vplacer("show plan.json -v").out) > len(shown.out)
    assert len(vplacer("show plan.json -vv").out) > len(vplacer("show plan.json -v").out)
    counted = json.loads(vplacer("show plan.json --summary --format json").out)
    assert counted["summary"] == json.loads((folder / "plan.json").read_text())["summary"]
    assert "vms" not in counted


def test_a_plan_that_was_edited_is_refused(folder: Path, vplacer: Runner) -> None:
    vplacer("plan --from floating -r floating -o plan.json")
    text = (folder / "plan.json").read_text()
    (folder / "plan.json").write_text(text.replace('"twenty"', '"thirty"'))
    outcome = vplacer("show plan.json")
    assert (outcome.code, outcome.out) == (3, "")
    assert "plan.json: the file was changed after it was written" in outcome.err


def test_a_plan_that_is_not_saved_says_so_unless_it_is_a_dry_run(vplacer: Runner) -> None:
    hint = "this plan was not saved, and the next one may differ; -o plan.json saves it\n"
    assert vplacer("plan --from floating -r floating").err == hint
    assert vplacer("plan --from floating -r floating -q").err == ""
    assert vplacer("plan --from floating -r floating --dry-run").err == ""
    assert vplacer("plan --from floating -r floating --format json").err == ""


def test_drift_since_the_plan_that_is_replaced(folder: Path, vplacer: Runner) -> None:
    assert vplacer("plan --from floating -r floating -o plan.json").code == 0
    inventory = load_inventory_file(fixture_path("sites", "floating")).inventory
    vms = [replace(vm, power=VmPower.OFF) if vm.name == "float-3" else vm for vm in inventory.vms]
    save_snapshot(replace(inventory, vms=tuple(vms)), folder / "later.json")
    for option in ("-o plan.json", "--since plan.json"):
        outcome = vplacer(f"plan --from later.json -r floating {option} --now 2026-12-01")
        assert outcome.code == 0, outcome.err
        assert "Drift since the last plan" in outcome.out
        assert "float-3 is off" in outcome.out
        vplacer("plan --from floating -r floating -o plan.json")


def test_a_plan_of_another_vcenter_tells_no_drift(folder: Path, vplacer: Runner) -> None:
    assert vplacer("plan --from floating -r floating -o plan.json").code == 0
    outcome = vplacer("plan --from nvswitch -r nvswitch -o plan.json")
    assert outcome.code == 0
    assert outcome.err.startswith("Warning: plan.json is a plan for another vCenter (floating) than nvswitch")
    assert "Drift" not in outcome.out
    refused = vplacer("plan --from floating -r floating --since plan.json")
    assert (refused.code, refused.out) == (3, "")
    assert "plan.json: is a plan for another vCenter (nvswitch) than floating" in refused.err


def test_output_over_something_else_by_force_warns(folder: Path, vplacer: Runner) -> None:
    (folder / "plan.json").write_text("my notes")
    outcome = vplacer("plan --from floating -r floating -o plan.json --force")
    assert outcome.code == 0
    assert "Warning: plan.json will be replaced, and is no plan to compare with" in outcome.err


def test_managed_vms_are_left_alone_unless_included(folder: Path, vplacer: Runner) -> None:
    inventory = load_inventory_file(fixture_path("sites", "floating")).inventory
    vms = [
        replace(vm, ownership=Ownership(managed_by="com.example.pool")) if vm.name == "twenty" else vm
        for vm in inventory.vms
    ]
    save_snapshot(replace(inventory, vms=tuple(vms)), folder / "site.json")
    left = vplacer("plan --from site.json -r floating --dry-run")
    assert "com.example.pool" in left.out
    assert "Plan: 0 to reconfigure" in left.out
    included = vplacer("plan --from site.json -r floating --dry-run --include-managed twenty")
    assert "Plan: 1 to reconfigure" in included.out
    wrong = vplacer("plan --from site.json -r floating --dry-run --include-managed twnety")
    assert (wrong.code, wrong.out) == (3, "")
    assert "twnety: no VM has this name: given with --include-managed" in wrong.err
    assert "did you mean twenty?" in wrong.err


def test_incomplete_inventory_goes_on_when_allowed(folder: Path, vplacer: Runner) -> None:
    text = fixture_path("sites", "floating").read_text()
    (folder / "site.yaml").write_text(
        text + "\ngaps:\n  - {object: float-1, path: config.managedBy, kind: permission, reason: no}\n"
    )
    assert vplacer("plan --from site.yaml -r floating --dry-run").code == 5
    allowed = vplacer("plan --from site.yaml -r floating --dry-run --allow-incomplete")
    assert allowed.code == 0, allowed.err
    assert "INCOMPLETE: 1 part could not be read" in allowed.out
    assert "\n  not read: float-1 config.managedBy (permission: no)\n" in allowed.out
    told = vplacer("plan --from site.yaml -r floating --dry-run --allow-incomplete --format json")
    (gap,) = json.loads(told.out)["source"]["gaps"]
    assert (gap["name"], gap["path"], gap["kind"], gap["reason"]) == (
        "float-1", "config.managedBy", "permission", "no",
    )  # fmt: skip
    refused = vplacer("collect --from site.yaml -o site.json")
    assert refused.code == 5
    assert not (folder / "site.json").exists()
    assert vplacer("collect --from site.yaml -o site.json --allow-incomplete").code == 0
    assert vplacer("plan --from site.json -r floating --dry-run").code == 5, "the gap is in the snapshot"


@pytest.mark.parametrize(
    ("gap", "evidence"),
    [
        ("{object: float-1, path: config.hardware.device, kind: permission}", "what VM float-1 holds"),
        ("{object: float-1, path: runtime.powerState, kind: permission}", "what VM float-1 holds"),
        ("{object: float-1, path: runtime.host, kind: permission}", "what VM float-1 holds"),
        ("{object: esx01, path: runtime.inMaintenanceMode, kind: fault}", "could not be read completely"),
        ("{object: esx01, path: QueryConfigTarget, kind: fault}", "could not be read completely"),
        ("{object: floating, path: configurationEx, kind: permission}", "configuration of cluster floating"),
    ],
)
@pytest.mark.parametrize("source", ["--from", "--lab"])
def test_unknown_is_not_free(source: str, gap: str, evidence: str, folder: Path, vplacer: Runner) -> None:
    text = fixture_path("sites", "floating").read_text()
    (folder / "site.yaml").write_text(f"{text}\ngaps:\n  - {gap}\n")
    told = vplacer(f"plan {source} site.yaml -r floating --dry-run --allow-incomplete")
    assert told.code == 4, told.out
    assert evidence in told.out


@pytest.mark.parametrize(
    ("environment", "options", "coloured"),
    [
        ({}, "", False),
        ({"FORCE_COLOR": "1"}, "", True),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, "", False),
        ({"FORCE_COLOR": "1"}, "--no-color", False),
    ],
)
def test_colours(
    environment: dict[str, str],
    options: str,
    coloured: bool,
    vplacer: Runner,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    outcome = vplacer(f"plan --from floating -r floating --dry-run {options}")
    assert ("\x1b[" in outcome.out) is coloured
    assert "\x1b[" not in vplacer("plan --from floating -r floating --format json").out


def test_the_environment_gives_way_to_the_command_line(
    vplacer: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VPLACER_VCENTER", "vc.invalid")
    assert vplacer("plan --from floating -r floating --dry-run").code == 0
    monkeypatch.setenv("VPLACER_LAB", "floating")
    outcome = vplacer("plan -r floating --dry-run")
    assert outcome.code == 3
    assert "--vcenter and --lab exclude each other" in outcome.err


def test_the_host_of_ansible_is_taken_when_nothing_else_is_given(
    vplacer: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VMWARE_HOST", "ansible.invalid")
    assert "ansible.invalid" in vplacer("plan -r floating --dry-run --username me").err
    assert vplacer("plan --from floating -r floating --dry-run").code == 0
    monkeypatch.setenv("VPLACER_FROM", "floating")
    assert vplacer("plan -r floating --dry-run").code == 0
