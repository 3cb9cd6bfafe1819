"""The state of a simulated vCenter in a file, between two runs of `vplacer lab serve --state`.

More than a snapshot: also what only the simulator knows (which card backs which device, where floating
VMs are) and the site's overlays. JSON, sealed with its hash.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from vplacer.errors import FileFormatError
from vplacer.inventory.canonical import canonical_json, sha256_of
from vplacer.inventory.codec import CodecError, decode, encode
from vplacer.inventory.files import write_file
from vplacer.inventory.json_document import JsonFormat, parse_document
from vplacer.inventory.site import Site
from vplacer.inventory.yaml_marks import pointer_text, read_bytes

FORMAT: Final = "vplacer-lab-state"
FORMAT_VERSION: Final = 1
_FILE: Final = JsonFormat(
    FORMAT, "state of `vplacer lab serve`", FORMAT_VERSION, "give another file, or delete this one"
)


def save_state(site: Site, path: Path) -> None:
    """Write a state.

    Raises:
        OutputError: it cannot be written.
    """
    data = encode(site)
    document = {"format": FORMAT, "format_version": FORMAT_VERSION, "sha256": sha256_of(data), "site": data}
    write_file(path, canonical_json(document) + b"\n")


def load_state(path: Path) -> Site:
    """Read a state.

    Raises:
        UnknownObjectError: the file cannot be read.
        FileFormatError: it is no state, was cut off or edited.
        NewerFormatError: a newer vplacer wrote it.
    """
    document = parse_document(read_bytes(path), str(path), _FILE)
    data = document.get("site")
    if document.get("sha256") != sha256_of(data):
        raise FileFormatError(
            "the file was changed after it was written", path=str(path), hint="delete it to start anew"
        )
    try:
        return decode(Site, data)
    except CodecError as error:
        raise FileFormatError(
            error.what, path=str(path), pointer=pointer_text(("site", *error.pointer))
        ) from None
