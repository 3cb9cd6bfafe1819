"""`vplacer show --format` with the scripts: what a tool cannot do is told on standard error."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Runner


@pytest.fixture
def planned(vplacer: Runner) -> Runner:
    assert vplacer("plan --from nvswitch -r nvswitch -o plan.json").code == 0
    return vplacer


def test_what_govc_cannot_do_is_told_and_the_script_stops_there(planned: Runner) -> None:
    outcome = planned("show plan.json --format govc")
    assert outcome.code == 0
    assert outcome.out.startswith("#!/usr/bin/env bash\n")
    warnings = outcome.err.splitlines()
    assert warnings[0].startswith("Warning: govc cannot do step 2 (reconfigure train-2")
    assert "Dynamic DirectPath" in warnings[0]
    assert any("device groups" in line for line in warnings)
    assert warnings[-1] == (
        "Warning: the script stops there; `vplacer apply` or --format powercli can do these steps"
    )


def test_powercli_can_do_all(planned: Runner) -> None:
    outcome = planned("show plan.json --format powercli")
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.startswith("# Plan ")


def test_ansible_says_what_it_cannot(planned: Runner) -> None:
    outcome = planned("show plan.json --format ansible")
    assert outcome.code == 0
    assert outcome.out.startswith("---\n")
    assert "Warning: ansible cannot do step 4" in outcome.err
    assert "device groups" in outcome.err


def test_a_summary_is_no_script(planned: Runner) -> None:
    outcome = planned("show plan.json --format govc --summary")
    assert (outcome.code, "--summary goes with" in outcome.err) == (3, True)


def test_a_hypothetical_plan_is_no_script(vplacer: Runner) -> None:
    made = vplacer("plan --from a30pairs -r a30pairs --what-if a30pairs -o plan.json")
    assert made.code in (0, 4), made.err
    outcome = vplacer("show plan.json --format powercli")
    assert (outcome.code, "hypothetical plan is not carried out" in outcome.err) == (3, True)


def test_a_page_needs_no_script_language_and_has_no_summary(planned: Runner) -> None:
    outcome = planned("show plan.json --format html")
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.startswith("<!doctype html>\n")
    assert planned("show plan.json --format html --summary").code == 3
