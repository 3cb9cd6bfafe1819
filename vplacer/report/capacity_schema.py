"""The JSON Schema of `vplacer capacity --format json`; ``vplacer schema capacity`` prints it."""

from __future__ import annotations

from typing import Any

from vplacer.report.capacity_json import FORMAT, FORMAT_VERSION
from vplacer.solver.loss.model import Outcome
from vplacer.solver.verdict import StoppedBy

_TEXT = {"type": "string"}
_COUNT = {"type": "integer", "minimum": 0}
_BOOL = {"type": "boolean"}
_STOPPED = {"enum": [None, *(item.value for item in StoppedBy)]}


def capacity_schema() -> dict[str, Any]:
    """Return the schema of the whole document."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "vplacer capacity",
        **_mapping(
            format={"const": FORMAT},
            format_version={"const": FORMAT_VERSION},
            tool_version=_TEXT,
            created=_told(_TEXT, "ISO 8601, UTC."),
            source={"type": "object", "description": "The inventory, as in a plan file."},
            request=_or_null(_mapping(file=_TEXT, sha256=_TEXT), "Null: none was given."),
            hypothetical=_told(_BOOL, "True: it is of a site that is not so, changed as what_if says."),
            what_if=_list(_TEXT),
            notes=_list(_TEXT),
            room=_or_null(_room(), "Null: losses were asked about."),
            slots=_or_null(_list(_slots()), "Null: none were made (-o)."),
            after_loss=_or_null(_losses(), "Null: room was asked about."),
        ),
    }


def _room() -> dict[str, Any]:
    bounds = {"at_least": _COUNT, "at_most": _COUNT}
    host = _mapping(
        host=_TEXT,
        name=_TEXT,
        **bounds,
        stopped_by=_told(_TEXT, "The constraint that stops one more."),
        evidence=_TEXT,
    )
    kind = _mapping(
        vms=_told(_list(_TEXT), "VMs of the request that are of this kind."),
        future=_told(_BOOL, "A shape of the section future."),
        asks=_mapping(
            text=_TEXT,
            cpus=_COUNT,
            memory_mib=_COUNT,
            gpus=_list({"type": "object"}),
            nics=_list({"type": "object"}),
        ),
        **bounds,
        proved=_told(_BOOL, "at_least equals at_most: the number is exact."),
        runs_out=_told({"type": ["string", "null"]}, "The constraint that runs out."),
        stops=_stops(),
        not_counted=_list(_TEXT),
    )
    kind["properties"]["by_host"] = _told(_list(host), "With --by-host only.")
    return _mapping(
        proved=_BOOL, stopped_by=_STOPPED, hosts_considered=_COUNT, notes=_list(_TEXT), kinds=_list(kind)
    )


def _slots() -> dict[str, Any]:
    host = _mapping(host=_TEXT, name=_TEXT, slots=_COUNT)
    return _mapping(shape=_TEXT, share=_COUNT, slots=_COUNT, hosts=_list(host))


def _losses() -> dict[str, Any]:
    outcome = {"enum": [item.value for item in Outcome]}
    host = _mapping(host=_TEXT, name=_TEXT)
    vm = _mapping(
        vm=_TEXT,
        name=_TEXT,
        restartable=_told(_BOOL, "False: HA does not restart it, whatever room there is."),
        requested=_told(_BOOL, "A VM of the request that does not run today."),
        reason=_TEXT,
        stops=_told(_stops(), "Of the worst loss only."),
    )
    loss = _mapping(
        hosts=_list(host),
        count=_told(_COUNT, "Sets of hosts it speaks for: alike hosts are tried once."),
        alike=_told(_list(_list(host)), "Some of these sets."),
        outcome=outcome,
        restarted=_told(_COUNT, "VMs that run on the hosts and HA restarts."),
        without_place=_list(vm),
    )
    return _mapping(
        outcome=outcome,
        stopped_by=_STOPPED,
        hosts_lost=_told({"type": ["integer", "null"]}, "Null: the hosts were named."),
        possible=_COUNT,
        tried=_COUNT,
        before=_told(loss, "With nothing lost."),
        losses=_list(loss),
        worst=_or_null(loss, "Null: no loss leaves a VM without a place."),
        notes=_list(_TEXT),
    )


def _stops() -> dict[str, Any]:
    return _list(_mapping(constraint=_TEXT, hosts=_list(_mapping(host=_TEXT, name=_TEXT, evidence=_TEXT))))


def _mapping(**properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "additionalProperties": False,
        "required": list(properties),
        "properties": properties,
    }


def _list(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


def _told(schema: dict[str, Any], text: str) -> dict[str, Any]:
    return {**schema, "description": text}


def _or_null(schema: dict[str, Any], text: str) -> dict[str, Any]:
    return {"anyOf": [schema, {"type": "null"}], "description": text}
