"""Shows an apply while it runs: lines and a bar on standard error, or events on standard output."""

from __future__ import annotations

import contextlib
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from vplacer.apply.events import ApplyEvent, EventType
from vplacer.cli.common import Common
from vplacer.cli.progress import started_bar
from vplacer.errors import VplacerError

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

_BEGINS = (EventType.APPLY_START, EventType.APPLY_PROGRESS)
_ENDS = (EventType.APPLY_COMPLETE, EventType.APPLY_ERRORED)
_SILENCE = timedelta(seconds=60)
"""So long nothing is said of tasks that merely go on."""


class Display:
    """A listener of an apply. ``running``: names of the steps that run, by id.

    Args:
        common: the run.
        format: "text", "json" or "ndjson".
        quiet: no lines for events, only the bar.
    """

    def __init__(self, common: Common, format: str, *, quiet: bool = False) -> None:
        self.running: dict[str, str] = {}
        self.has_begun = False
        self._common = common
        self._format = format
        self._quiet = quiet or common.quiet
        self._rich: Progress | None = None
        self._task: TaskID | None = None
        self._told: datetime | None = None
        self._reader_is_there = True

    def __call__(self, event: ApplyEvent) -> None:
        """Take an event."""
        self.has_begun = True
        if event.step is not None and event.type in _BEGINS:
            what = event.kind.value.replace("_", " ") if event.kind is not None else ""
            self.running[event.step] = f"{event.name or event.vm} ({what})"
        elif event.step is not None and event.type in _ENDS:
            self.running.pop(event.step, None)
        if self._format == "ndjson":
            from vplacer.report.apply_json import event_json

            self.write(event_json(event))
        elif self._format == "text":
            self._show(event)

    def write(self, line: str) -> None:
        """Write a line to standard output. That its reader has gone must not stop what is under way."""
        if not self._reader_is_there:
            return
        try:
            self._common.stdout.write(line + "\n")
            self._common.stdout.flush()
        except OSError as error:
            self._reader_is_there = False
            self.say(f"Warning: standard output: {error.strerror}; the apply goes on, its journal tells all")

    def say(self, text: str) -> None:
        """Write a line to standard error, above the bar where there is one. Never fails.

        RuntimeError: a signal came while a line was being written.
        """
        with contextlib.suppress(OSError, ValueError, RuntimeError):
            if self._rich is not None:
                self._rich.console.print(text, markup=False, highlight=False, soft_wrap=True)
                return
            self._common.stderr.write(text + "\n")
            self._common.stderr.flush()

    def error(self, error: VplacerError) -> None:
        """Tell an error that ended everything before the first change to who reads the events."""
        if self._format == "ndjson":
            from vplacer.report.apply_json import error_line

            code = type(error).__name__
            self.write(error_line(self._common.clock(), error.render(), code, error.exit_code))

    def finish(self) -> None:
        """Take the bar away."""
        if self._rich is not None:
            self._rich.stop()
        self._rich = None

    def _show(self, event: ApplyEvent) -> None:
        from vplacer.report.apply_text import event_line

        line = event_line(event)
        if event.type is EventType.APPLY_PROGRESS and self._told and event.at < self._told + _SILENCE:
            line = None
        if line is not None and not self._quiet:
            self._told = event.at
            self.say(line)
        if event.total and self._common.interactive():
            rich, task = self._bar(event.total)
            rich.update(task, completed=event.done or 0, total=event.total)

    def _bar(self, total: int) -> tuple[Progress, TaskID]:
        if self._rich is None or self._task is None:
            self._rich = started_bar(self._common)
            self._task = self._rich.add_task("steps", total=total)
        return self._rich, self._task
