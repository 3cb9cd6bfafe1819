"""A report of room as JSON: stable, for programs; docs/capacity.md and its JSON Schema describe it."""

from __future__ import annotations

import json
from typing import Any, Final

from vplacer.inventory.codec import encode
from vplacer.plan.capacity_report import CapacityReport
from vplacer.report.demand_words import demand_text
from vplacer.request.demand import Demand
from vplacer.solver.capacity.model import Capacity, HostRoom, KindRoom

FORMAT: Final = "vplacer-capacity"
FORMAT_VERSION: Final = 1


def capacity_json(report: CapacityReport, *, by_host: bool = False) -> str:
    """Return a report of room as JSON text ending in a newline."""
    document = capacity_document(report, by_host=by_host)
    return json.dumps(document, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def capacity_document(report: CapacityReport, *, by_host: bool = False) -> dict[str, Any]:
    """Return a report of room as JSON values; ``by_host`` adds every host's number."""
    request = None
    if report.request_file is not None:
        request = {"file": report.request_file, "sha256": report.request_sha256}
    found = report.capacity
    return {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "tool_version": report.tool_version,
        "created": report.created,
        "source": encode(report.source),
        "request": request,
        "notes": list(report.notes),
        "room": None if found is None else _room(report, found, by_host),
    }


def _room(report: CapacityReport, found: Capacity, by_host: bool) -> dict[str, Any]:
    return {
        "proved": found.proved,
        "stopped_by": None if found.stopped_by is None else found.stopped_by.value,
        "hosts_considered": found.hosts_considered,
        "kinds": [_kind(report, room, by_host) for room in found.kinds],
    }


def _kind(report: CapacityReport, room: KindRoom, by_host: bool) -> dict[str, Any]:
    kind = room.kind
    document: dict[str, Any] = {
        "vms": list(kind.names),
        "future": kind.future,
        "asks": _asks(kind.demand),
        "at_least": room.value,
        "at_most": room.bound,
        "proved": room.proved,
        "runs_out": room.binding,
        "stops": [
            {
                "constraint": stop.constraint,
                "hosts": [
                    {"host": moid, "name": report.name(moid), "evidence": text} for moid, text in stop.hosts
                ],
            }
            for stop in room.stops
        ],
        "not_counted": list(kind.not_counted),
    }
    if by_host:
        document["by_host"] = [_host(report, host) for host in room.by_host]
    return document


def _asks(demand: Demand) -> dict[str, Any]:
    return {
        "text": demand_text(demand),
        "cpus": demand.cpus,
        "memory_mib": demand.memory_mib,
        "gpus": encode(demand.gpus),
        "nics": encode(demand.nics),
    }


def _host(report: CapacityReport, room: HostRoom) -> dict[str, Any]:
    return {
        "host": room.host,
        "name": report.name(room.host),
        "at_least": room.value,
        "at_most": room.bound,
        "stopped_by": room.constraint,
        "evidence": room.evidence,
    }
