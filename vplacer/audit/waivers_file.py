"""Reads a file of waivers; docs/audit.md describes it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any

from vplacer.audit.model import FileLine
from vplacer.audit.registry import find_rule
from vplacer.audit.waivers import UNWAIVABLE, Waiver
from vplacer.audit.waivers_schema import ANY_RULE, NEVER, waivers_schema
from vplacer.errors import UnknownObjectError
from vplacer.inventory.schema_check import faults_error, validate
from vplacer.inventory.yaml_marks import Document, Pointer, parse_document, pointer_text, read_text


def load_waivers(path: Path) -> tuple[Waiver, ...]:
    """Read a file of waivers.

    Raises:
        UnknownObjectError: there is no such file, or it cannot be read.
        FileFormatError: it does not validate, names a rule that there is not, a day that there is not, or
            the same twice. All faults are listed with file and line.
    """
    return parse_waivers(read_text(path), str(path))


def parse_waivers(text: str, path: str) -> tuple[Waiver, ...]:
    """Read the text of a file of waivers; ``path`` is what errors call it. Errors as `load_waivers`."""
    document = parse_document(text, path)
    validate(document, waivers_schema())
    found: list[Waiver] = []
    faults: list[tuple[Pointer, str]] = []
    for index, entry in enumerate(document.data["waivers"]):
        at: Pointer = ("waivers", index)
        rules = _rules(entry, at, faults)
        waiver = _waiver(document, entry, at, rules)
        faults += _faults_of(waiver, entry, at)
        earlier = next((other for other in found if other.about == waiver.about), None)
        if earlier is not None:
            faults.append((at, f"line {earlier.line.line} waives the same already"))
        found.append(waiver)
    if faults:
        raise faults_error(path, [_placed(document, pointer, text) for pointer, text in faults])
    return tuple(found)


def _rules(entry: Mapping[str, Any], at: Pointer, faults: list[tuple[Pointer, str]]) -> tuple[str, ...]:
    words = _words(entry, "rule")
    if ANY_RULE in words:
        return ()
    found = []
    for word in words:
        try:
            rule = find_rule(word)
        except UnknownObjectError as error:
            hint = f"; {error.hint}" if error.hint else ""
            faults.append(((*at, "rule"), f"{word}: {error.what}{hint}"))
            continue
        if rule.id in UNWAIVABLE:
            faults.append(((*at, "rule"), f"{rule.id} is about this file and cannot be waived"))
        found.append(rule.id)
    return tuple(sorted(set(found)))


def _faults_of(waiver: Waiver, entry: Mapping[str, Any], at: Pointer) -> list[tuple[Pointer, str]]:
    found: list[tuple[Pointer, str]] = []
    if waiver.expires is not None and not _is_day(waiver.expires):
        found.append(((*at, "expires"), f"there is no day {waiver.expires}"))
    if ANY_RULE in _words(entry, "rule") and not any(waiver.about):
        found.append((at, "this would waive everything: name a rule, or an object such as a VM"))
    return found


def _waiver(document: Document, entry: Mapping[str, Any], at: Pointer, rules: tuple[str, ...]) -> Waiver:
    mark = document.marks[at]
    return Waiver(
        rules=rules,
        vms=_words(entry, "vm"),
        hosts=_words(entry, "host"),
        clusters=_words(entry, "cluster"),
        devices=_words(entry, "device"),
        fingerprints=_words(entry, "fingerprint"),
        reason=entry["reason"],
        owner=entry["owner"],
        expires=None if entry["expires"] == NEVER else entry["expires"],
        line=FileLine(document.path, mark.line),
    )


def _words(entry: Mapping[str, Any], key: str) -> tuple[str, ...]:
    found = entry.get(key, ())
    return (found,) if isinstance(found, str) else tuple(found)


def _is_day(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def _placed(document: Document, pointer: Pointer, text: str) -> tuple[int, int, str, str]:
    mark = document.mark(pointer)
    line, column = (mark.line, mark.column) if mark is not None else (0, 0)
    return line, column, pointer_text(pointer), text
