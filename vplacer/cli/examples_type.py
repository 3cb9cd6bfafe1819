"""A parameter that is a file or the name of an example; completes both."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from vplacer.jobs.fixtures import FixtureKind

if TYPE_CHECKING:
    _Type = click.ParamType[Any]
else:  # generic only in newer versions of click
    _Type = click.ParamType


class FileOrExample(_Type):
    """A path, or the name of an example site, request or cassette. Resolved by the job, not here."""

    name = "file or example"

    def __init__(self, kind: FixtureKind) -> None:
        self.kind: FixtureKind = kind

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Take any text that is not empty."""
        if not str(value).strip():
            self.fail("is empty.", param, ctx)
        return str(value)

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Offer the examples, and files."""
        del ctx, param
        from vplacer.jobs.fixtures import list_fixtures

        names = [CompletionItem(name) for name in list_fixtures(self.kind) if name.startswith(incomplete)]
        return [*names, CompletionItem(incomplete, type="file")]
