"""Finding out before long work that a result could not be written afterwards."""

from __future__ import annotations

import errno
import os
import tempfile
from pathlib import Path

from vplacer.inventory.files import output_error


def check_writable(path: Path) -> None:
    """Find out that a file cannot be written. Leaves nothing behind.

    Raises:
        OutputError: it cannot be.
    """
    try:
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if path.exists() and not path.is_file():
            return  # a device or a pipe
        with tempfile.TemporaryFile(dir=path.resolve().parent):
            pass
    except OSError as error:
        raise output_error(path, error) from None
