"""Shows how findings went, from a history alone."""

from __future__ import annotations

from pathlib import Path

from vplacer.inventory.files import write_file
from vplacer.jobs.file_kind import FileKind
from vplacer.jobs.output_file import check_output


def run_trend_job(history: Path, format: str, output: Path | None, *, force: bool = False) -> str:
    """Return the trend of each vCenter of a history, and write it if asked to.

    Args:
        history: the file.
        format: "text" | "json" | "csv".
        output: where it is written too; None = nowhere.
        force: replace a file of another kind.

    Raises:
        VplacerError: the history cannot be read, the output not be written.
    """
    from vplacer.audit.history import trends
    from vplacer.report.trend_formats import trend_text_in

    if output is not None:
        check_output(output, FileKind.AUDIT, inputs=(history,), force=force)
    text = trend_text_in(format, trends(history))
    if output is not None:
        write_file(output, text.encode())
    return text
