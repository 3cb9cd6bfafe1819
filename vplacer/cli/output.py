"""Where results and remarks go: data to standard output, everything else to standard error."""

from __future__ import annotations

from collections.abc import Sized

from vplacer.cli import failure
from vplacer.cli.common import Common
from vplacer.cli.standard_streams import cannot_write


def count(things: Sized | int, word: str) -> str:
    """Return how many there are, in words: "1 host", "2 hosts"."""
    number = things if isinstance(things, int) else len(things)
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


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
        raise cannot_write(error) from None


def remark(common: Common, text: str) -> None:
    """Write a remark to standard error, unless --quiet."""
    if not common.quiet:
        common.stderr.write(text + "\n")
        common.stderr.flush()


def warn(common: Common, text: str) -> None:
    """Write a warning to standard error, also with --quiet."""
    common.stderr.write(f"Warning: {text}\n")
    common.stderr.flush()
