"""Writing files: whole or not at all, readable by their owner alone unless others must read them."""

from __future__ import annotations

import contextlib
import errno
import os
import tempfile
from pathlib import Path
from typing import Final

from vplacer.errors import OutputError

_HINTS: Final = {
    errno.EROFS: "the disk is read-only; give a path elsewhere",
    errno.ENOENT: "the folder does not exist; make it first",
    errno.ENOTDIR: "a part of the path is no folder",
    errno.EACCES: "you may not write there; give a path elsewhere",
    errno.EPERM: "you may not write there; give a path elsewhere",
    errno.ENOSPC: "the disk is full",
    errno.EISDIR: "it is a folder; give a file",
}


def output_error(path: Path, error: OSError) -> OutputError:
    """Return the error for a file that cannot be written, with what to do about it."""
    return OutputError(
        "cannot be written",
        obj=str(path),
        why=error.strerror or str(error),
        hint=_HINTS.get(error.errno or 0),
    )


def write_file(path: Path, content: bytes, mode: int = 0o600) -> None:
    """Write a file of a mode; an existing one is replaced only by a whole one.

    Devices and pipes are written to as they are; a symbolic link stays one.

    Raises:
        OutputError: it cannot be written.
    """
    try:
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if path.exists() and not path.is_file():
            path.write_bytes(content)
            return
        target = path.resolve()
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
                file.flush()
                os.chmod(name, mode)
                os.fsync(file.fileno())
            os.replace(name, target)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(name)
            raise
    except OSError as error:
        raise output_error(path, error) from None
