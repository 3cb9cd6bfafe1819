"""Where results and remarks go: data to standard output, everything else to standard error."""

from __future__ import annotations

from vplacer.cli import failure
from vplacer.cli.common import Common
from vplacer.errors import OutputError


def emit(common: Common, text: str) -> None:
    """Write a result to standard output, whole.

    Raises:
        OutputError: it cannot be written (disk full).
        SystemExit: the reader has gone; the run ends without a word.
    """
    try:
        common.stdout.write(text if text.endswith("\n") or not text else text + "\n")
        common.stdout.flush()
    except BrokenPipeError:
        raise SystemExit(failure.PIPE_CLOSED) from None
    except OSError as error:
        raise OutputError("cannot be written", obj="standard output", why=error.strerror) from None


def remark(common: Common, text: str) -> None:
    """Write a remark to standard error, unless --quiet."""
    if not common.quiet:
        common.stderr.write(text + "\n")
        common.stderr.flush()


def warn(common: Common, text: str) -> None:
    """Write a warning to standard error, also with --quiet."""
    common.stderr.write(f"Warning: {text}\n")
    common.stderr.flush()
