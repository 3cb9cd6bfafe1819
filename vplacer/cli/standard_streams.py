"""The process's standard streams: whatever cannot be written to them is found out and told."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import sys
from typing import TextIO

from vplacer.errors import OutputError


def cannot_write(error: OSError) -> OutputError:
    """Return the error for a result that standard output did not take whole."""
    why = "it is closed" if error.errno == errno.EBADF else error.strerror
    return OutputError("cannot be written", obj="standard output", why=why)


def prepare() -> None:
    """Make the standard streams ones that tell when they cannot be written."""
    # Python has no stream for a descriptor that is closed (`>&-`), and the next file opened would get
    # its number. One that may not be written takes its place on standard output: writing fails as it
    # must. What goes to a closed standard error is lost, there is nobody to tell.
    sys.stdout = sys.stdout or _stand_in(1, os.O_RDONLY)
    sys.stderr = sys.stderr or _stand_in(2, os.O_WRONLY)
    sys.stdout = _buffered(sys.stdout)
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, ValueError):
            # A name that the terminal's encoding lacks is no reason to fail.
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]


def close_output() -> None:
    """Write out and close standard output; some disks tell only then that they are full.

    Raises:
        OutputError: it did not take everything.
        BrokenPipeError: its reader has gone.
    """
    try:
        sys.stdout.close()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise cannot_write(error) from None


def drop_output() -> None:
    """Let the interpreter flush standard output, which cannot be written, without a complaint."""
    with contextlib.suppress(OSError, ValueError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, sys.stdout.fileno())
        os.close(null)


def _stand_in(descriptor: int, flags: int) -> TextIO:
    null = os.open(os.devnull, flags)
    if null != descriptor:
        os.dup2(null, descriptor)
        os.close(null)
    return open(descriptor, "w", encoding="utf-8", closefd=False)


def _buffered(stream: TextIO) -> TextIO:
    """Return a stream that writes everything or fails.

    With PYTHONUNBUFFERED the text goes to the descriptor as it is, and a disk or pipe that takes only a
    part of it goes unnoticed.
    """
    raw = getattr(stream, "buffer", None)
    if not isinstance(stream, io.TextIOWrapper) or not isinstance(raw, io.RawIOBase):
        return stream
    encoding, errors = stream.encoding, stream.errors
    stream.detach()
    return io.TextIOWrapper(io.BufferedWriter(raw), encoding=encoding, errors=errors, line_buffering=True)
