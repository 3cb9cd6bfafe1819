"""A parameter that is a point in time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    _Type = click.ParamType[Any]
else:  # generic only in newer versions of click
    _Type = click.ParamType


class _Moment(_Type):
    """A point in time in ISO 8601; without a zone it is taken as UTC."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Parse a text."""
        from datetime import UTC, datetime

        if isinstance(value, datetime):
            return value
        try:
            moment = datetime.fromisoformat(str(value))
        except ValueError:
            self.fail(f"'{value}' is no time; expected such as 2026-11-30T08:10:00Z.", param, ctx)
        return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


MOMENT = _Moment()
