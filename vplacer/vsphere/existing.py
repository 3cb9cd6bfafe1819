"""Reading objects some of which may be gone: a server refuses the whole call for one of them."""

from __future__ import annotations

from collections.abc import Sequence

from vplacer.errors import VSphereFault
from vplacer.vsphere.raw import Missing, MoRef, RawAnswer, RawObject, RawReader

_GONE = "ManagedObjectNotFound"


def read_existing(reader: RawReader, refs: Sequence[MoRef], paths: Sequence[str]) -> tuple[RawObject, ...]:
    """Return those of the objects that exist, with their properties.

    Args:
        reader: the vCenter.
        refs: all of one type.
        paths: property paths.
    """
    return existing_answer(reader, refs, paths).objects


def existing_answer(reader: RawReader, refs: Sequence[MoRef], paths: Sequence[str]) -> RawAnswer:
    """Return the answer for those of the objects that exist."""
    try:
        answer = reader.properties(refs, paths)
    except VSphereFault as fault:
        if fault.fault_type != _GONE:
            raise
        if len(refs) == 1:
            return RawAnswer()
        half = len(refs) // 2
        first = existing_answer(reader, refs[:half], paths)
        second = existing_answer(reader, refs[half:], paths)
        return RawAnswer(
            first.objects + second.objects,
            first.missing + second.missing,
            tuple(sorted({*first.unknown_paths, *second.unknown_paths})),
        )
    gone = {entry.ref for entry in answer.missing if entry.fault.is_a(_GONE)}
    if not gone:
        return answer
    kept: tuple[Missing, ...] = tuple(entry for entry in answer.missing if entry.ref not in gone)
    return RawAnswer(tuple(raw for raw in answer.objects if raw.ref not in gone), kept, answer.unknown_paths)
