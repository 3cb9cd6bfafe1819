"""Entry of the program: parse, dispatch, and turn whatever happens into an exit code and a message."""

from __future__ import annotations

import errno
import os
import signal
import sys
from collections.abc import Sequence
from types import FrameType
from typing import Any, NoReturn

import click

from vplacer.cli import failure, standard_streams
from vplacer.cli.commands import TREE, LazyGroup
from vplacer.cli.common import ENVVAR_PREFIX, Common, common_params, take_common
from vplacer.errors import VplacerError

PROGRAM = "vplacer"


def _show_version(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    del param
    if value and not ctx.resilient_parsing:
        from vplacer.cli.version import version_text

        click.echo(version_text())
        ctx.exit()


class _Root(LazyGroup):
    def invoke(self, ctx: click.Context) -> Any:
        if ctx.find_object(Common) is not None:
            take_common(ctx)
        return super().invoke(ctx)


def root() -> click.Group:
    """Return the command `vplacer`."""
    version = click.Option(
        ["--version"],
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=_show_version,
        help="Show the version, that of pyVmomi, and the vSphere API versions spoken.",
    )
    return _Root(
        name=PROGRAM,
        branch=TREE,
        params=[version, *common_params()],
        context_settings={
            "auto_envvar_prefix": ENVVAR_PREFIX,
            "help_option_names": ["-h", "--help"],
            "show_default": True,
            "max_content_width": 100,
        },
        epilog="Exit codes: 0 done, 1 failed, 2 changes pending (where asked for), 3 bad usage or input, "
        "4 proved infeasible, 5 undecided or incomplete, 6 plan stale, 7 carried out in part, "
        "130 interrupted.",
    )


def main(arguments: Sequence[str], common: Common) -> int:
    """Run the program.

    Args:
        arguments: the command line without the program's name.
        common: streams, clock and environment; filled with the common options.

    Returns:
        The exit code; messages have been written to ``common.stderr``.
    """
    try:
        code = root().main(list(arguments), prog_name=PROGRAM, standalone_mode=False, obj=common)
        common.stdout.flush()
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            return failure.PIPE_CLOSED
        # click writes help and version itself.
        closed = error.errno == errno.EBADF and error.filename is None
        told = standard_streams.cannot_write(error) if closed else error
        return failure.report(told, common.stderr, debug=common.debug)
    except SystemExit as error:
        return error.code if isinstance(error.code, int) else failure.FAILED
    except BaseException as error:
        return failure.report(error, common.stderr, debug=common.debug)
    return code if isinstance(code, int) else failure.OK


def run() -> NoReturn:
    """Run the program on this process's arguments and exit."""
    signal.signal(signal.SIGTERM, _terminate)
    standard_streams.prepare()
    if "_VPLACER_COMPLETE" in os.environ:
        from vplacer.cli.completion import register

        register()
    common = Common(environ=os.environ)
    code = main(sys.argv[1:], common)
    if code == failure.PIPE_CLOSED:
        standard_streams.drop_output()
    try:
        standard_streams.close_output()
    except BrokenPipeError:
        code = failure.PIPE_CLOSED
    except VplacerError as error:
        # What ended the run has been told already, and may be this.
        code = code or failure.report(error, common.stderr, debug=common.debug)
    sys.exit(code)


def _terminate(number: int, frame: FrameType | None) -> NoReturn:
    """Unwind on SIGTERM as on any exit: sessions are logged out, servers stopped, half files removed."""
    del number, frame
    raise SystemExit(failure.TERMINATED)
