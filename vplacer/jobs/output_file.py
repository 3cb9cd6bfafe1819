"""Finding out before long work that a result could not, or must not, be written afterwards."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

from vplacer.errors import OutputError, UsageError
from vplacer.inventory.files import output_error
from vplacer.jobs.file_kind import FileKind, kind_of


def check_output(path: Path, kind: FileKind, *, inputs: Iterable[Path] = (), force: bool = False) -> None:
    """Find out that a file cannot or must not be written. Leaves nothing behind.

    A file may be replaced by one of its own kind, and an empty one by any.

    Args:
        path: the file to be written.
        kind: what will be written.
        inputs: files that the run reads; none of them is ever replaced.
        force: a file of any kind may be replaced.

    Raises:
        UsageError: it is one of the inputs.
        OutputError: it is a file of another kind, or cannot be written.
    """
    refuse_inputs(path, inputs)
    check_writable(path)
    if force or not path.is_file():
        return
    try:
        if path.stat().st_size == 0 or kind_of(path) is kind:
            return
    except OSError as error:
        raise OutputError(
            f"exists already, and cannot be read to see whether it is {kind.value}",
            obj=str(path),
            why=error.strerror,
            hint="give another path; --force replaces the file",
        ) from None
    raise OutputError(
        f"exists already and is not {kind.value}",
        obj=str(path),
        hint="give another path; --force replaces the file",
    )


def refuse_inputs(path: Path, inputs: Iterable[Path]) -> None:
    """Refuse to write a file that the run reads.

    Raises:
        UsageError: it is one of the inputs, under this name or another.
    """
    for one in inputs:
        if _same(path, one):
            raise UsageError(
                "is read by this command, and would be overwritten by its output",
                obj=str(path),
                hint="give another path for the output",
            )


def refuse_one_file_twice(*paths: Path | None) -> None:
    """Refuse two outputs that go into one file; None = there is no such output.

    Raises:
        UsageError: they do.
    """
    given = [path for path in paths if path is not None]
    for position, path in enumerate(given):
        if any(path.resolve() == other.resolve() for other in given[:position]):
            raise UsageError("two outputs go into one file", obj=str(path), hint="give each its own path")


def _same(one: Path, other: Path) -> bool:
    try:
        return one.is_file() and one.samefile(other)
    except OSError:
        return False


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


def check_temporary_folder() -> None:
    """Find out that there is no place for the temporary files of a simulated vCenter.

    Raises:
        OutputError: no folder for temporary files can be written.
    """
    try:
        tempfile.gettempdir()
    except OSError:
        raise OutputError(
            "no folder for temporary files can be written",
            why="a simulated vCenter keeps its certificate in one while it runs",
            hint="set TMPDIR to a folder that can be written; plan, collect, topology and request read a "
            "site without a simulated vCenter with --from",
        ) from None
