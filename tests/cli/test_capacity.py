"""`vplacer capacity`, and `--what-if` on both commands: what is refused, what machines read, exit codes."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from tests.cli.conftest import Runner
from vplacer.inventory.load import load_inventory_file
from vplacer.inventory.snapshot import save_snapshot
from vplacer.jobs.fixtures import fixture_path
from vplacer.plan.plan_file import load_plan
from vplacer.plan.staleness import stale_fields
from vplacer.report.capacity_schema import capacity_schema

RUNS = [
    ("capacity --from a30pairs -r a30pairs", 0),
    ("capacity --from nvswitch -r nvswitch --by-host", 0),
    ("capacity --from a30pairs -r a30pairs --what-if a30pairs", 0),
    ("capacity --from a30pairs -r a30pairs --after-loss 1", 4),
    ("capacity --from a30pairs --lose esx02 --lose esx03", 0),
    ("capacity --from a30pairs --what-if a30pairs --after-loss 2", 4),
]


@pytest.mark.parametrize(("command", "code"), RUNS)
def test_json_is_as_its_schema_says(command: str, code: int, vplacer: Runner) -> None:
    outcome = vplacer(f"{command} --format json --now 2026-11-30T12:00Z")
    assert outcome.code == code
    document = json.loads(outcome.out)
    Draft202012Validator(capacity_schema()).validate(document)
    assert (document["room"] is None) is ("--after-loss" in command or "--lose" in command)
    assert document["hypothetical"] is ("--what-if" in command)
    assert bool(document["what_if"]) is document["hypothetical"]
    again = vplacer(f"{command} --format json --now 2026-11-30T12:00Z")
    assert again.out == outcome.out


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        ("", "which VMs should be counted?"),
        ("--after-loss 1 --lose esx01", "exclude each other"),
        ("--after-loss 0", "--after-loss"),
        ("--after-loss 9", "no cluster would have a host left"),
        ("--lose esx1", "esx1: no host has this name"),
        ("-r nobody", "nobody: no example request has this name"),
        ("--after-loss 1 --what-if", "there is none"),
        ("-r a30pairs --what-if", "has no section 'what_if'"),
        ("-r a30pairs --what-if a30pairs -o slots.json", "exclude each other"),
        ("-r a30pairs --what-if growth", "no example of --what-if has this name"),
        ("-r a30pairs --include-managed nobody", "no VM has this name"),
    ],
)
def test_what_cannot_be_asked(arguments: str, what: str, vplacer: Runner) -> None:
    outcome = vplacer(f"capacity --from a30pairs {arguments}")
    assert outcome.code == 3
    assert what in outcome.err
    assert outcome.out == ""


def test_an_empty_inventory_has_no_answer(vplacer: Runner) -> None:
    inventory = load_inventory_file(fixture_path("sites", "a30pairs")).inventory
    save_snapshot(replace(inventory, hosts=(), vms=()), Path("empty.json"))
    for arguments in ("-r a30pairs", "--after-loss 1"):
        outcome = vplacer(f"capacity --from empty.json {arguments}")
        assert (outcome.code, outcome.out) == (5, "")
        assert "has no host, so nothing can be said of room" in outcome.err


def test_a_site_without_any_host_left_has_no_answer(vplacer: Runner) -> None:
    Path("none.yaml").write_text("version: 1\nwhat_if: {remove: {hosts: ['*']}}\n")
    outcome = vplacer("capacity --from a30pairs -r a30pairs --what-if none.yaml")
    assert (outcome.code, outcome.out) == (3, "")
    assert "no host would be left" in outcome.err


def test_vms_that_are_left_alone_cannot_be_counted(vplacer: Runner) -> None:
    Path("request.yaml").write_text("version: 1\nvms: [{select: {name: 'vCLS-*'}}]\n")
    outcome = vplacer("capacity --from a30pairs -r request.yaml")
    assert outcome.code == 3
    assert "asks for no VM that could be counted" in outcome.err


def test_a_time_limit_tells_between_which_two_numbers(vplacer: Runner) -> None:
    outcome = vplacer("capacity --from a30pairs -r a30pairs --time-limit 0.000001 --format json")
    assert outcome.code == 5
    room = json.loads(outcome.out)["room"]
    assert room["stopped_by"] == "time"
    assert [kind["at_least"] for kind in room["kinds"]] == [0] * len(room["kinds"])
    assert all(kind["at_most"] > 0 for kind in room["kinds"])


def test_a_hypothetical_plan_is_marked_and_never_holds(vplacer: Runner) -> None:
    made = vplacer("plan --from a30pairs -r a30pairs --what-if a30pairs -o plan.json")
    assert made.code == 0
    assert "HYPOTHETICAL" in made.out
    plan = load_plan(Path("plan.json"))
    assert plan.hypothetical
    assert not plan.applyable
    assert len(plan.what_if) == 3
    document = json.loads(Path("plan.json").read_text())
    assert (document["hypothetical"], document["applyable"]) == (True, False)
    inventory = load_inventory_file(fixture_path("sites", "a30pairs")).inventory
    assert stale_fields(plan, inventory)[0].field == "hypothetical"
    shown = vplacer("show plan.json")
    assert "HYPOTHETICAL" in shown.out
    assert "Hypothetical plan: " in vplacer("show plan.json --summary").out
    since = vplacer("plan --from a30pairs -r a30pairs --since plan.json")
    assert (since.code, "is a hypothetical plan" in since.err) == (3, True)


def test_a_plan_of_the_site_as_it_is_says_so(vplacer: Runner) -> None:
    document = json.loads(vplacer("plan --from a30pairs -r a30pairs --format json").out)
    assert (document["hypothetical"], document["what_if"]) == (False, [])


def test_a_section_that_is_not_looked_at_is_told(vplacer: Runner) -> None:
    Path("request.yaml").write_text(
        "version: 1\nvms: [{select: {name: train-1}}]\nwhat_if: {remove: {hosts: [esx04]}}\n"
    )
    plain = vplacer("capacity --from a30pairs -r request.yaml --format json")
    assert "looked at with --what-if only" in plain.err
    assert json.loads(plain.out)["hypothetical"] is False
    supposed = vplacer("capacity --from a30pairs -r request.yaml --what-if --format json")
    assert supposed.err == ""
    assert json.loads(supposed.out)["hypothetical"] is True
