"""A report of room as JSON: stable, for programs; docs/capacity.md and its JSON Schema describe it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

from vplacer.inventory.codec import encode
from vplacer.plan.capacity_report import CapacityReport
from vplacer.plan.slots_file import SlotSet
from vplacer.report.demand_words import demand_text
from vplacer.request.demand import Demand
from vplacer.solver.capacity.model import Capacity, HostRoom, KindRoom
from vplacer.solver.loss.model import AfterLoss, Loss
from vplacer.solver.verdict import HostReason

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
        "hypothetical": report.hypothetical,
        "what_if": list(report.what_if),
        "room": None if found is None else _room(report, found, by_host),
        "slots": None if report.slots is None else _slots(report.slots),
        "after_loss": None if report.after_loss is None else _losses(report, report.after_loss),
    }


def _room(report: CapacityReport, found: Capacity, by_host: bool) -> dict[str, Any]:
    return {
        "proved": found.proved,
        "stopped_by": None if found.stopped_by is None else found.stopped_by.value,
        "hosts_considered": found.hosts_considered,
        "notes": list(found.notes),
        "kinds": [_kind(report, room, by_host) for room in found.kinds],
    }


def _slots(found: SlotSet) -> list[dict[str, Any]]:
    """Return the slots of each shape by host; the file of ``-o`` says which cards."""
    names = dict(found.names)
    return [
        {
            "shape": shape.name,
            "share": shape.share,
            "slots": sum(slot.shape == shape.name for slot in found.slots),
            "hosts": [
                {"host": host, "name": names.get(host, host), "slots": number}
                for host, number in Counter(s.host for s in found.slots if s.shape == shape.name).items()
            ],
        }
        for shape in found.mix
    ]


def _losses(report: CapacityReport, found: AfterLoss) -> dict[str, Any]:
    return {
        "outcome": found.outcome.value,
        "stopped_by": None if found.stopped_by is None else found.stopped_by.value,
        "hosts_lost": found.lost,
        "possible": found.possible,
        "tried": found.tried,
        "before": _loss(report, found.before),
        "losses": [_loss(report, loss) for loss in found.losses],
        "worst": None if found.worst is None else _loss(report, found.worst),
        "notes": list(found.notes),
    }


def _loss(report: CapacityReport, loss: Loss) -> dict[str, Any]:
    return {
        "hosts": [_named(report, moid) for moid in loss.hosts],
        "count": loss.count,
        "alike": [[_named(report, moid) for moid in hosts] for hosts in loss.alike],
        "outcome": loss.outcome.value,
        "restarted": loss.restarted,
        "without_place": [
            {
                "vm": vm.vm,
                "name": vm.name,
                "restartable": vm.restartable,
                "requested": vm.requested,
                "reason": vm.reason,
                "stops": _stops(report, vm.stops),
            }
            for vm in loss.homeless
        ],
    }


def _named(report: CapacityReport, moid: str) -> dict[str, str]:
    return {"host": moid, "name": report.name(moid)}


def _stops(report: CapacityReport, stops: Sequence[HostReason]) -> list[dict[str, Any]]:
    return [
        {
            "constraint": stop.constraint,
            "hosts": [{**_named(report, moid), "evidence": text} for moid, text in stop.hosts],
        }
        for stop in stops
    ]


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
        "stops": _stops(report, room.stops),
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
