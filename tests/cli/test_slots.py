"""`vplacer capacity -o` and `vplacer plan --place`: which slot a VM takes, and what becomes of old ones."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.conftest import Outcome, Runner
from tests.conftest import REPO
from vplacer.inventory.canonical import sha256_of

DATA = yaml.safe_load((REPO / "tests" / "cases" / "slots" / "cases.yaml").read_text(encoding="utf-8"))
NOW = "--now 2026-11-30T12:00:00Z"


def _write(site: str, request: str) -> None:
    Path("site.yaml").write_text(site, encoding="utf-8")
    Path("request.yaml").write_text(request, encoding="utf-8")


KNOWN: dict[str, bytes] = {}
"""Slots made already, by request: they come out the same, which a test below shows."""


def _have(vplacer: Runner) -> None:
    request = Path("request.yaml").read_text(encoding="utf-8")
    if request not in KNOWN:
        _make(vplacer)
        KNOWN[request] = Path("slots.json").read_bytes()
    Path("slots.json").write_bytes(KNOWN[request])


def _make(vplacer: Runner) -> Outcome:
    made = vplacer(f"capacity --from site.yaml -r request.yaml -o slots.json {NOW}")
    assert made.code == 0, made.err
    return made


def _changed_site(case: dict[str, Any]) -> str:
    was, now = case.get("site", ("", ""))
    added = "".join(f"  {line}\n" for line in case.get("vms", "").splitlines())
    return str(DATA["site"]).replace(was, now, 1 if was else 0) + added


@pytest.mark.parametrize("case", DATA["cases"], ids=[case["name"] for case in DATA["cases"]])
def test_where_one_more_vm_goes(case: dict[str, Any], vplacer: Runner) -> None:
    changed = yaml.safe_dump({**yaml.safe_load(DATA["request"]), **case.get("request", {})}, sort_keys=False)
    makes_anew = "slots" in case
    _write(DATA["site"], changed if makes_anew else DATA["request"])
    slots = ""
    if case.get("file", True):
        _have(vplacer)
        found = json.loads(Path("slots.json").read_text(encoding="utf-8"))
        assert Counter(slot["shape"] for slot in found["slots"]) == case.get("slots", DATA["slots"])
        slots = "--slots slots.json"
    _write(_changed_site(case), changed)
    outcome = vplacer(
        f"plan --from site.yaml -r request.yaml --place {case['place']} {slots} --dry-run {NOW}"
    )
    told = outcome.out + outcome.err
    assert outcome.code == case.get("code", 0), told
    for text in case.get("says", ()):
        assert text in told
    for text in case.get("not", ()):
        assert text not in told


def test_the_plan_is_one_like_any_other(vplacer: Runner) -> None:
    _write(DATA["site"], DATA["request"])
    _have(vplacer)
    made = vplacer(
        f"plan --from site.yaml -r request.yaml --place pair-1 --slots slots.json -o plan.json {NOW}"
    )
    assert made.code == 0
    plan = json.loads(Path("plan.json").read_text(encoding="utf-8"))
    assert [vm["name"] for vm in plan["vms"]] == ["pair-1"]
    assert (plan["summary"]["violations_after"], plan["applyable"]) == (0, True)
    assert "takes a slot of shape 'pair-1'" in vplacer("show plan.json").out


def test_slots_come_out_the_same_and_are_shown(vplacer: Runner) -> None:
    _write(DATA["site"], DATA["request"])
    made = _make(vplacer)
    first = Path("slots.json").read_bytes()
    _make(vplacer)
    assert Path("slots.json").read_bytes() == first
    assert "Slots kept for the mix expected later" in made.out
    assert "share 2  4 slots" in made.out
    assert "follows them" in made.err
    document = json.loads(
        vplacer(f"capacity --from site.yaml -r request.yaml -o slots.json --format json {NOW}").out
    )
    assert {item["shape"]: item["slots"] for item in document["slots"]} == DATA["slots"]


def _edited(document: dict[str, Any], **changes: Any) -> bytes:
    """A file with some keys otherwise, sealed again."""
    document = {**{key: value for key, value in document.items() if key != "sha256"}, **changes}
    return json.dumps({**document, "sha256": sha256_of(document)}).encode()


def _place(vplacer: Runner) -> Outcome:
    return vplacer("plan --from site.yaml -r request.yaml --place single-1 --slots slots.json --dry-run")


def test_a_file_that_is_not_as_written_is_refused(vplacer: Runner) -> None:
    _write(DATA["site"], DATA["request"])
    _have(vplacer)
    path = Path("slots.json")
    whole = path.read_bytes()
    document = json.loads(whole)
    stranger = [{**document["slots"][0], "shape": "nobody's"}]
    other_source = {**document["source"], "instance_uuid": "another", "vcenter": "vc2"}
    for content, told in (
        (whole.replace(b'"number": 1,', b'"number": 9,'), "was changed after it was written"),
        (whole[: len(whole) // 2], "truncated"),
        (b"{}", "not a slots file"),
        (_edited(document, format_version=99), "upgrade vplacer"),
        (_edited(document, slots=stranger), "no shape of the mix is called 'nobody's'"),
        (_edited(document, slots=[{}]), "slots"),
        (_edited(document, source=other_source), "has slots of another vCenter (vc2)"),
    ):
        path.write_bytes(content)
        outcome = _place(vplacer)
        assert outcome.code == 3, (content[:60], outcome.err)
        assert told in outcome.err
    path.unlink()
    assert "slots.json" in _place(vplacer).err


def test_another_of_our_files_is_called_by_its_name(vplacer: Runner) -> None:
    _write(DATA["site"], DATA["request"])
    assert vplacer("plan --from site.yaml -r request.yaml --partial -o slots.json").code == 0
    outcome = _place(vplacer)
    assert (outcome.code, "is a saved plan, not a slots file" in outcome.err) == (3, True)
    # And no slots are written over it.
    outcome = vplacer("capacity --from site.yaml -r request.yaml -o slots.json")
    assert "exists already and is not a slots file" in outcome.err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ("plan -r request.yaml --slots slots.json", "--slots goes with --place"),
        ("plan -r request.yaml --place x --repair", "--place and --repair exclude each other"),
        ("plan -r request.yaml --place x --evacuate esx01", "--place and --evacuate exclude each other"),
        ("capacity -r request.yaml -o x.json --after-loss 1", "--output does not go with --after-loss"),
        ("capacity -r request.yaml -o request.yaml", "would be overwritten by its output"),
    ],
)
def test_what_does_not_go_together(arguments: str, told: str, vplacer: Runner) -> None:
    _write(DATA["site"], DATA["request"])
    command, _, rest = arguments.partition(" ")
    outcome = vplacer(f"{command} --from site.yaml {rest}")
    assert outcome.code == 3
    assert told in outcome.err
