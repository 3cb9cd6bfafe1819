"""The doctor's report as text for the terminal, and as Markdown for an issue."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from vplacer.doctor.model import Outcome
from vplacer.report.style import PLAIN, Style

_WORDS = {
    Outcome.OK.value: ("ok", "green"),
    Outcome.DIFFERS.value: ("DIFFERS", "red"),
    Outcome.NOT_CHECKED.value: ("not checked", "yellow"),
    Outcome.NOT_APPLICABLE.value: ("-", "dim"),
}
_WIDTH = max(len(word) for word, _ in _WORDS.values())
_DOCS = "docs/assumptions.md"


def doctor_text(document: Mapping[str, Any], *, details: bool = False, style: Style = PLAIN) -> str:
    """Return the report as text, ending in a newline.

    Args:
        document: of `doctor_document`.
        details: the evidence of checks that are in order, too.
        style: colours.
    """
    lines = [f"vplacer doctor: {head(document)}", ""]
    for check in document["checks"]:
        lines += _check_lines(check, details, style)
    lines += ["", "Privileges of the account"]
    for verb in document["privileges"]:
        lines += _verb_lines(verb, style)
    lines += ["", *_licence_lines(document["licences"]), "", style.paint(summary(document), "bold")]
    return "\n".join(lines) + "\n"


def head(document: Mapping[str, Any]) -> str:
    """Return the first line: who was looked at, when, by which version."""
    vcenter, counts = document["vcenter"], document["counts"]
    name = vcenter["name"] or "(name not known)"
    about = f", vCenter {vcenter['version']} API {vcenter['api_version']}" if "version" in vcenter else ""
    sizes = ", ".join(_size(number, what) for what, number in counts.items() if what != "gaps")
    names = "names are pseudonyms" if document["anonymous"] else "names are real"
    return (
        f"{name} ({document['source']}{about}); {sizes or 'inventory not read'}; {document['created']}; "
        f"vplacer {document['vplacer']}; {names}"
    )


def _size(number: int, what: str) -> str:
    word = {"clusters": "cluster", "hosts": "host", "vms": "VM"}[what]
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def _check_lines(check: Mapping[str, Any], details: bool, style: Style) -> list[str]:
    word, colour = _WORDS[check["outcome"]]
    said = f"{check['id']} {check['title']}: {check['text']}"
    lines = [f"  {style.paint(word.ljust(_WIDTH), colour)} {said}"]
    indent = " " * (_WIDTH + 7)
    if details or check["outcome"] == Outcome.DIFFERS.value:
        lines += [f"{indent}{text}" for text in check["evidence"]]
    if check["advice"] and (details or check["outcome"] != Outcome.OK.value):
        lines.append(f"{indent}next: {check['advice']}")
    if check["assumptions"] and (details or check["outcome"] == Outcome.DIFFERS.value):
        lines.append(f"{indent}{_DOCS}: {', '.join(check['assumptions'])}")
    return lines


def _verb_lines(verb: Mapping[str, Any], style: Style) -> list[str]:
    word, colour = ("missing", "yellow") if verb["missing"] else _WORDS[verb["outcome"]]
    asked = "" if verb["asked"] else "  (not asked for; --for)"
    lines = [f"  {style.paint(word.ljust(_WIDTH), colour)} {verb['verb']}{asked}"]
    indent = " " * (_WIDTH + 5)
    for item in verb["missing"]:
        names = f" ({', '.join(item['examples'])})" if item["examples"] else ""
        lines.append(
            f"{indent}{item['privilege']} on {_kind(item['on'])}: missing on {item['objects']} of "
            f"{item['looked_at']}{names}, {item['for']}"
        )
    lines += [f"{indent}not checked: {text}" for text in verb["not_checked"]]
    if verb["looked_at"] and verb["verb"] == "read":
        lines.append(f"{indent}looked at {'; '.join(verb['looked_at'])}")
    return lines


def _kind(kind: str) -> str:
    return "the root folder" if kind == "Folder" else kind


def _licence_lines(licences: Mapping[str, Any]) -> list[str]:
    lines = ["Licences"]
    if licences["not_checked"]:
        lines.append(f"  not checked: {licences['not_checked']}")
    for item in licences["found"]:
        has = "".join(f", {feature} {word}" for feature, word in item["has"].items())
        left = "" if item["hours_left"] is None else f", {item['hours_left'] / 24:.0f} days left"
        used = "" if item["used"] is None else f", {item['used']} of {item['total']} used"
        lines.append(f"  {item['edition']} ({item['key']}){used}{left}{has}")
    return lines


def summary(document: Mapping[str, Any]) -> str:
    """Return the last line: the counts."""
    counts = Counter(check["outcome"] for check in document["checks"])
    words = {Outcome.DIFFERS.value: "differ"}
    parts = [f"{counts[o.value]} {words.get(o.value, o.value)}" for o in Outcome]
    verbs = ", ".join(
        f"{verb['verb']} {'missing' if verb['missing'] else verb['outcome']}"
        for verb in document["privileges"]
    )
    return f"Doctor: {', '.join(parts)}. Account: {verbs}."


def doctor_markdown(document: Mapping[str, Any]) -> str:
    """Return the whole report as Markdown."""
    lines = ["# vplacer doctor", "", head(document), "", summary(document), "", "## Checks", ""]
    lines += ["| check | outcome | found | assumptions |", "|---|---|---|---|"]
    for check in document["checks"]:
        found = "<br>".join(_cell(text) for text in (check["text"], *check["evidence"]))
        title = _cell(f"{check['id']} {check['title']}")
        lines.append(f"| {title} | {check['outcome']} | {found} | {' '.join(check['assumptions'])} |")
    lines += ["", "## Privileges", "", "| verb | outcome | missing |", "|---|---|---|"]
    for verb in document["privileges"]:
        missing = [
            f"`{item['privilege']}` on {_kind(item['on'])}: {item['objects']} of {item['looked_at']}"
            for item in verb["missing"]
        ]
        missing += [f"not checked: {_cell(text)}" for text in verb["not_checked"]]
        lines.append(f"| {verb['verb']} | {verb['outcome']} | {'<br>'.join(missing)} |")
    lines += ["", "## Licences", "", *(_cell(line) for line in _licence_lines(document["licences"])[1:])]
    lines += ["", "## Calls", "", "| call | number | total s | longest s |", "|---|---|---|---|"]
    lines += [
        f"| {_cell(call['call'])} | {call['count']} | {call['total_s']} | {call['longest_s']} |"
        for call in document["calls"]
    ]
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    """Return a text that stays within its cell and is no markup."""
    for mark, safe in (("\\", "\\\\"), ("|", "\\|"), ("<", "&lt;"), ("*", "\\*"), ("`", "\\`"), ("_", "\\_")):
        text = text.replace(mark, safe)
    return " ".join(text.split())
