"""Reads a section ``what_if``: of a request file, or of a file that holds nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vplacer.inventory.schema_check import faults_error, schema_faults
from vplacer.inventory.yaml_marks import Document, Pointer, parse_document, pointer_text, read_text
from vplacer.request.demand import SourceLine
from vplacer.request.naming import has_number, placeholder_fault
from vplacer.request.schema import request_schema
from vplacer.request.what_if.schema import file_schema


@dataclass(frozen=True)
class WhatIfFile:
    """A valid section and the document it stands in."""

    document: Document

    @property
    def data(self) -> Any:
        """The document as plain values."""
        return self.document.data

    @property
    def section(self) -> dict[str, Any]:
        """The section as plain values."""
        section: dict[str, Any] = self.document.data["what_if"]
        return section

    def place(self, pointer: Pointer) -> str:
        """Return ``file:line:column`` of a pointer."""
        mark = self.document.mark(pointer)
        return self.document.path if mark is None else f"{self.document.path}:{mark.line}:{mark.column}"

    def source_line(self, pointer: Pointer) -> SourceLine:
        """Return file and line of a pointer."""
        mark = self.document.mark(pointer)
        return SourceLine(self.document.path, mark.line if mark else 1)


def load_what_if(path: Path) -> WhatIfFile:
    """Read the section of a file.

    Raises:
        UnknownObjectError: there is no such file, or it cannot be read.
        FileFormatError: it is not YAML, has no such section, or the section is wrong; all faults are listed.
    """
    return parse_what_if(read_text(path), str(path))


def parse_what_if(text: str, path: str) -> WhatIfFile:
    """Check a text; ``path`` is what errors call it. Errors as `load_what_if`."""
    document = parse_document(text, path)
    whole = isinstance(document.data, dict) and "vms" in document.data
    faults = set(schema_faults(document, request_schema() if whole else file_schema()))
    if not faults and "what_if" not in document.data:
        raise document.error(
            (),
            "has no section 'what_if'",
            hint="add one (docs/capacity.md), or name the file that has it: --what-if FILE",
        )
    if not faults:
        for pointer, message in _faults(document.data["what_if"]):
            mark = document.mark(pointer)
            faults.add(
                (mark.line, mark.column, pointer_text(pointer), message) if mark else (0, 0, "", message)
            )
    if faults:
        raise faults_error(path, sorted(faults))
    return WhatIfFile(document)


def _faults(section: dict[str, Any]) -> list[tuple[Pointer, str]]:
    """Return what the schema cannot say."""
    found: list[tuple[Pointer, str]] = []
    for kind in ("hosts", "vms"):
        for index, entry in enumerate(section.get("add", {}).get(kind, ())):
            at: Pointer = ("what_if", "add", kind, index, "name")
            fault = placeholder_fault(entry["name"])
            if fault is not None:
                found.append((at, fault))
            elif entry.get("count", 1) > 1 and not has_number(entry["name"]):
                found.append((at, "several need a number in their name, as in new-{n}"))
    for index, entry in enumerate(section.get("remove", {}).get("gpus", ())):
        at = ("what_if", "remove", "gpus", index)
        if ("address" in entry) == ("count" in entry):
            found.append((at, "either 'address' or 'count' says which cards"))
        elif "address" in entry and "model" in entry:
            found.append((at, "'model' goes with 'count'"))
    return found
