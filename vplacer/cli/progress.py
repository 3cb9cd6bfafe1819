"""A progress bar on standard error, only where a person watches."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from vplacer.cli.common import Common
from vplacer.jobs.world import NoProgress, Progress

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress
    from rich.progress import TaskID


def progress_for(common: Common) -> Progress:
    """Return a bar where standard error is a terminal and the user wants it, else nothing."""
    return _Bar(common) if common.interactive() else NoProgress()


def started_bar(common: Common) -> RichProgress:
    """Return a bar on standard error that leaves nothing behind; it is shown from now on."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as RichProgress

    bar = RichProgress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=30),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=Console(file=common.stderr, no_color=not common.color(common.stderr)),
        transient=True,
    )
    bar.start()
    return bar


class _Bar:
    """One transient bar; a new title replaces the old one."""

    def __init__(self, common: Common) -> None:
        self._common = common
        self._lock = threading.Lock()
        self._rich: RichProgress | None = None
        self._title = ""
        self._task: TaskID | None = None

    def step(self, title: str, done: int, total: int | None) -> None:
        """Show how far the work is."""
        with self._lock:
            rich = self._started()
            if self._task is None or title != self._title:
                if self._task is not None:
                    rich.remove_task(self._task)
                self._title, self._task = title, rich.add_task(title, total=total)
            rich.update(self._task, completed=done, total=total)

    def finish(self) -> None:
        """Take the bar away."""
        with self._lock:
            if self._rich is not None:
                self._rich.stop()
            self._rich, self._task, self._title = None, None, ""

    def _started(self) -> RichProgress:
        if self._rich is None:
            self._rich = started_bar(self._common)
        return self._rich
