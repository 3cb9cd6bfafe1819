"""The server's log of calls: who called what on which object, under which operation id."""

from __future__ import annotations

import threading
from collections import deque
from dataclasses import dataclass

from vplacer.lab.soap.faults import Harm

_LENGTH = 50_000


@dataclass(frozen=True, slots=True)
class CallRecord:
    """One call.

    ``method``: wire name. ``this``: id of the object, None where the request could not be read.
    ``operation``: the SOAP header operationID. ``user`` None = nobody was logged in. ``status``: of HTTP,
    500 = a fault. ``harm``: what the server did to the call on purpose.
    """

    method: str
    this: str | None
    operation: str | None
    user: str | None
    status: int
    harm: Harm | None


class CallLog:
    """The newest calls, the oldest first. Thread-safe."""

    def __init__(self) -> None:
        self._records: deque[CallRecord] = deque(maxlen=_LENGTH)
        self._lock = threading.Lock()

    def add(self, record: CallRecord) -> None:
        """Append a call."""
        with self._lock:
            self._records.append(record)

    def records(self, method: str | None = None) -> list[CallRecord]:
        """List the calls, of one method if given."""
        with self._lock:
            found = list(self._records)
        return [record for record in found if method is None or record.method == method]
