"""`vplacer audit --history` and `--trend`: the options, and the trend of a history."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from vplacer.cli import failure
from vplacer.cli.common import Common, rank
from vplacer.cli.output import emit, remark
from vplacer.cli.source_options import SOURCES
from vplacer.errors import UsageError

TREND_FORMATS = ("text", "json", "csv")
_SUFFIXES = {".json": "json", ".csv": "csv"}
_DAYS = 400


def history_params() -> list[click.Parameter]:
    """Return the options, new for each command."""
    return [
        click.Option(
            ["--history"],
            metavar="FILE",
            envvar="VPLACER_AUDIT_HISTORY",
            type=click.Path(path_type=Path),
            help="Remember findings in this file (SQLite, made if it is not there): since when each is "
            "there, what is new and what is gone since the last audit.",
        ),
        click.Option(
            ["--history-days"],
            metavar="N",
            envvar="VPLACER_AUDIT_HISTORY_DAYS",
            type=click.IntRange(1, 36500),
            default=_DAYS,
            show_default=True,
            help="Take out of the history what is older.",
        ),
        click.Option(
            ["--trend"],
            is_flag=True,
            help="Show how findings went from audit to audit, from --history alone; text, json or csv.",
        ),
    ]


def check_trend_options(ctx: click.Context, values: Mapping[str, Any]) -> None:
    """Refuse options that do not go together.

    Raises:
        UsageError: they do not.
    """
    if not values["trend"]:
        if values["history"] is None and rank(ctx, "history_days") == 3:
            raise UsageError("--history-days goes with --history only")
        return
    if values["history"] is None:
        raise UsageError("--trend shows a history", hint="name its file with --history")
    for name, option in SOURCES.items():
        if values[name] and rank(ctx, name) == 3:
            raise UsageError(f"--trend reads the history alone, and {option} nothing")
    if values["format"] not in (None, *TREND_FORMATS):
        raise UsageError(f"--trend is shown as {', '.join(TREND_FORMATS)}, not {values['format']}")


def show_trend(common: Common, values: Mapping[str, Any]) -> int:
    """Show the trend of a history, or write it."""
    from vplacer.jobs.audit_trend import run_trend_job

    output: Path | None = values["output"]
    shown = values["format"] or ("text" if output is None else _SUFFIXES.get(output.suffix.lower(), "text"))
    text = run_trend_job(values["history"], shown, output, force=values["force"])
    if output is None:
        emit(common, text)
    else:
        remark(common, f"{output}: written")
    return failure.OK
