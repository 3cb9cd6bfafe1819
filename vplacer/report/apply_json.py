"""Events and outcomes of an apply for programs; docs/apply.md describes both. Stable."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any, Final

from vplacer.apply.events import ApplyEvent
from vplacer.apply.outcome import Outcome
from vplacer.apply.preflight import Preflight
from vplacer.apply.rollback_plan import RollbackPlan
from vplacer.inventory.codec import encode
from vplacer.plan.model import Plan

FORMAT: Final = "vplacer-outcome"
FORMAT_VERSION: Final = 1


def first_line(at: datetime, tool_version: str) -> str:
    """Return the first line of a stream of events."""
    return _line(
        {
            "@timestamp": _time(at),
            "@level": "info",
            "@message": f"vplacer {tool_version}",
            "type": "version",
            "vplacer": tool_version,
            "format_version": FORMAT_VERSION,
        }
    )


def event_json(event: ApplyEvent) -> str:
    """Return one event as a line, without its end."""
    body = {
        "@timestamp": _time(event.at),
        "@level": event.severity.value,
        "@message": event.text,
        "type": event.type.value,
        "step": event.step,
        "kind": event.kind.value if event.kind is not None else None,
        "vm": event.vm,
        "name": event.name,
        "undo": event.undo or None,
        "elapsed_s": None if event.elapsed_s is None else round(event.elapsed_s, 3),
        "done": event.done,
        "total": event.total,
        "code": event.code,
        "task": event.task,
    }
    return _line({key: value for key, value in body.items() if value is not None})


def error_line(at: datetime, text: str, code: str, exit_code: int) -> str:
    """Return the line of an error that ended everything before the first change."""
    return _line(
        {
            "@timestamp": _time(at),
            "@level": "error",
            "@message": text,
            "type": "diagnostic",
            "code": code,
            "exit_code": exit_code,
        }
    )


def outcome_line(at: datetime, outcome: Outcome, exit_code: int) -> str:
    """Return the last line of a stream of events: the whole outcome."""
    body = {"@timestamp": _time(at), "@level": "info", "type": "outcome"}
    return _line(body | outcome_document(outcome, exit_code))


def outcome_document(outcome: Outcome, exit_code: int) -> dict[str, Any]:
    """Return an outcome as JSON values."""
    steps = [
        {
            "id": item.id,
            "kind": item.kind.value,
            "vm": item.vm,
            "state": item.state.value,
            "detail": item.detail,
            "task": item.task,
            "started": item.started,
            "ended": item.ended,
        }
        for item in outcome.steps
    ]
    troubles = [
        {
            "kind": item.kind.value,
            "what": item.what,
            "vm": item.vm,
            "name": item.name,
            "step": item.step,
            "hint": item.hint,
        }
        for item in outcome.troubles
    ]
    return {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "status": outcome.status.value,
        "exit_code": exit_code,
        "rollback": outcome.is_rollback,
        "changed": outcome.changed,
        "elapsed_s": round(outcome.elapsed_s, 3),
        "journal": outcome.journal,
        "troubles": troubles,
        "notes": list(outcome.notes),
        "steps": steps,
        "vms": dict(outcome.vms),
    }


def outcome_json(outcome: Outcome, exit_code: int) -> str:
    """Return an outcome as JSON text ending in a newline."""
    return json.dumps(outcome_document(outcome, exit_code), indent=1) + "\n"


def preflight_document(found: Preflight) -> dict[str, Any]:
    """Return what speaks against a plan as JSON values."""
    return {
        "clear": found.clear,
        "stale": [encode(item) for item in found.stale],
        "owned": [{"vm": vm, "reason": why} for vm, why in found.owned],
        "consents": [
            {"option": item.option, "what": item.what, "concerns": list(item.concerns)}
            for item in found.consents
        ],
        "checks": [
            {
                "step": item.step,
                "vm": item.vm,
                "blocking": item.blocking,
                "of_today": item.of_today,
                "fault": item.finding.fault,
                "message": item.finding.message,
            }
            for item in found.checked
        ],
        "adopted": list(found.adopted),
    }


def preflight_json(found: Preflight) -> str:
    """Return what speaks against a plan as JSON text ending in a newline."""
    return json.dumps(preflight_document(found), indent=1) + "\n"


def rollback_json(plan: Plan, what: RollbackPlan) -> str:
    """Return what a rollback would do as JSON text ending in a newline."""
    document = {
        "vcenter": plan.source.vcenter,
        "steps": [encode(step) for step in what.steps],
        "stays": [encode(item) for item in what.stays],
    }
    return json.dumps(document, indent=1) + "\n"


def _line(body: dict[str, Any]) -> str:
    return json.dumps(body, separators=(",", ":"))


def _time(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
