"""Options that every command has, before or after its name, and what they say of the output."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TextIO

import click
from click.core import ParameterSource

ENVVAR_PREFIX = "VPLACER"


@dataclass(slots=True)
class Common:
    """What holds for one run of the program. Filled while the command line is parsed.

    ``verbose`` 0, 1 or 2. ``config_only`` holds settings of the configuration file that are no options,
    ``ranks`` how strong the origin of each common option is, see `rank`.
    """

    environ: Mapping[str, str]
    stdin: TextIO = field(default_factory=lambda: sys.stdin)
    stdout: TextIO = field(default_factory=lambda: sys.stdout)
    stderr: TextIO = field(default_factory=lambda: sys.stderr)
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    quiet: bool = False
    verbose: int = 0
    no_color: bool = False
    debug: bool = False
    config_file: Path | None = None
    config_only: dict[str, Any] = field(default_factory=dict)
    ranks: dict[str, int] = field(default_factory=dict)

    def color(self, stream: TextIO) -> bool:
        """Whether to colour what goes to a stream: --no-color and NO_COLOR beat FORCE_COLOR."""
        from vplacer.report.style import use_colour

        return not self.no_color and use_colour(is_tty=is_terminal(stream), environ=self.environ)

    def interactive(self) -> bool:
        """Whether a person watches the error stream, so that progress may be drawn there."""
        return is_terminal(self.stderr) and not self.quiet and self.environ.get("TERM") != "dumb"


def is_terminal(stream: TextIO) -> bool:
    """Whether a stream is a terminal; a closed one is not."""
    try:
        return stream.isatty()
    except (ValueError, io.UnsupportedOperation):
        return False


def common_of(ctx: click.Context) -> Common:
    """Return the run's `Common`."""
    common = ctx.find_object(Common)
    assert common is not None
    return common


class GroupedOption(click.Option):
    """An option listed under a heading of its own in the help; its environment variable is shown."""

    def __init__(self, *args: Any, heading: str, **kwargs: Any) -> None:
        kwargs.setdefault("show_envvar", "envvar" in kwargs)
        super().__init__(*args, **kwargs)
        self.heading = heading


class Command(click.Command):
    """A command with the common options behind its own."""

    def __init__(self, name: str, *, params: list[click.Parameter] | None = None, **kwargs: Any) -> None:
        own = params or []
        for param in own:
            if isinstance(param, click.Option):
                param.show_envvar = True
        super().__init__(name, params=[*own, *common_params()], **kwargs)

    def invoke(self, ctx: click.Context) -> Any:
        """Take the common options, then run the command."""
        take_common(ctx)
        return super().invoke(ctx)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options under their headings: the command's own first."""
        rows: dict[str, list[tuple[str, str]]] = {"Options": []}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx) if isinstance(param, click.Option) else None
            if record is not None:
                heading = param.heading if isinstance(param, GroupedOption) else "Options"
                rows.setdefault(heading, []).append(record)
        # --help comes last from click, but belongs to every command.
        if EVERYWHERE in rows and rows["Options"] and rows["Options"][-1][0].startswith("-h"):
            rows[EVERYWHERE].append(rows["Options"].pop())
        for heading, records in rows.items():
            if records:
                with formatter.section(heading):
                    formatter.write_dl(records)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples as they stand, one a line."""
        del ctx
        if self.epilog:
            write_examples(formatter, self.epilog.strip().splitlines())


def write_examples(formatter: click.HelpFormatter, lines: Iterable[str]) -> None:
    """Write examples as they stand, one a line."""
    with formatter.section("Examples"):
        for line in lines:
            formatter.write(f"{'':{formatter.current_indent}}{line.strip()}\n")


EVERYWHERE = "Options of every command"


def common_params() -> list[click.Parameter]:
    """Return the common options, new for each command."""
    return [
        GroupedOption(
            ["--config"],
            heading=EVERYWHERE,
            metavar="FILE",
            type=click.Path(path_type=Path),
            is_eager=True,
            expose_value=False,
            callback=_use_config,
            help="Configuration file (TOML). Default: vplacer/config.toml in your configuration folder. "
            "Environment: VPLACER_CONFIG.",
        ),
        GroupedOption(
            ["-q", "--quiet"],
            heading=EVERYWHERE,
            envvar="VPLACER_QUIET",
            is_flag=True,
            help="No progress, no hints.",
        ),
        GroupedOption(
            ["-v", "--verbose"],
            heading=EVERYWHERE,
            envvar="VPLACER_VERBOSE",
            count=True,
            show_default=False,
            help="More detail; -vv for still more.",
        ),
        GroupedOption(
            ["--no-color"],
            heading=EVERYWHERE,
            envvar="VPLACER_NO_COLOR",
            is_flag=True,
            help="No colours (also: NO_COLOR).",
        ),
        GroupedOption(
            ["--debug"],
            heading=EVERYWHERE,
            envvar="VPLACER_DEBUG",
            is_flag=True,
            help="Show where in the program an error was raised.",
        ),
    ]


COMMON_NAMES = ("quiet", "verbose", "no_color", "debug")


def take_common(ctx: click.Context) -> None:
    """Move the common options from a context's parameters into the run's `Common`.

    The stronger origin wins; of equal ones the command's own beats the one before its name.
    """
    common = common_of(ctx)
    for name in COMMON_NAMES:
        value, strength = ctx.params.pop(name, None), rank(ctx, name)
        if value is not None and strength > 0 and strength >= common.ranks.get(name, 0):
            setattr(common, name, value)
            common.ranks[name] = strength


_ORIGINS = (
    ParameterSource.DEFAULT,
    ParameterSource.DEFAULT_MAP,
    ParameterSource.ENVIRONMENT,
    ParameterSource.COMMANDLINE,
)


def rank(ctx: click.Context, name: str) -> int:
    """Return how strong a parameter's origin is: 0 default, 1 configuration, 2 environment, 3 given."""
    source = ctx.get_parameter_source(name)
    return _ORIGINS.index(source) if source in _ORIGINS else 0


def _use_config(ctx: click.Context, param: click.Parameter, value: Path | None) -> None:
    del param
    if ctx.resilient_parsing and ctx.find_object(Common) is None:
        return  # shell completion
    from vplacer.cli.config_file import apply_config

    apply_config(ctx, value)


def examples(*lines: str) -> str:
    """Return the epilog of a command's help."""
    return "\n".join(lines)
