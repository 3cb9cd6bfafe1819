"""Recorded sessions: every HTTP exchange with a vCenter in one file, without its secrets.

vcrpy stands in for the HTTP library while a session is recorded or replayed; its cassette format is
kept (JSON, gzip by file name), so its tools read the files. What differs from vcrpy's defaults, each
for a reason:

- A request is matched by method, path, query and body. Every SOAP call is a POST to /sdk: by its
  address alone a call would get the answer to another one.
- Host and port are not matched, but come from the file, so that a replay names the same vCenter.
- Only the HTTP standard library is patched, and its patches are undone before anything is written:
  a failing save must not leave them behind.
- vcrpy's patches are global and not safe in threads: everything runs in the one thread that began.
"""

from __future__ import annotations

import contextlib
import gzip
import json
import logging
import os
import tempfile
import threading
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from vplacer.errors import FileFormatError, InternalError, NewerFormatError, OutputError, UsageError
from vplacer.vsphere.address import DEFAULT_PORT, Address
from vplacer.vsphere.credentials import Credentials
from vplacer.vsphere.scrub import Scrubber, describe_request
from vplacer.vsphere.secret import Secret

if TYPE_CHECKING:
    from vcr.cassette import Cassette

_FORMAT_VERSION = 1
_REQUEST_KEYS: Final = frozenset({"method", "uri", "headers", "body"})
_OTHER_LIBRARIES = (
    "requests",
    "boto3",
    "urllib3",
    "httplib2",
    "tornado",
    "aiohttp",
    "httpx",
    "httpx2",
)


@dataclass(frozen=True, slots=True)
class Recorded:
    """What a recorded session tells of its vCenter, to connect to it again."""

    address: Address
    api_version: str

    @property
    def credentials(self) -> Credentials:
        """Credentials that open the replayed session: any do."""
        return Credentials("replay", Secret("replay"), "the recorded session", "the recorded session")


@contextlib.contextmanager
def recording(path: Path, credentials: Credentials) -> Iterator[None]:
    """Record every HTTP exchange of this thread's vCenter sessions into a file.

    The file is written when the block ends, also after an error: a recording of a failure is worth
    most. An existing file is replaced.

    Args:
        path: ``.json.gz`` for a compressed file, else plain JSON.
        credentials: what the session is opened with, to take it out of the recording.

    Raises:
        OutputError: the file cannot be written; found out before anything is recorded, if possible.
    """
    scrubber = Scrubber(names=(credentials.user,), secrets=(credentials.password,))
    temporary = _temporary_beside(path)
    try:
        patched = _patched_cassette(path, scrubber, replay=None)
        try:
            with patched:
                yield
        except BaseException as error:
            try:
                _save(temporary, path, patched.cassette)
            except OutputError as failed:
                error.add_note(str(failed))
            raise
        _save(temporary, path, patched.cassette)
    finally:
        temporary.unlink(missing_ok=True)


@contextlib.contextmanager
def replaying(path: Path) -> Iterator[Recorded]:
    """Answer every HTTP request of this thread from a recorded session. Nothing goes over the network.

    Connect with the address and the API version given, in this thread, and with any credentials.

    Raises:
        UsageError: the file cannot be opened, or (inside the block) a call was not recorded.
        FileFormatError: the file is cut off or is no recorded session.
        NewerFormatError: a newer vplacer wrote it.
    """
    document = _read(path)
    recorded = _describe(document, path)
    with _patched_cassette(path, Scrubber(), replay=document):
        yield recorded


class _Patched(contextlib.AbstractContextManager["_Patched"]):
    """vcrpy's patches around one cassette. vcrpy itself never loads or saves here."""

    def __init__(self, cassette_class: Any, arguments: dict[str, Any], path: Path) -> None:
        self._use = cassette_class.use(path=str(path), skip_patchers=_OTHER_LIBRARIES, **arguments)
        self._quiet = contextlib.ExitStack()
        self.cassette: Any = None

    def __enter__(self) -> _Patched:
        # vcrpy logs whole answers, cookies included.
        self._quiet.enter_context(_silenced(logging.getLogger("vcr")))
        try:
            self.cassette = self._use.__enter__()
        except BaseException:
            self._quiet.close()
            raise
        return self

    def __exit__(self, *exc_info: object) -> None:
        with self._quiet:
            self._use.__exit__(*exc_info)


@contextlib.contextmanager
def _silenced(logger: logging.Logger) -> Iterator[None]:
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(level)


def _patched_cassette(path: Path, scrubber: Scrubber, *, replay: dict[str, Any] | None) -> _Patched:
    from vcr.record_mode import RecordMode

    class OurCassette(_cassette_class()):  # type: ignore[misc]
        file = path
        document = replay
        owner = threading.get_ident()

    arguments = {
        "record_mode": RecordMode.ALL if replay is None else RecordMode.NONE,
        "before_record_request": scrubber.request,
        "before_record_response": scrubber.response,
    }
    return _Patched(OurCassette, arguments, path)


def _cassette_class() -> type[Cassette]:
    """Return vcrpy's cassette with our matching and without its file handling (vcrpy loads lazily)."""
    from vcr.cassette import Cassette
    from vcr.request import Request
    from vcr.serialize import compat

    class ExactCassette(Cassette):  # type: ignore[misc]
        """Answers each request with what was recorded for the same request, in the order of recording.

        After the last of several different answers to one request, the last is repeated.
        """

        file: Path
        document: dict[str, Any] | None
        owner: int

        def _load(self) -> None:
            self._index: dict[tuple[object, ...], list[int]] = {}
            for entry in (self.document or {}).get("interactions", ()):
                self.append(Request._from_dict(entry["request"]), compat.convert_to_bytes(entry["response"]))
            self.dirty = False
            self.rewound = True

        def _save(self, force: bool = False) -> None:
            """Write nothing: the file is written after the patches are undone."""

        def append(self, request: Any, response: Any) -> None:
            self._check_thread()
            before = len(self.data)
            super().append(request, response)
            for position in range(before, len(self.data)):
                self._index.setdefault(_key(self.data[position][0]), []).append(position)

        def can_play_response_for(self, request: Any) -> bool:
            self._check_thread()
            if self.document is None:
                return False
            if _key(self._before_record_request(request)) not in self._index:
                raise UsageError(
                    f"the recorded session has no answer for {describe_request(request)}",
                    obj=str(self.file),
                    why="it was recorded by another command, or by another version of vplacer",
                    hint="record it again with --record",
                )
            return True

        def play_response(self, request: Any) -> Any:
            positions = self._index[_key(self._before_record_request(request))]
            unplayed = [position for position in positions if self.play_counts[position] == 0]
            position = unplayed[0] if unplayed else positions[-1]
            self.play_counts[position] += 1
            return self.data[position][1]

        def _check_thread(self) -> None:
            if threading.get_ident() != self.owner:
                raise InternalError("a recorded session was used from a second thread")

    return ExactCassette


def _key(request: Any) -> tuple[object, ...]:
    return (request.method, request.path, tuple(request.query), request.body or b"")


def _temporary_beside(path: Path) -> Path:
    """Make the file that will take the path's place: whether it can be written is known at once."""
    try:
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    except OSError as error:
        raise _cannot_write(path, error) from None
    os.close(handle)
    return Path(name)


def _save(temporary: Path, path: Path, cassette: Any) -> None:
    from vcr.serialize import serialize
    from vcr.serializers import jsonserializer

    if cassette is None or not cassette.data:
        return
    content = serialize(cassette._as_dict(), jsonserializer).encode()
    try:
        temporary.write_bytes(gzip.compress(content, mtime=0) if path.name.endswith(".gz") else content)
        temporary.replace(path)
    except OSError as error:
        raise _cannot_write(path, error) from None


def _cannot_write(path: Path, error: OSError) -> OutputError:
    return OutputError("cannot write the recording", obj=str(path), why=error.strerror)


def _read(path: Path) -> dict[str, Any]:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UsageError("cannot open the recorded session", obj=str(path), why=error.strerror) from None
    hint = "give a file that --record wrote"
    try:
        if content.startswith(b"\x1f\x8b"):
            content = gzip.decompress(content)
        document = json.loads(content)
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise FileFormatError("the file is cut off or damaged", path=str(path), hint=hint) from None
    except (ValueError, RecursionError):
        raise FileFormatError("not a recorded session", path=str(path), hint=hint) from None
    if not isinstance(document, dict) or not isinstance(document.get("interactions"), list):
        raise FileFormatError("not a recorded session", path=str(path), hint=hint)
    version = document.get("version")
    if isinstance(version, int) and version > _FORMAT_VERSION:
        raise NewerFormatError(f"recorded in format {version}", obj=str(path), hint="upgrade vplacer")
    for number, entry in enumerate(document["interactions"]):
        if not _is_interaction(entry):
            raise FileFormatError(
                "not a recorded exchange", path=str(path), pointer=f"interactions[{number}]", hint=hint
            )
    return document


def _is_interaction(entry: object) -> bool:
    try:
        request, response = entry["request"], entry["response"]  # type: ignore[index]
        return (
            request.keys() <= _REQUEST_KEYS
            and isinstance(request["method"], str)
            and isinstance(request["uri"], str)
            and _are_headers(request["headers"])
            and isinstance(request["body"], str | None)
            and isinstance(response["status"]["code"], int)
            and isinstance(response["status"]["message"], str)
            and _are_headers(response["headers"])
            and isinstance(response["body"]["string"], str)
        )
    except (AttributeError, KeyError, TypeError):
        return False


def _are_headers(value: object) -> bool:
    """Whether a value is headers: a text by name, or a list of texts with one at least."""
    if not isinstance(value, dict):
        return False
    return all(
        isinstance(item, str) or (isinstance(item, list) and item and all(isinstance(x, str) for x in item))
        for item in value.values()
    )


def _address(uri: str, path: Path) -> Address | None:
    try:
        parts = urlsplit(uri)
        return Address(parts.hostname, parts.port or DEFAULT_PORT) if parts.hostname else None
    except ValueError as error:
        raise FileFormatError("a recorded address is none", path=str(path), why=str(error)) from None


def _describe(document: dict[str, Any], path: Path) -> Recorded:
    address = None
    for entry in document["interactions"]:
        request = entry["request"]
        if address is None:
            address = _address(request["uri"], path)
        for name, values in request["headers"].items():
            if name.lower() == "soapaction" and address is not None:
                value = values[0] if isinstance(values, list) and values else values
                version = str(value).strip('"').rpartition("/")[2]
                return Recorded(address, version)
    raise FileFormatError("records no call to a vCenter", path=str(path), hint="record it again")
