"""Slots files: slots kept for a mix, one sealed JSON document; docs/slots.md describes it.

``sha256`` is that of the canonical JSON of all the rest: an edited file is refused, since nobody judged its
slots.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from vplacer.errors import FileFormatError
from vplacer.inventory.codec import encode
from vplacer.inventory.files import write_file
from vplacer.inventory.json_document import JsonFormat, as_pairs, decoded, parse_sealed, sealed, sealed_bytes
from vplacer.inventory.yaml_marks import read_bytes
from vplacer.plan.model import Source
from vplacer.request.demand import FutureShape
from vplacer.solver.arrivals.kept import KeptSlot

FORMAT: Final = "vplacer-slots"
FORMAT_VERSION: Final = 1
_FILE: Final = JsonFormat(
    FORMAT, "slots file", FORMAT_VERSION, "slots are written by `vplacer capacity -r FILE -o slots.json`"
)


@dataclass(frozen=True, slots=True)
class SlotSet:
    """Slots, and what they were made from.

    ``request_file`` and ``request_sha256``: of the request whose mix it is. ``names``: display names of the
    hosts.
    """

    tool_version: str
    created: str
    source: Source
    request_file: str
    request_sha256: str
    mix: tuple[FutureShape, ...]
    slots: tuple[KeptSlot, ...]
    names: tuple[tuple[str, str], ...]


def slots_document(slots: SlotSet) -> dict[str, Any]:
    """Return a set of slots as JSON values, sealed with its hash."""
    content = encode(slots)
    return sealed(_FILE, {**content, "names": dict(content["names"])})


def slots_bytes(slots: SlotSet) -> bytes:
    """Return the content of a slots file. Equal sets give equal bytes."""
    return sealed_bytes(slots_document(slots))


def save_slots(slots: SlotSet, path: Path) -> None:
    """Write a slots file; mode 0600, whole or not at all.

    Raises:
        OutputError: it cannot be written.
    """
    write_file(path, slots_bytes(slots))


def load_slots(path: Path) -> SlotSet:
    """Read a slots file.

    Raises:
        UnknownObjectError: there is no such file, or it cannot be read.
        FileFormatError: truncated, damaged, edited, or no slots file.
        NewerFormatError: written by a newer vplacer.
    """
    return parse_slots(read_bytes(path), str(path))


def parse_slots(raw: bytes, path: str) -> SlotSet:
    """Read a slots file's content; ``path`` is what errors call it. Errors as `load_slots`."""
    document = parse_sealed(
        raw,
        path,
        _FILE,
        edited_hint="slots are never edited: change the mix and let `vplacer capacity -o` write them anew",
    )
    as_pairs(document, "names")
    found = decoded(SlotSet, document, path)
    _refuse_unknown_shapes(found, path)
    return found


def _refuse_unknown_shapes(found: SlotSet, path: str) -> None:
    shapes = {shape.name for shape in found.mix}
    for number, slot in enumerate(found.slots):
        if slot.shape not in shapes:
            raise FileFormatError(
                f"no shape of the mix is called '{slot.shape}'", path=path, pointer=f"slots[{number}].shape"
            )
