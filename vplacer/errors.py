"""Every error vplacer shows to a user, in one tree split by blame.

    VplacerError
    ├── RequestError              the person's input is wrong            exit 3
    │   ├── UsageError            options, configuration
    │   ├── FileFormatError       a file does not parse or validate (carries file:line)
    │   ├── NewerFormatError      a file was written by a newer vplacer
    │   ├── UnknownObjectError    a name matches nothing
    │   ├── AmbiguousObjectError  a name matches more than one object
    │   ├── ConsentMissing        an apply lacks a consent
    │   └── OutputError           an output file cannot be written       exit 1
    ├── VSphereError              the vCenter said no                    exit 1
    │   ├── ConnectionFailed      name, route, refused, time-out
    │   ├── AnswerLost            the connection broke under a change
    │   ├── CertificateRejected   TLS verification failed
    │   ├── LoginFailed           user or password
    │   ├── SessionLost           the session ended under us
    │   ├── ApiTooOld             below API 8.0.0.1
    │   ├── PermissionMissing     a privilege is missing
    │   └── VSphereFault          any other fault, quoted
    ├── LimitReached              time, work or completeness             exit 5
    │   └── InventoryIncomplete
    ├── StaleError                the world moved under a plan           exit 6
    ├── ApplyStopped              a plan was carried out in part         exit 7
    └── InternalError             our bug                                exit 1
        └── CatalogueError        an entry of the hardware catalogue

An error says what happened, on which object, why, and what to do next. It never holds a secret:
whoever raises one passes names and numbers, not request bodies.
"""

from __future__ import annotations

from typing import ClassVar


class VplacerError(Exception):
    """Base of all errors. Abstract: raise a leaf.

    Args:
        what: what happened, one sentence without a full stop at the end.
        obj: the object it happened on, as the user knows it (VM name, file, host).
        why: the cause, or the quoted text of a fault.
        hint: what to do next.
    """

    exit_code: ClassVar[int] = 1

    def __init__(
        self, what: str, *, obj: str | None = None, why: str | None = None, hint: str | None = None
    ) -> None:
        self.what = what
        self.obj = obj
        self.why = why
        self.hint = hint
        super().__init__(self.render())

    def render(self) -> str:
        """Return the message as shown: ``object: what: why`` and a second line ``next: hint``."""
        head = f"{self.obj}: {self.what}" if self.obj else self.what
        if self.why:
            head = f"{head}: {self.why}"
        return f"{head}\n  next: {self.hint}" if self.hint else head


class RequestError(VplacerError):
    """The input is wrong; nothing was done."""

    exit_code = 3


class UsageError(RequestError):
    """Options or configuration contradict each other or are not usable."""


class FileFormatError(RequestError):
    """A file does not parse or does not validate.

    Args:
        what: the fault found.
        path: the file.
        line: 1-based line, where known.
        column: 1-based column, where known.
        pointer: path inside the document (``vms[2].gpus.count``), where known.
    """

    def __init__(
        self,
        what: str,
        *,
        path: str,
        line: int | None = None,
        column: int | None = None,
        pointer: str | None = None,
        why: str | None = None,
        hint: str | None = None,
    ) -> None:
        self.path = path
        self.line = line
        self.column = column
        self.pointer = pointer
        place = path
        if line is not None:
            place = f"{path}:{line}" if column is None else f"{path}:{line}:{column}"
        if pointer:
            what = f"{pointer}: {what}"
        super().__init__(what, obj=place, why=why, hint=hint)


class NewerFormatError(RequestError):
    """A file was written by a newer vplacer than this one."""


class UnknownObjectError(RequestError):
    """A name in the request matches nothing in the inventory."""


class AmbiguousObjectError(RequestError):
    """A name in the request matches more than one object; the message lists them."""


class OutputError(RequestError):
    """An output file cannot be written (read-only disk, missing folder, no space)."""

    exit_code = 1


class VSphereError(VplacerError):
    """The vCenter, or the way to it, said no."""


class ConnectionFailed(VSphereError):
    """Unknown name, no route, refused, or no answer in time."""


class AnswerLost(VSphereError):
    """The connection broke while a change was under way: nobody knows whether the server did it."""


class CertificateRejected(VSphereError):
    """The server's certificate does not verify."""


class LoginFailed(VSphereError):
    """User name or password were not accepted."""


class SessionLost(VSphereError):
    """The session ended while it was needed and could not be renewed."""


class ApiTooOld(VSphereError):
    """The server's API is older than what vplacer needs (8.0.0.1)."""


class PermissionMissing(VSphereError):
    """The account lacks a privilege; the message names it and the object."""


class VSphereFault(VSphereError):
    """Any other fault; ``fault_type`` is its wire name, ``why`` quotes its text."""

    def __init__(
        self,
        what: str,
        *,
        fault_type: str,
        obj: str | None = None,
        why: str | None = None,
        hint: str | None = None,
    ) -> None:
        self.fault_type = fault_type
        super().__init__(what, obj=obj, why=f"{fault_type}: {why}" if why else fault_type, hint=hint)


class LimitReached(VplacerError):
    """A limit of time, work or knowledge was reached before an answer was found."""

    exit_code = 5


class InventoryIncomplete(LimitReached):
    """Part of the inventory could not be read; planning on it needs --allow-incomplete."""


class ConsentMissing(RequestError):
    """What would be done needs a consent that was not given; nothing was done."""


class ApplyStopped(VplacerError):
    """A plan was carried out in part; the message names the journal and what to do next."""

    exit_code = 7


class StaleError(VplacerError):
    """What a plan was decided on has changed since; nothing was done."""

    exit_code = 6


class InternalError(VplacerError):
    """A defect of vplacer itself. Never shown as a result of the request."""


class CatalogueError(InternalError):
    """An entry of the hardware catalogue is wrong.

    Args:
        file: the file's name.
        where: the entry and the key; "" = the whole file.
        what: the fault found.
    """

    def __init__(self, file: str, where: str, what: str) -> None:
        super().__init__(what, obj=f"{file}: {where}" if where else file)
