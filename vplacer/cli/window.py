"""A parameter that is a span of time: START/END."""

from __future__ import annotations

import re
from datetime import datetime, time, timedelta
from typing import TYPE_CHECKING, Any

import click

from vplacer.cli.common import common_of

if TYPE_CHECKING:
    from vplacer.apply.options import Window

    _Type = click.ParamType[Any]
else:  # generic only in newer versions of click
    _Type = click.ParamType

_CLOCK = re.compile(r"\d{1,2}:\d{2}(:\d{2})?")


def parse_window(text: str, now: datetime) -> Window:
    """Return the window of a text: two times of day, or two points in time, of this machine's zone.

    Of two times of day it is the window that is open now, else the next one; the end may be on the day
    after. Points in time are ISO 8601, with or without a zone.

    Raises:
        ValueError: it is no window; the message says why.
    """
    from vplacer.apply.options import Window

    first, slash, last = text.partition("/")
    if not slash:
        raise ValueError("expected START/END, such as 22:00/04:00 or 2026-11-30T22:00/2026-12-01T04:00")
    clocks = [bool(_CLOCK.fullmatch(part.strip())) for part in (first, last)]
    if all(clocks):
        return _next(_time(first), _time(last), now)
    if any(clocks):
        raise ValueError("give two times of day, or two dates with times")
    start, end = _moment(first), _moment(last)
    if start >= end:
        raise ValueError("it ends before it starts")
    return Window(start, end)


def _next(start: time, end: time, now: datetime) -> Window:
    from vplacer.apply.options import Window

    if start == end:
        raise ValueError("start and end are the same time")
    local = now.astimezone()
    for days in (-1, 0, 1):
        day = local.date() + timedelta(days=days)
        opens = datetime.combine(day, start).astimezone()
        closes = datetime.combine(day + timedelta(days=end < start), end).astimezone()
        if now < closes:
            return Window(opens, closes)
    raise AssertionError("tomorrow's window has not closed")


def _time(text: str) -> time:
    try:
        return time.fromisoformat(text.strip().zfill(5 if text.count(":") == 1 else 8))
    except ValueError:
        raise ValueError(f"'{text.strip()}' is no time of day") from None


def _moment(text: str) -> datetime:
    try:
        found = datetime.fromisoformat(text.strip())
    except ValueError:
        raise ValueError(f"'{text.strip()}' is no time; expected such as 2026-11-30T22:00") from None
    return found if found.tzinfo is not None else found.astimezone()


class _WindowType(_Type):
    name = "window"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Parse a text."""
        if not isinstance(value, str) or ctx is None:
            return value
        try:
            from vplacer.cli.common import Common

            common = ctx.find_object(Common)
            now = common_of(ctx).clock() if common is not None else datetime.now().astimezone()
            return parse_window(value, now)
        except ValueError as error:
            self.fail(f"{error}.", param, ctx)


WINDOW = _WindowType()
