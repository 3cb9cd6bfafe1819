"""Tells which of our formats a file is of, from its content, without checking that it is whole."""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Final

_CHUNK: Final = 1 << 20
_GZIP: Final = b"\x1f\x8b"


class FileKind(Enum):
    """A format that vplacer writes; the value is its name in a sentence."""

    PLAN = "a saved plan"
    SNAPSHOT = "a snapshot"
    RECORDING = "a recorded session"
    LAB_STATE = "a state of `vplacer lab serve`"
    SLOTS = "a slots file"
    LABELS = "a plan of labels"
    JOURNAL = "the journal of an apply"
    DOCTOR = "a report of `vplacer doctor`"
    AUDIT = "a report of `vplacer audit`"


# A quotation mark inside a JSON text is escaped, so that no description of a VM looks like one of these.
_FORMAT_RE: Final = re.compile(rb'"format"\s{0,8}:\s{0,8}"(vplacer-[a-z-]{1,20})"')
_OVERLAP: Final = 64
_KINDS: Final = {
    b"vplacer-plan": FileKind.PLAN,
    b"vplacer-slots": FileKind.SLOTS,
    b"vplacer-labels": FileKind.LABELS,
    b"vplacer-journal": FileKind.JOURNAL,
    b"vplacer-snapshot": FileKind.SNAPSHOT,
    b"vplacer-lab-state": FileKind.LAB_STATE,
    b"vplacer-doctor": FileKind.DOCTOR,
    b"vplacer-audit": FileKind.AUDIT,
    b"vplacer-audit-trend": FileKind.AUDIT,
}
# How reports begin that are no JSON.
_REPORTS: Final = (
    (re.compile(rb"^(?:# )?vplacer doctor\b"), FileKind.DOCTOR),
    (re.compile(rb"^vplacer audit\b"), FileKind.AUDIT),
    (re.compile(rb'^<\?xml [^>]*\?>\s*<testsuites name="vplacer audit"'), FileKind.AUDIT),
    (re.compile(rb"^kind,rule,name,severity,confidence,vcenter,"), FileKind.AUDIT),
    (re.compile(rb"^vcenter,instance_uuid,taken_at,complete,"), FileKind.AUDIT),
    (re.compile(rb"^# (?:HELP|TYPE) vplacer_"), FileKind.AUDIT),
    (re.compile(rb"^::(?:error|warning|notice) title=(?:vplacer audit|VPL\d{3})"), FileKind.AUDIT),
    (
        re.compile(rb'^<!doctype html>.{0,500}<meta name="generator" content="vplacer audit', re.I | re.S),
        FileKind.AUDIT,
    ),
)
_RECORDING_RE: Final = re.compile(rb'^\s*\{\s*"version"\s*:\s*\d+,\s*"interactions"\s*:')


def kind_of(path: Path) -> FileKind | None:
    """Return what a file is, also if it is cut off or was edited; None = nothing that vplacer writes.

    Raises:
        OSError: it cannot be read.
    """
    with path.open("rb") as file:
        head = file.read(len(_GZIP))
    tail = b""
    first = True
    for chunk in _chunks(path, compressed=head == _GZIP):
        if first:
            report = next((kind for begins, kind in _REPORTS if begins.match(chunk)), None)
            if report is not None:
                return report
        if first and not chunk.lstrip().startswith(b"{"):
            return None
        if first and _RECORDING_RE.match(chunk):
            return FileKind.RECORDING
        first = False
        found = _FORMAT_RE.search(tail + chunk)
        if found:
            return _KINDS.get(found[1])
        tail = chunk[-_OVERLAP:]
    return None


def _chunks(path: Path, *, compressed: bool) -> Iterator[bytes]:
    """Yield a file's content, unpacked, as far as it can be."""
    with gzip.open(path, "rb") if compressed else path.open("rb") as file:
        try:
            while chunk := file.read(_CHUNK):
                yield chunk
        except (EOFError, zlib.error, gzip.BadGzipFile):
            return
