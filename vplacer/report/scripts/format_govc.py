"""A plan as a bash script that calls govc.

govc names objects by managed object id as it does by path; ids are what the plan decided on, so names stand
in comments and messages only.
"""

from __future__ import annotations

import json
from typing import Final

from vplacer.plan.model import Fact, ObjectKind
from vplacer.plan.script.model import Consent, Script, ScriptStep, Target, Unsaid, Written
from vplacer.report.scripts.bash_text import quoted
from vplacer.report.scripts.formats import ScriptFormat
from vplacer.report.scripts.govc_change import commands_of, reason_unsaid, undo_lines
from vplacer.report.scripts.govc_library import FACTS_JQ, FUNCTIONS, OPTIONS
from vplacer.report.scripts.words import (
    checked_facts,
    comment,
    head_lines,
    step_title,
    stop_lines,
    unsaid_steps,
)

_NEEDS: Final = (
    "Needs bash 4 or later, jq, and govc 0.38 or later, with the account in the environment: GOVC_URL,",
    "GOVC_USERNAME and GOVC_PASSWORD. `--help` tells the options; `--check` compares and changes nothing.",
    "govc changes settings and devices of a step in several tasks where vplacer uses one.",
)


def write(script: Script) -> Written:
    """Return the script, and the steps that govc has no way to say."""
    unsaid = unsaid_steps(script, reason_unsaid)
    reasons = {item.number: item.why for item in unsaid}
    lines = [
        "#!/usr/bin/env bash",
        *comment(head_lines(script, (*_NEEDS, *stop_lines(unsaid, "SCRIPT")))),
        "",
    ]
    lines += ["set -euo pipefail", "", *_constants(script, unsaid), ""]
    lines += [
        "# What vCenter says of a VM, in the words of the plan.",
        "# shellcheck disable=SC2016",
        f"FACTS={quoted(FACTS_JQ)}",
        "",
    ]
    lines += [FUNCTIONS, *_before(script), ""]
    for item in script.steps:
        lines += [*_step(item, reasons.get(item.number)), ""]
    lines += [OPTIONS]
    return Written("\n".join(lines) + "\n", unsaid)


def _constants(script: Script, unsaid: tuple[Unsaid, ...]) -> list[str]:
    needed = {item: "1" if item in script.consents else "" for item in Consent}
    return [
        f"INSTANCE_UUID={quoted(script.plan.source.instance_uuid)}",
        f"TOTAL={len(script.steps)}",
        f"CANNOT={quoted(' '.join(str(item.number) for item in unsaid))}",
        f"NEEDS_POWER_CYCLE={quoted(needed[Consent.POWER_CYCLE])}",
        f"NEEDS_MIGRATION={quoted(needed[Consent.MIGRATION])}",
        f"NEEDS_HW_UPGRADE={quoted(needed[Consent.HW_UPGRADE])}",
        f"NEEDS_HARD_POWER_OFF={quoted(needed[Consent.HARD_POWER_OFF])}",
    ]


def _before(script: Script) -> list[str]:
    lines = ["# All that is compared before the first change.", "compare_all() {"]
    for guard in script.before:
        if guard.kind is ObjectKind.HOST:
            lines.append(f"  expect_host {quoted(guard.name)} HostSystem:{guard.moid} {_json(guard.facts)}")
        else:
            lines.append(f"  expect_vm {quoted(guard.name)} VirtualMachine:{guard.moid} {_json(guard.facts)}")
    names = [item.must_be_new for item in script.steps if item.must_be_new is not None]
    lines += [f"  must_be_new {quoted(name)}" for name in names]
    return [*lines, "  return 0", "}"]


def _step(item: ScriptStep, cannot: str | None) -> list[str]:
    body: list[str] = []
    used: Target | None = None
    for guard in item.guards:
        used = Target(guard.name, guard.moid)
        body += [*_use(used), f'expect_vm "$NAME" "$VM" {_json(guard.facts)}']
    if item.must_be_new is not None:
        body.append(f"must_be_new {quoted(item.must_be_new)}")
    if cannot is not None:
        body.append(f"cannot {item.number} {quoted(item.step.effect)} {quoted(cannot)}")
    else:
        body += ["pause_before_power_on"] if item.pause else []
        body += commands_of(item.step.change, [] if used == item.target else _use(item.target))
        body += _checks(item)
    head = comment([step_title(item), *undo_lines(item)])
    return [*head, f"step_{item.number}() {{", *(f"  {line}" for line in body), "}"]


def _use(target: Target) -> list[str]:
    if target.moid is None:
        return [f"made {quoted(target.name)}"]
    return [f"known {quoted(target.name)} VirtualMachine:{target.moid}"]


def _checks(item: ScriptStep) -> list[str]:
    facts = checked_facts(item)
    return [f'check_vm "$NAME" "$VM" {_json(facts)}'] if facts else []


def _json(facts: tuple[tuple[str, Fact], ...]) -> str:
    return quoted(json.dumps(dict(facts), sort_keys=True))


FORMAT = ScriptFormat(write)
