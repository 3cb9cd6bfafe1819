"""The SQLite file of a history: opened safely, brought to the newest version, closed again.

Each use is one transaction that takes the write lock at once, so that two audits at a time wait for each
other; the rollback journal rather than WAL, which needs shared memory that network drives have not.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from vplacer.errors import FileFormatError, NewerFormatError, OutputError, UnknownObjectError
from vplacer.inventory.files import output_error

WAIT_S: Final = 60
"""How long another writer is waited for."""
APPLICATION_ID: Final = int.from_bytes(b"vpla", "big")
MIGRATIONS: Final[tuple[str, ...]] = (
    """
    CREATE TABLE vcenters (uuid TEXT PRIMARY KEY, name TEXT NOT NULL);
    CREATE TABLE audits (
        vcenter TEXT NOT NULL REFERENCES vcenters, taken_at TEXT NOT NULL, complete INTEGER NOT NULL,
        errors INTEGER NOT NULL, warnings INTEGER NOT NULL, notes INTEGER NOT NULL,
        waived INTEGER NOT NULL, new INTEGER NOT NULL, gone INTEGER NOT NULL,
        PRIMARY KEY (vcenter, taken_at));
    CREATE TABLE findings (
        vcenter TEXT NOT NULL REFERENCES vcenters, fingerprint TEXT NOT NULL,
        first_seen TEXT NOT NULL, last_seen TEXT NOT NULL, gone_at TEXT,
        rule TEXT NOT NULL, name TEXT NOT NULL, severity TEXT NOT NULL, waived INTEGER NOT NULL,
        text TEXT NOT NULL, places TEXT NOT NULL, vm TEXT, host TEXT, cluster TEXT,
        PRIMARY KEY (vcenter, fingerprint, first_seen));
    CREATE INDEX findings_gone ON findings (vcenter, gone_at);
    """,
)
"""What makes each version from the one before; a file's ``user_version`` is how many were applied.

Times are ISO 8601 UTC. A finding that comes again after it was gone is another row.
"""


def check_history(path: Path) -> None:
    """Find out that a file is no history, before long work. Changes nothing; a file need not be there.

    Raises:
        FileFormatError: it is no history.
        NewerFormatError: a newer vplacer wrote it.
        UnknownObjectError: it cannot be read.
    """
    if path.exists():
        with reading(path):
            pass


@contextmanager
def reading(path: Path, migrations: Sequence[str] = MIGRATIONS) -> Iterator[sqlite3.Connection]:
    """Open a history to read it as it is. An empty file has version 0 and no tables.

    Raises:
        FileFormatError, NewerFormatError: see `check_history`.
        UnknownObjectError: there is no such file, or it cannot be read.
    """
    if not path.is_file():
        what = "this is a folder; a file is needed" if path.is_dir() else "there is no such file"
        raise UnknownObjectError(what, obj=str(path))
    try:
        uri = f"{path.resolve().as_uri()}?mode=ro"
        with contextlib.closing(sqlite3.connect(uri, uri=True, timeout=WAIT_S)) as connection:
            _version(connection, path, migrations)
            yield connection
    except sqlite3.DatabaseError as error:
        raise _unreadable(path, error) from None


@contextmanager
def writing(path: Path, migrations: Sequence[str] = MIGRATIONS) -> Iterator[sqlite3.Connection]:
    """Open a history, made if it is not there (mode 0600), for one transaction.

    What was done is kept if the block ends well, and nothing of it otherwise.

    Raises:
        FileFormatError, NewerFormatError: see `check_history`.
        OutputError: it cannot be written, or another writer does not end.
    """
    try:
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    except OSError as error:
        raise output_error(path, error) from None
    try:
        with contextlib.closing(sqlite3.connect(path, timeout=WAIT_S, isolation_level=None)) as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                _migrate(connection, path, migrations)
                yield connection
            except BaseException:
                connection.execute("ROLLBACK")
                raise
            connection.execute("COMMIT")
    except sqlite3.OperationalError as error:
        raise OutputError(
            "the history cannot be written",
            obj=str(path),
            why=str(error),
            hint=f"another run has held it for {WAIT_S} s" if "locked" in str(error) else None,
        ) from None
    except sqlite3.DatabaseError as error:
        raise _unreadable(path, error) from None


def _migrate(connection: sqlite3.Connection, path: Path, migrations: Sequence[str]) -> None:
    version = _version(connection, path, migrations)
    for migration in migrations[version:]:
        # executescript would commit: the statements must stay within the transaction.
        for statement in migration.split(";"):
            if statement.strip():
                connection.execute(statement)
    if version < len(migrations):
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {len(migrations)}")


def _version(connection: sqlite3.Connection, path: Path, migrations: Sequence[str]) -> int:
    (mark,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if mark != APPLICATION_ID and (tables or version or mark):
        raise FileFormatError(
            "not a history of audits", path=str(path), why="it is the database of another program"
        )
    if version > len(migrations):
        raise NewerFormatError(
            f"history format {version} is newer than this version reads",
            obj=str(path),
            why=f"this version reads up to format {len(migrations)}",
            hint="upgrade vplacer",
        )
    return int(version)


def _unreadable(path: Path, error: sqlite3.DatabaseError) -> FileFormatError:
    return FileFormatError(
        "not a history of audits",
        path=str(path),
        why=str(error),
        hint="`vplacer audit --history FILE` makes one; a damaged one is best restored from a backup",
    )
