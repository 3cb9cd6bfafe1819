"""`vplacer audit`."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from vplacer.cli import failure
from vplacer.cli.audit_trend import check_trend_options, history_params, show_trend
from vplacer.cli.common import Command, Common, common_of, examples, is_terminal
from vplacer.cli.output import emit, remark, warn
from vplacer.cli.run import world_for
from vplacer.cli.source_options import source_of, source_params
from vplacer.errors import UsageError
from vplacer.report.audit_formats import METRICS, PICTURES, audit_format_names, audit_format_of

if TYPE_CHECKING:
    from vplacer.audit.model import AuditReport

FAIL_ON = ("error", "warning", "note", "never")


@click.pass_context
def _run(ctx: click.Context, /, **values: Any) -> int:
    from vplacer.audit.settings import Settings
    from vplacer.jobs.audit import AuditOptions, run_audit_job

    common = common_of(ctx)
    check_trend_options(ctx, values)
    if values["trend"]:
        return show_trend(common, values)
    shown = values["format"] or ("text" if values["output"] is None else audit_format_of(values["output"]))
    if values["summary"] and shown != "text":
        raise UsageError(f"--summary shortens the text; {shown} is always whole")
    options = AuditOptions(
        source=source_of(ctx, common, values),
        select=values["select"],
        ignore=values["ignore"],
        settings=Settings(
            locality_percent=values["locality_percent"],
            idle_days=values["idle_days"],
            off_days=values["off_days"],
            loss_hosts=values["loss_hosts"],
        ),
        waivers=values["waivers"],
        since=values["since"],
        utilisation=values["utilisation"],
        history=values["history"],
        history_days=values["history_days"],
        output=values["output"],
        gauges=shown in METRICS,
        pictures=shown in PICTURES,
        readable_by_all=shown in METRICS,
    )
    report = run_audit_job(
        options,
        world_for(common, machine=shown != "text"),
        lambda found: _text(found, shown, common, brief=values["summary"], saving=True),
    )
    if options.output is None:
        emit(common, _text(report, shown, common, brief=values["summary"]))
    else:
        from vplacer.report.audit_text import last_line

        remark(common, f"{options.output}: {last_line(report)}")
    if not report.complete and not options.source.allow_incomplete:
        warn(common, "part of the inventory could not be read: no finding there proves nothing")
    return exit_code(report, values["fail_on"])


def _text(
    report: AuditReport, format: str, common: Common, *, brief: bool = False, saving: bool = False
) -> str:
    if format == "text":
        from vplacer.report.audit_text import audit_text
        from vplacer.report.style import PLAIN, Style

        seen = not saving and is_terminal(common.stdout)
        return audit_text(
            report,
            details=common.verbose > 0,
            brief=brief,
            width=shutil.get_terminal_size().columns if seen else None,
            style=PLAIN if saving else Style(common.color(common.stdout)),
        )
    from vplacer.report.audit_formats import audit_format

    return audit_format(format)(report)


def exit_code(report: AuditReport, fail_on: str) -> int:
    """Return 5 for an incomplete inventory, whatever else; 2 for findings as bad as ``fail_on``; else 0."""
    from vplacer.audit.model import Severity

    if not report.complete:
        return failure.UNDECIDED
    if fail_on != "never" and report.open_at(Severity(fail_on)):
        return failure.CHANGES
    return failure.OK


command = Command(
    "audit",
    callback=_run,
    help="Find VMs whose GPUs, NICs, memory and vCPUs have drifted apart, and what stands in the way of "
    "mending it; changes nothing. Exit code 2: findings as bad as --fail-on; 5: part of the inventory could "
    "not be read, whatever else was found.",
    params=[
        click.Option(
            ["--format"],
            type=click.Choice(audit_format_names()),
            help="text for people; json or ndjson for programs; sarif, junit and github for CI; csv for "
            "spreadsheets; prometheus or openmetrics for monitoring; "
            "html for a page with pictures of the hosts. Default: by the suffix of -o, or text.",
        ),
        click.Option(
            ["-o", "--output"],
            metavar="FILE",
            type=click.Path(path_type=Path),
            help="Write the report there instead of to the screen: .json, .ndjson, .sarif, .xml (JUnit), "
            ".csv, .prom (Prometheus), .html, else text.",
        ),
        click.Option(["--summary"], is_flag=True, help="Only counts by rule."),
        click.Option(
            ["--fail-on"],
            envvar="VPLACER_AUDIT_FAIL_ON",
            type=click.Choice(FAIL_ON),
            default="error",
            show_default=True,
            help="End with exit code 2 for findings as bad as this, or worse.",
        ),
        click.Option(["--select"], metavar="RULE", multiple=True, help="Only this rule; more than once."),
        click.Option(["--ignore"], metavar="RULE", multiple=True, help="Not this rule; more than once."),
        click.Option(
            ["--waivers"],
            metavar="FILE",
            envvar="VPLACER_AUDIT_WAIVERS",
            type=click.Path(path_type=Path),
            help="Findings that somebody answers for until a day: `vplacer schema waivers`.",
        ),
        click.Option(
            ["--since"],
            metavar="PLAN|AUDIT",
            type=click.Path(path_type=Path),
            help="Compare with a saved plan (what moved since is VPL092), or with an earlier audit in JSON: "
            "what is new, still there and gone.",
        ),
        click.Option(
            ["--utilisation"],
            metavar="FILE",
            envvar="VPLACER_AUDIT_UTILISATION",
            type=click.Path(path_type=Path),
            help="What GPUs did: the answer of Prometheus to query_range (JSON), or a table (CSV).",
        ),
        click.Option(
            ["--idle-days"],
            metavar="N",
            type=click.IntRange(1, 365),
            default=7,
            show_default=True,
            help="Days without work after which a GPU is idle; needs --utilisation.",
        ),
        click.Option(
            ["--off-days"],
            metavar="N",
            type=click.IntRange(0),
            default=30,
            show_default=True,
            help="Days after which a GPU kept by a VM that is off is a warning; needs --history.",
        ),
        click.Option(
            ["--loss-hosts"],
            metavar="N",
            type=click.IntRange(1, 16),
            default=1,
            show_default=True,
            help="Hosts of a cluster whose loss its VMs with devices must survive.",
        ),
        *history_params(),
        click.Option(
            ["--locality-percent"],
            metavar="N",
            type=click.IntRange(1, 100),
            default=80,
            show_default=True,
            help="Measured memory locality below which it is a finding.",
        ),
        *source_params(),
    ],
    epilog=examples(
        "vplacer audit --lab nvswitch",
        "vplacer audit --vcenter vc.example.com --username ro@vsphere.local --fail-on warning",
        "vplacer audit --from site.json.gz --history audits.db -o audit.sarif",
        "vplacer audit --trend --history audits.db",
        "vplacer rule VPL001",
    ),
)
