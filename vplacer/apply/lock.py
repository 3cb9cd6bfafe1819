"""One apply at a time to one vCenter from one machine.

A lock of the operating system on a file named after the vCenter: it ends with its process, so a killed
apply leaves none behind. Applies from other machines are noticed by what they change: see `executor`.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

from vplacer.errors import StaleError
from vplacer.inventory.files import output_error


def default_lock_folder() -> Path:
    """Return the folder of lock files, the same for all users of the machine."""
    return Path(tempfile.gettempdir()) / "vplacer-locks"


@contextlib.contextmanager
def apply_lock(instance_uuid: str, vcenter: str, who: str, folder: Path | None = None) -> Iterator[None]:
    """Hold the lock of a vCenter while the block runs.

    Args:
        instance_uuid: of the vCenter.
        vcenter: its name, for the message.
        who: what the holder does, a few words; another process is told.
        folder: where lock files are; None = `default_lock_folder`.

    Raises:
        StaleError: another process holds it.
        OutputError: no lock file can be made.
    """
    folder = folder or default_lock_folder()
    path = folder / (re.sub(r"[^0-9A-Za-z-]", "_", instance_uuid) + ".lock")
    try:
        handle = _open(folder, path)
    except OSError as error:
        raise output_error(path, error) from None
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(handle, 500, 0).decode("utf-8", "replace").strip()
            raise StaleError(
                "another apply to this vCenter is under way on this machine; nothing was changed",
                obj=vcenter,
                why=holder or None,
                hint="wait for it to end, then plan again",
            ) from None
        os.ftruncate(handle, 0)
        os.pwrite(handle, f"process {os.getpid()}: {who}\n".encode(), 0)
        yield
    finally:
        os.close(handle)


def _open(folder: Path, path: Path) -> int:
    """Open a lock file that all users of the machine may lock."""
    with contextlib.suppress(FileExistsError):
        folder.mkdir(mode=0o700)
        folder.chmod(0o1777)
    flags = os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC
    # A file of another user in a folder for all may be opened, but not with O_CREAT (Linux:
    # fs.protected_regular).
    try:
        return os.open(path, flags)
    except FileNotFoundError:
        handle = os.open(path, flags | os.O_CREAT, 0o600)
        try:
            os.fchmod(handle, 0o666)
        except OSError:
            os.close(handle)
            raise
        return handle
