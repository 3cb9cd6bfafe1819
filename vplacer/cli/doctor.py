"""`vplacer doctor`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from vplacer.cli import failure
from vplacer.cli.common import Command, Common, common_of, examples
from vplacer.cli.output import emit, remark
from vplacer.cli.run import world_for
from vplacer.cli.source_options import source_of, source_params

if TYPE_CHECKING:
    from vplacer.doctor.model import DoctorReport

FORMATS = ("text", "json", "markdown")
VERBS = ("read", "measure", "plan", "apply")
_SUFFIXES = {".json": "json", ".md": "markdown", ".markdown": "markdown"}


@click.pass_context
def _run(ctx: click.Context, /, **values: Any) -> int:
    from vplacer.doctor.model import Verb
    from vplacer.jobs.doctor import DoctorOptions, run_doctor

    common = common_of(ctx)
    output: Path | None = values["output"]
    options = DoctorOptions(
        source=source_of(ctx, common, values),
        verbs=tuple(Verb(word) for word in dict.fromkeys(values["use"])),
        output=output,
    )
    shown = values["format"] or "text"
    saved = values["format"] or _SUFFIXES.get(output.suffix.lower() if output else "", "text")
    hidden = True if values["anonymize"] is None else values["anonymize"]
    report = run_doctor(
        options,
        world_for(common, machine=shown != "text"),
        lambda found: _text(found, saved, common, anonymous=hidden, saving=True),
    )
    emit(common, _text(report, shown, common, anonymous=values["anonymize"] is True))
    if output is not None:
        names = "names replaced by pseudonyms" if hidden else "with REAL names: do not publish it"
        remark(common, f"{output}: report, {names}")
    elif shown == "text":
        remark(common, "-o report.md saves it without names, fit to be attached to an issue")
    return exit_code(report)


def _text(report: DoctorReport, format: str, common: Common, *, anonymous: bool, saving: bool = False) -> str:
    from vplacer.report.doctor_document import doctor_document
    from vplacer.report.doctor_json import doctor_json
    from vplacer.report.doctor_text import doctor_markdown, doctor_text
    from vplacer.report.style import PLAIN, Style

    document = doctor_document(report, anonymous=anonymous)
    if format == "json":
        return doctor_json(document)
    if format == "markdown":
        return doctor_markdown(document)
    style = PLAIN if saving else Style(common.color(common.stdout))
    return doctor_text(document, details=saving or common.verbose > 0, style=style)


def exit_code(report: DoctorReport) -> int:
    """Return 2 for a finding, 5 where something could not be read, else 0."""
    if report.differs:
        return failure.CHANGES
    return failure.UNDECIDED if report.incomplete else failure.OK


command = Command(
    "doctor",
    callback=_run,
    help="Check, without changing anything, whether a vCenter and its hosts behave as vplacer relies on "
    "(docs/assumptions.md), what the account may do, and what the licences allow. On the screen names are "
    "real; in the file of --output they are replaced, so that it can be attached to an issue. Exit code 2: "
    "something differs or a privilege is missing for --for; 5: something could not be read.",
    params=[
        click.Option(
            ["--for", "use"],
            envvar="VPLACER_DOCTOR_FOR",
            type=click.Choice(VERBS),
            multiple=True,
            default=("read", "plan"),
            help="What the account is used for; more than once. Privileges of other uses are told, and are "
            "no findings.",
        ),
        click.Option(
            ["--format"],
            type=click.Choice(FORMATS),
            show_default="text; for a file by its suffix",
            help="text and markdown for people, json for programs.",
        ),
        click.Option(
            ["-o", "--output"],
            metavar="FILE",
            type=click.Path(path_type=Path),
            help="Save the report too: .md, .json, or text.",
        ),
        click.Option(
            ["--anonymize/--no-anonymize"],
            default=None,
            show_default="on the screen no, in the file yes",
            help="Replace names of objects, accounts, labels and licence keys by pseudonyms.",
        ),
        *source_params(),
    ],
    epilog=examples(
        "vplacer doctor --lab nvswitch",
        "vplacer doctor --vcenter vc.example.com --username ro@vsphere.local --for measure -o report.md",
    ),
)
