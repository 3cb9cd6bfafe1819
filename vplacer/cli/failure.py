"""How a run ends: the exit code and the message of every error. Nobody sees a traceback unasked."""

from __future__ import annotations

import re
import signal
import traceback
from typing import TextIO

import click
from click.core import ParameterSource

from vplacer.cli.common import Common
from vplacer.errors import InternalError, VplacerError

OK = 0
FAILED = 1
CHANGES = 2
BAD_USAGE = 3
INFEASIBLE = 4
UNDECIDED = 5
STALE = 6
STOPPED = 7
INTERRUPTED = 128 + signal.SIGINT
TERMINATED = 128 + signal.SIGTERM
PIPE_CLOSED = 128 + 13
"""What a shell shows for a program that SIGPIPE ended."""


def report(error: BaseException, stderr: TextIO, *, debug: bool) -> int:
    """Write the message of an error and return the exit code.

    Args:
        error: what ended the run.
        stderr: where the message goes.
        debug: write the traceback too.
    """
    if debug and not isinstance(error, click.exceptions.Exit):
        traceback.print_exception(error, file=stderr)
    if isinstance(error, VplacerError):
        say(stderr, error.render())
        stderr.write(f"  code: {type(error).__name__}, exit {error.exit_code}\n")
        if isinstance(error, InternalError):
            say_defect(stderr, debug=debug)
        return error.exit_code
    if isinstance(error, click.Abort | KeyboardInterrupt | EOFError):
        stderr.write("interrupted\n")
        return INTERRUPTED
    if isinstance(error, click.ClickException):
        return _usage(error, stderr)
    if isinstance(error, OSError) and error.strerror:
        # Full disks, lost permissions, too many open files: conditions that any line of code can meet.
        say(stderr, f"{error.filename or 'this machine'}: {error.strerror}")
        return FAILED
    if isinstance(error, MemoryError):
        say(stderr, "this machine has not enough memory for it")
        return FAILED
    say(stderr, f"{type(error).__name__}: {_first_line(error)}")
    say_defect(stderr, debug=debug)
    return FAILED


def say(stderr: TextIO, text: str) -> None:
    """Write an error message."""
    stderr.write(f"Error: {text}\n")


def say_defect(stderr: TextIO, *, debug: bool) -> None:
    """Tell that the fault is ours, and what to send us."""
    how = (
        "report it with the lines above" if debug else "run it again with --debug and report what that prints"
    )
    stderr.write(f"  This is a defect of vplacer, not of your input.\n  next: {how}\n")


def _usage(error: click.ClickException, stderr: TextIO) -> int:
    context = error.ctx if isinstance(error, click.UsageError) else None
    if context is not None and context.command.no_args_is_help and not error.format_message().strip("."):
        stderr.write(context.get_help() + "\n")
        return BAD_USAGE
    message = error.format_message()
    if message.startswith("Usage:"):  # a group without a command: the message is its help
        stderr.write(message + "\n")
        return BAD_USAGE
    say(stderr, re.sub(r"\.$", "", message))
    if variable := _variable(error, context):
        stderr.write(f"  set by the environment variable {variable}\n")
    if context is not None:
        stderr.write(f"  next: {context.command_path} --help\n")
    return BAD_USAGE


def _variable(error: click.ClickException, context: click.Context | None) -> str | None:
    """Return the environment variable that a refused value comes from; None = it comes from elsewhere."""
    param = error.param if isinstance(error, click.BadParameter) else None
    if context is None or not isinstance(param, click.Option) or not param.name:
        return None
    if context.get_parameter_source(param.name) is not ParameterSource.ENVIRONMENT:
        return None
    given = [param.envvar] if isinstance(param.envvar, str) else list(param.envvar or ())
    names = [*given, f"{context.auto_envvar_prefix}_{param.name.upper()}"]
    environ = context.obj.environ if isinstance(context.obj, Common) else {}
    return next((name for name in names if environ.get(name)), None)


def _first_line(error: BaseException) -> str:
    lines = str(error).splitlines()
    return lines[0] if lines else "no message"
