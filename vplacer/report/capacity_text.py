"""How many more VMs of each kind fit, as text: a line a kind, and what stops one more."""

from __future__ import annotations

from vplacer.plan.capacity_report import CapacityReport
from vplacer.report.constraint_words import constraint_words
from vplacer.report.demand_words import demand_text, names_text
from vplacer.report.infeasible_text import evidence_text, shorten
from vplacer.report.loss_text import loss_lines, loss_summary
from vplacer.report.plan_words import aligned, count
from vplacer.report.slots_text import slots_lines
from vplacer.report.solution_text import STOPPED
from vplacer.report.source_text import missing_texts, source_text, what_if_lines
from vplacer.report.style import PLAIN, Style
from vplacer.solver.capacity.model import Capacity, HostRoom, KindRoom


def capacity_text(
    report: CapacityReport, *, by_host: bool = False, style: Style = PLAIN, seconds: float | None = None
) -> str:
    """Return a report of room as text, ending in a newline.

    Args:
        report: the report.
        by_host: name every host with its number.
        style: colours.
        seconds: how long the search took; None = left out, so that equal reports are equal texts.
    """
    lines = [source_text(report.source, report.created), *missing_texts(report.source)]
    lines += what_if_lines(report.what_if, report.hypothetical)
    if report.capacity is not None:
        lines += ["", *_kinds_lines(report, report.capacity, by_host, style)]
    if report.slots is not None:
        lines += ["", *slots_lines(report.slots)]
    if report.after_loss is not None:
        lines += ["", *loss_lines(report, report.after_loss, by_host=by_host, style=style)]
    if report.capacity is not None:
        lines += [f"note: {text}" for text in report.capacity.notes]
    lines += [f"note: {text}" for text in report.notes]
    if report.capacity is not None:
        lines += ["", *_last_lines(report.capacity, style, seconds)]
    if report.after_loss is not None:
        lines += ["", *loss_summary(report.after_loss, style, seconds)]
    return "\n".join(lines) + "\n"


def _kinds_lines(report: CapacityReport, capacity: Capacity, by_host: bool, style: Style) -> list[str]:
    lines = ["Room for more VMs of each kind, each kind alone, beside what runs, moving nothing", ""]
    heads = aligned([_head(room) for room in capacity.kinds])
    for room, head in zip(capacity.kinds, heads, strict=True):
        lines.append(style.paint(f" {head}", "bold"))
        lines += [f"       {line}" for line in aligned(_stop_rows(report, room))]
        lines += [f"       not counted: {text}" for text in room.kind.not_counted]
        if by_host:
            lines += [f"       {line}" for line in aligned(_host_rows(report, room))]
        lines.append("")
    return lines[:-1]


def _head(room: KindRoom) -> tuple[str, str, str]:
    """Name, number and what is asked for."""
    name = f"future: {room.kind.names[0]}" if room.kind.future else names_text(room.kind.names)
    return (name, number_text(room.value, room.bound), demand_text(room.kind.demand))


def number_text(value: int, bound: int) -> str:
    """Return an exact number, or between which two it is."""
    return f"{value} more" if value == bound else f"at least {value}, at most {bound} more"


def _stop_rows(report: CapacityReport, room: KindRoom) -> list[tuple[str, str, str, str]]:
    return [
        (
            f"{len(stop.hosts)}",
            constraint_words(stop.constraint),
            shorten([report.name(moid) for moid, _ in stop.hosts]),
            evidence_text([text for _, text in stop.hosts]),
        )
        for stop in room.stops
    ]


def _host_rows(report: CapacityReport, room: KindRoom) -> list[tuple[str, str, str]]:
    return [(report.name(host.host), _number(host), host.evidence) for host in room.by_host]


def _number(host: HostRoom) -> str:
    return str(host.value) if host.value == host.bound else f"{host.value} to {host.bound}"


def _last_lines(capacity: Capacity, style: Style, seconds: float | None) -> list[str]:
    rooms = [f"{names_text(room.kind.names)} {_short(room)}" for room in capacity.kinds]
    what = f"{count(capacity.hosts_considered, 'host')} considered"
    open_kinds = sum(not room.proved for room in capacity.kinds)
    if not open_kinds:
        proof = f"Proved: every number is exact. {what}."
    else:
        why = f" ({STOPPED[capacity.stopped_by]})" if capacity.stopped_by is not None else ""
        proof = f"Not proved to the end{why}: {count(open_kinds, 'kind')} between two numbers. {what}."
    text = proof if seconds is None else f"{proof} {seconds:.1f} s."
    return [style.paint(f"Room: {', '.join(rooms)}.", "bold"), text]


def _short(room: KindRoom) -> str:
    return f"{room.value}" if room.proved else f"{room.value} to {room.bound}"
