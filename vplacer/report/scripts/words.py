"""What the scripts of all languages say in the same words: the head, and the comment of a step."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable

from vplacer.plan.changes import Change
from vplacer.plan.model import Fact
from vplacer.plan.script.model import Consent, Script, ScriptStep, Unsaid
from vplacer.report.plan_words import count

_UNSAFE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})

CONSENT_WORDS = {
    Consent.POWER_CYCLE: "VMs that run are switched off and on again",
    Consent.MIGRATION: "VMs change their host",
    Consent.HW_UPGRADE: "virtual hardware is upgraded, which cannot be undone",
    Consent.HARD_POWER_OFF: "the suspended memory of VMs is given up, which cannot be undone",
}


def one_line(text: str) -> str:
    """Return a text for a comment: characters that end a line, or are not seen, are spelled out."""
    return "".join(_spelled(char) if unicodedata.category(char) in _UNSAFE else char for char in text)


def is_plain(text: str) -> bool:
    """Whether a text holds only characters that can be seen, and that end no line."""
    return not any(unicodedata.category(char) in _UNSAFE for char in text)


def _spelled(char: str) -> str:
    return f"\\u{ord(char):04x}" if ord(char) < 0x10000 else f"\\U{ord(char):08x}"


def comment(lines: Iterable[str], sign: str = "#") -> list[str]:
    """Return lines as comments of a script, whatever names they hold."""
    return [f"{sign} {one_line(line)}".rstrip() for line in lines]


def head_lines(script: Script, needs: Iterable[str]) -> list[str]:
    """Say what a script is, what it does, what it needs, and what it does not look at."""
    plan = script.plan
    summary = plan.summary
    lines = [
        f"Plan {script.sha256}",
        f"of {plan.created}, by vplacer {plan.tool_version}, request {plan.request.file}",
        f"for vCenter {plan.source.vcenter} ({plan.source.instance_uuid}), read {plan.source.taken_at}",
        "",
        f"It makes {count(summary.created, 'VM')}, reconfigures {summary.reconfigured}, "
        f"migrates {summary.migrated}: {count(len(script.steps), 'step')}.",
        *_listed("Switched off and on again on the way", script.cycled),
        *_listed("Change their host", script.moved),
        *(f"Needs consent: --allow-{item.value} ({CONSENT_WORDS[item]})" for item in script.consents),
        "",
        *needs,
        "",
        "Compared before the first change: vCenter, hosts and VMs as the plan saw them. Not compared:",
        *(f"  - {text}" for text in script.not_compared),
        "`vplacer apply` compares these too, and restores a VM by itself whose start is refused.",
    ]
    return [*lines, *(f"Note: {text}" for text in plan.notes)]


def _listed(title: str, names: tuple[str, ...]) -> list[str]:
    return [f"{title}:", *(f"  - {name}" for name in names)] if names else []


def api_name(name: str) -> str:
    """Escape a name as the API wants it (vSphere API: ManagedEntity.name)."""
    return name.replace("%", "%25").replace("/", "%2f").replace("\\", "%5c")


def unsaid_steps(script: Script, reason: Callable[[Change], str | None]) -> tuple[Unsaid, ...]:
    """Return the steps that a language has no way to say. ``reason``: why not, None where it has."""
    return tuple(
        Unsaid(item.number, item.step.effect, why)
        for item in script.steps
        if (why := reason(item.step.change)) is not None
    )


def stop_lines(unsaid: Iterable[Unsaid], what: str) -> list[str]:
    """Say in the head of a script or playbook (``what``) at which steps it stops."""
    steps = [f"  - step {item.number}, {item.effect}: {item.why}" for item in unsaid]
    title = f"THE {what} STOPS at these steps; do them with `vplacer apply` or another format:"
    return ["", title, *steps] if steps else []


def checked_facts(item: ScriptStep) -> tuple[tuple[str, Fact], ...]:
    """Return what is read back after a step; a VM does not tell its own DRS level."""
    facts = item.checks.facts if item.checks is not None else ()
    return tuple(fact for fact in facts if fact[0] != "drs_override")


def step_title(item: ScriptStep) -> str:
    """Return the line that names a step."""
    waits = f" (after {', '.join(str(number) for number in item.waits_for)})" if item.waits_for else ""
    return f"Step {item.number}: {item.step.effect}{waits}"
