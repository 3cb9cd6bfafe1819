"""Label files: a plan of labels as one sealed JSON document; docs/labels.md describes it.

``sha256`` is that of the canonical JSON of all the rest: an edited file is refused, since nobody judged it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from vplacer.inventory.codec import encode
from vplacer.inventory.files import write_file
from vplacer.inventory.json_document import JsonFormat, as_pairs, decoded, parse_sealed, sealed, sealed_bytes
from vplacer.inventory.yaml_marks import read_bytes
from vplacer.plan.labels.model import LabelPlan

FORMAT: Final = "vplacer-labels"
FORMAT_VERSION: Final = 1
_FILE: Final = JsonFormat(
    FORMAT, "plan of labels", FORMAT_VERSION, "it is written by `vplacer labels plan -o FILE`"
)


def labels_document(plan: LabelPlan) -> dict[str, Any]:
    """Return a plan of labels as JSON values, sealed with its hash."""
    content = encode(plan)
    return sealed(_FILE, {**content, "names": dict(content["names"])})


def labels_bytes(plan: LabelPlan) -> bytes:
    """Return the content of a label file. Equal plans give equal bytes."""
    return sealed_bytes(labels_document(plan))


def save_labels(plan: LabelPlan, path: Path) -> None:
    """Write a label file; mode 0600, whole or not at all.

    Raises:
        OutputError: it cannot be written.
    """
    write_file(path, labels_bytes(plan))


def load_labels(path: Path) -> LabelPlan:
    """Read a label file.

    Raises:
        UnknownObjectError: there is no such file, or it cannot be read.
        FileFormatError: truncated, damaged, edited, or no label file.
        NewerFormatError: written by a newer vplacer.
    """
    return parse_labels(read_bytes(path), str(path))


def parse_labels(raw: bytes, path: str) -> LabelPlan:
    """Read a label file's content; ``path`` is what errors call it. Errors as `load_labels`."""
    document = parse_sealed(raw, path, _FILE, edited_hint="it is never edited: plan the labels again")
    as_pairs(document, "names")
    return decoded(LabelPlan, document, path)
