"""Audits a vCenter, or what was saved of one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from vplacer.inventory.files import write_file
from vplacer.jobs.audit_since import NOTHING, Since, load_since
from vplacer.jobs.file_kind import FileKind
from vplacer.jobs.output_file import check_output, check_writable, refuse_inputs, refuse_one_file_twice
from vplacer.jobs.source import SourceOptions, read_source, source_files
from vplacer.jobs.world import World

if TYPE_CHECKING:
    from vplacer.audit.model import AuditReport
    from vplacer.audit.settings import Settings
    from vplacer.audit.subject import Subject
    from vplacer.audit.utilisation import Utilisation
    from vplacer.inventory.vcenter import Inventory


@dataclass(frozen=True, slots=True)
class AuditOptions:
    """What to audit.

    Args:
        source: where the inventory comes from.
        select: rules to apply, by id or name; empty = all.
        ignore: rules to leave out.
        settings: thresholds; None = the defaults.
        waivers: a file of findings that somebody answers for; None = none.
        since: a saved plan, or the JSON report of an earlier audit, to compare with; None = none.
        utilisation: a file of what GPUs did; None = none.
        history: a file that remembers audits; None = none. ``history_days``: for how long it does.
        output: where the report goes too; None = nowhere.
        gauges: work out the figures of metrics too.
        pictures: make a picture of each host too.
        readable_by_all: the report's file is for other accounts of this machine too.
    """

    source: SourceOptions
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    settings: Settings | None = None
    waivers: Path | None = None
    since: Path | None = None
    utilisation: Path | None = None
    history: Path | None = None
    history_days: int | None = None
    output: Path | None = None
    gauges: bool = False
    pictures: bool = False
    readable_by_all: bool = False


def run_audit_job(
    options: AuditOptions, world: World, render_file: Callable[[AuditReport], str]
) -> AuditReport:
    """Audit; write the report if asked to. What cannot be read is part of the report, not an error.

    Args:
        options: the source and the rules.
        world: the outside.
        render_file: makes the text of the report file.

    Raises:
        VplacerError: the source cannot be opened at all, a rule is not known, the report cannot be written.
    """
    from vplacer.audit.earlier_file import compared
    from vplacer.audit.registry import chosen_rules
    from vplacer.audit.run import run_audit
    from vplacer.audit.settings import DEFAULTS
    from vplacer.audit.subject import Subject
    from vplacer.audit.waivers_file import load_waivers

    since = load_since(options.since) if options.since is not None else NOTHING
    rules = chosen_rules(options.select, options.ignore, _given(options, since))
    waivers = load_waivers(options.waivers) if options.waivers is not None else None
    utilisation = _utilisation(options.utilisation)
    _check_files(options, since)
    reading = read_source(replace(options.source, allow_incomplete=True), world)
    subject = Subject(
        reading.inventory,
        reading.overlays,
        options.settings or DEFAULTS,
        told=reading.findings,
        waivers=waivers,
        since=since.drift(reading.inventory),
        utilisation=utilisation,
        off_since=_off_since(options, reading.inventory),
    )
    report = _remembered(run_audit(subject, rules), subject, options, world)
    if since.audit is not None:
        report = compared(report, since.audit, subject.inventory)
    if options.gauges:
        from vplacer.audit.gauges import gauges

        report = replace(report, gauges=gauges(subject))
    if options.pictures:
        from vplacer.audit.host_pictures import host_pictures

        report = replace(report, pictures=host_pictures(subject))
    if options.output is not None:
        mode = 0o644 if options.readable_by_all else 0o600
        write_file(options.output, render_file(report).encode(), mode)
    return report


def _off_since(options: AuditOptions, inventory: Inventory) -> Mapping[str, str]:
    """Return since when VMs were seen to keep GPUs while they are off, as far as a history knows."""
    if options.history is None:
        return {}
    from vplacer.audit.history import seen_since
    from vplacer.audit.rules.vpl044_gpu_held_off import RULE

    return seen_since(options.history, inventory.about.instance_uuid, RULE.id, inventory.taken_at)


def _utilisation(path: Path | None) -> Utilisation | None:
    if path is None:
        return None
    from vplacer.audit.utilisation import parse_utilisation
    from vplacer.inventory.yaml_marks import read_bytes

    return parse_utilisation(read_bytes(path), str(path))


def _check_files(options: AuditOptions, since: Since) -> None:
    """Find out before long work that a file cannot be written, or must not be."""
    inputs = [*source_files(options.source), *since.inputs()]
    inputs += [path for path in (options.waivers, options.utilisation) if path is not None]
    refuse_one_file_twice(options.output, options.source.record, options.history)
    if options.history is not None:
        from vplacer.audit.history_file import check_history

        refuse_inputs(options.history, inputs)
        check_history(options.history)
        check_writable(options.history)
    if options.output is not None:
        check_output(options.output, FileKind.AUDIT, inputs=inputs, force=options.source.force)


def _remembered(report: AuditReport, subject: Subject, options: AuditOptions, world: World) -> AuditReport:
    """Keep the audit in the history, where there is one, and return it with what that knows."""
    if options.history is None:
        return report
    from vplacer.audit.history import DAYS, record

    days = DAYS if options.history_days is None else options.history_days
    recorded = record(options.history, report, subject.inventory, days)
    if recorded.later is not None:
        world.warn(
            f"{options.history} has an audit of {recorded.later}, later than this inventory of "
            f"{report.taken_at}: it is not added"
        )
    return recorded.report


def _given(options: AuditOptions, since: Since) -> list[str]:
    """Return the options given without which some rules have nothing to look at."""
    given = ["--waivers"] if options.waivers is not None else []
    return [*given, "--since PLAN"] if since.plan is not None else given
