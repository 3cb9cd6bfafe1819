"""Plan files: one JSON document with everything a plan says; docs/plan-file.md describes it.

The keys are sorted and the text is indented, so that two plans can be compared with `diff`. ``sha256``
is that of the canonical JSON of all the rest: an edited plan is refused, since nobody judged it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from vplacer.inventory.codec import encode
from vplacer.inventory.files import write_file
from vplacer.inventory.json_document import JsonFormat, as_pairs, decoded, parse_sealed, sealed, sealed_bytes
from vplacer.inventory.yaml_marks import read_bytes
from vplacer.plan.model import Plan

FORMAT: Final = "vplacer-plan"
FORMAT_VERSION: Final = 1
CHECK: Final = "check"
"""What the vCenter said of the plan when it was made. Not part of it: it says nothing of a later moment."""

_FILE: Final = JsonFormat(FORMAT, "plan", FORMAT_VERSION, "a plan is written by `vplacer plan -o FILE`")


def plan_document(plan: Plan) -> dict[str, Any]:
    """Return a plan as JSON values, sealed with its hash."""
    document: dict[str, Any] = encode(plan)
    document["request"] |= {"document": json.loads(document["request"]["document"])}
    document["names"] = dict(document["names"])
    for item in document["observed"]:
        item["fields"] = dict(item["fields"])
    return sealed(_FILE, document)


def plan_bytes(plan: Plan) -> bytes:
    """Return the content of a plan file. Equal plans give equal bytes."""
    return sealed_bytes(plan_document(plan))


def save_plan(plan: Plan, path: Path) -> None:
    """Write a plan file; mode 0600, whole or not at all.

    Raises:
        OutputError: it cannot be written.
    """
    write_file(path, plan_bytes(plan))


def load_plan(path: Path) -> Plan:
    """Read a plan file.

    Raises:
        UnknownObjectError: there is no such file, or it cannot be read.
        FileFormatError: truncated, damaged, edited, or no plan.
        NewerFormatError: written by a newer vplacer.
    """
    return parse_plan(read_bytes(path), str(path))


def parse_plan(raw: bytes, path: str) -> Plan:
    """Read a plan file's content; ``path`` is what errors call it. Errors as `load_plan`."""
    hint = "a plan is never edited: change the request and plan again"
    document = parse_sealed(raw, path, _FILE, edited_hint=hint, beside=CHECK)
    _unfold(document)
    return decoded(Plan, document, path)


def _unfold(document: dict[str, Any]) -> None:
    """Turn the mappings of the file into the pairs and the text of the model, where they are mappings."""
    request = document.get("request")
    if isinstance(request, dict) and "document" in request:
        text = json.dumps(request["document"], sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        document["request"] = {**request, "document": text}
    as_pairs(document, "names")
    observed = document.get("observed")
    for item in observed if isinstance(observed, list) else ():
        if isinstance(item, dict):
            as_pairs(item, "fields")
