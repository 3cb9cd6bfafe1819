"""Plan files: what is written is read back; what nobody judged, or is not ours, is refused."""

from __future__ import annotations

import json
import re
import stat
from pathlib import Path
from typing import Any

import pytest

from tests.plan.cases import Case, all_cases, case_named
from vplacer.errors import (
    FileFormatError,
    NewerFormatError,
    OutputError,
    UnknownObjectError,
    VplacerError,
)
from vplacer.inventory.canonical import sha256_of
from vplacer.plan.plan_file import load_plan, parse_plan, plan_bytes, save_plan
from vplacer.report.plan_json import plan_json
from vplacer.report.plan_text import plan_text

MIX = "a bit of everything"
PLANNED = [pytest.param(case, id=case.id) for case in all_cases() if "error" not in case.data["expect"]]


@pytest.mark.parametrize("case", PLANNED)
def test_every_plan_comes_back_the_same(case: Case) -> None:
    plan = case.plan()
    again = parse_plan(plan_bytes(plan), "plan.json")
    assert again == plan
    assert plan_bytes(again) == plan_bytes(plan)
    assert plan_text(again, verbosity=2) == plan_text(plan, verbosity=2)


def test_saved_for_the_owner_alone_and_equal_to_the_json_format(tmp_path: Path) -> None:
    plan = case_named(MIX).plan()
    path = tmp_path / "plan.json"
    save_plan(plan, path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert path.read_text() == plan_json(plan)
    assert load_plan(path) == plan


def test_the_document_names_what_the_plan_rests_on() -> None:
    document = json.loads(plan_bytes(case_named(MIX).plan()))
    assert document["format"] == "vplacer-plan"
    assert document["request"] == {
        "document": {"version": 1, "vms": []},
        "file": "request.yaml",
        "sha256": "0" * 64,
    }
    assert document["source"]["instance_uuid"]
    assert document["source"]["fingerprint"] == "f" * 64
    assert document["verdict"]["status"] == "feasible"
    assert {step["kind"] for step in document["steps"]} == {
        "clone",
        "upgrade_hardware",
        "power_off",
        "reconfigure",
        "migrate",
        "power_on",
    }
    assert "/home" not in json.dumps(document)


def _edited(change: dict[str, Any], *, resealed: bool = False) -> bytes:
    document = json.loads(plan_bytes(case_named(MIX).plan()))
    document.update(change)
    if resealed:
        del document["sha256"]
        document["sha256"] = sha256_of(document)
    return json.dumps(document).encode()


WHOLE = plan_bytes(case_named(MIX).plan())
STEP = json.loads(WHOLE)["steps"][0]


@pytest.mark.parametrize(
    ("raw", "error", "says"),
    [
        (WHOLE[: len(WHOLE) // 2], FileFormatError, "the file is truncated"),
        (b"", FileFormatError, "the file is truncated"),
        (b'{"a": "\x80"}', FileFormatError, "not valid JSON"),
        (b"[1, 2]", FileFormatError, "not a plan"),
        (b'{"format": "vplacer-snapshot"}', FileFormatError, "not a plan"),
        (b"[" * 100_000, FileFormatError, "not valid JSON"),
        (WHOLE.replace(b'"esx3"', b'"esx4"', 1), FileFormatError, "changed after it was written"),
        (WHOLE.replace(b'"sha256": "', b'"sha256": "0', 1), FileFormatError, "changed after it was written"),
        (_edited({"applyable": 1}, resealed=True), FileFormatError, "applyable: 1 is not true or false"),
        (
            _edited({"steps": [{**STEP, "change": {"type": []}}]}, resealed=True),
            FileFormatError,
            "the type a list is none of",
        ),
        (_edited({"surprise": 1}, resealed=True), FileFormatError, "unknown key 'surprise'"),
        (_edited({"format_version": "one"}), FileFormatError, "format_version: not a version number"),
        (_edited({"format_version": 2, "tool_version": "9.9"}), NewerFormatError, "written by vplacer 9.9"),
    ],
)
def test_refused(raw: bytes, error: type[VplacerError], says: str) -> None:
    with pytest.raises(error, match=re.escape(says)) as caught:
        parse_plan(raw, "plan.json")
    assert "plan.json" in str(caught.value)
    assert caught.value.exit_code == 3


def test_a_missing_file_and_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UnknownObjectError):
        load_plan(tmp_path / "none.json")
    with pytest.raises(OutputError, match="make it first"):
        save_plan(case_named(MIX).plan(), tmp_path / "no" / "plan.json")
