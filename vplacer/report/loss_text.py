"""What losses of hosts come to, as text: how many leave every VM a place, and the worst one in full."""

from __future__ import annotations

from collections.abc import Sequence

from vplacer.plan.capacity_report import CapacityReport
from vplacer.report.constraint_words import constraint_words
from vplacer.report.infeasible_text import evidence_text, shorten
from vplacer.report.plan_words import aligned, count
from vplacer.report.solution_text import STOPPED
from vplacer.report.style import PLAIN, Style
from vplacer.solver.loss.model import AfterLoss, Homeless, Loss, Outcome

_SHOWN_LOSSES = 8


def loss_lines(
    report: CapacityReport, found: AfterLoss, *, by_host: bool = False, style: Style = PLAIN
) -> list[str]:
    """Return what losses come to; ``by_host``: every loss, not only the first few of each outcome."""
    lines = [_heading(report, found), ""]
    if found.before.outcome is not Outcome.PLACED:
        lines += ["Without any loss VMs of the request have no place already, and are left out below:"]
        lines += [*_homeless_lines(report, found.before.homeless), ""]
    for outcome, words in _WORDS.items():
        losses = [loss for loss in found.losses if loss.outcome is outcome]
        if losses:
            number = sum(loss.count for loss in losses)
            lines.append(f" {count(number, 'loss', 'losses')}: {words}")
            shown = losses if by_host else losses[:_SHOWN_LOSSES]
            lines += [f"     {line}" for line in aligned([_row(report, loss) for loss in shown])]
            if len(shown) < len(losses):
                lines.append(f"     and {len(losses) - len(shown)} more, all of them with --by-host")
    if found.worst is not None:
        head = f"Worst: {_hosts(report, found.worst.hosts)} lost, {_missing(found.worst)}"
        lines += ["", style.paint(head, "red"), *_homeless_lines(report, found.worst.homeless)]
    return [*lines, *(f"note: {text}" for text in found.notes)]


_WORDS = {
    Outcome.PLACED: "every VM has a place",
    Outcome.NOT_PLACED: "not every VM has a place, proved",
    Outcome.UNDECIDED: "undecided",
}


def loss_summary(found: AfterLoss, style: Style = PLAIN, seconds: float | None = None) -> list[str]:
    """Return the last two lines: the verdict, and how far it is proved."""
    bad = sum(loss.count for loss in found.losses if loss.outcome is Outcome.NOT_PLACED)
    unsure = sum(loss.count for loss in found.losses if loss.outcome is Outcome.UNDECIDED)
    text = (
        f"After loss: {count(found.tried - bad - unsure, 'loss', 'losses')} of {found.possible} without harm"
    )
    text += f", {bad} with VMs without a place" if bad else ""
    text += f", {unsure} undecided" if unsure else ""
    text += f", {found.possible - found.tried} not tried" if found.tried < found.possible else ""
    kinds = len(found.losses)
    alike = f"alike ones once, {kinds} in all" if kinds < found.tried else "each by itself"
    if found.stopped_by is None:
        proof = f"Proved for every loss, {alike}."
    else:
        proof = f"Not proved to the end ({STOPPED[found.stopped_by]}); tried: {found.tried}, {alike}."
    last = proof if seconds is None else f"{proof} {seconds:.1f} s."
    return [style.paint(f"{text}.", "bold"), last]


def _heading(report: CapacityReport, found: AfterLoss) -> str:
    whose = "VMs that run" if report.request_file is None else "VMs that run and those of the request"
    if found.lost is None:
        return f"Have all {whose} a place after the loss of {_hosts(report, found.losses[0].hosts)}?"
    return f"Have all {whose} a place after the loss of any {count(found.lost, 'host')} of a cluster?"


def _row(report: CapacityReport, loss: Loss) -> tuple[str, str, str]:
    hosts = _hosts(report, loss.hosts)
    if loss.count > 1:
        hosts += f" and {loss.count - 1} alike"
    return hosts, f"{count(loss.restarted, 'VM')} to restart", _missing(loss)


def _missing(loss: Loss) -> str:
    if not loss.homeless:
        return ""
    words = "for which no place was found" if loss.outcome is Outcome.UNDECIDED else "without a place"
    return f"{count(len(loss.homeless), 'VM')} {words}: {shorten([vm.name for vm in loss.homeless])}"


def _hosts(report: CapacityReport, hosts: Sequence[str]) -> str:
    return " and ".join(report.name(moid) for moid in hosts)


def _homeless_lines(report: CapacityReport, vms: Sequence[Homeless]) -> list[str]:
    """Return the VMs without a place with the reasons, those of equal reasons together."""
    groups: dict[object, list[Homeless]] = {}
    for vm in vms:
        groups.setdefault((vm.restartable, vm.requested, vm.reason, vm.stops), []).append(vm)
    lines = []
    for alike in groups.values():
        first = alike[0]
        names = shorten([vm.name for vm in alike])
        what = "not restarted" if not first.restartable else "of the request" if first.requested else "runs"
        lines.append(f"   {names}: {what}, {first.reason}")
        rows = [
            (
                f"{len(stop.hosts)}",
                constraint_words(stop.constraint),
                shorten([report.name(moid) for moid, _ in stop.hosts]),
                evidence_text([text for _, text in stop.hosts]),
            )
            for stop in first.stops
        ]
        lines += [f"       {line}" for line in aligned(rows)]
    return lines
