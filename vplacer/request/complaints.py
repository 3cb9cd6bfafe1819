"""Gathers what is wrong with a request while it is matched with an inventory, to tell all of it at once."""

from __future__ import annotations

from typing import Any, Protocol

from vplacer.errors import AmbiguousObjectError, FileFormatError, RequestError, UnknownObjectError
from vplacer.inventory.yaml_marks import Document, Pointer, pointer_text
from vplacer.request.demand import SourceLine

_MAX_SHOWN = 50


class Placed(Protocol):
    """A file whose parts have places to point at."""

    @property
    def document(self) -> Document:
        """The document it was read from."""

    @property
    def data(self) -> Any:
        """The document as plain values."""

    def place(self, pointer: Pointer) -> str:
        """Return ``file:line:column`` of a pointer."""

    def source_line(self, pointer: Pointer) -> SourceLine:
        """Return file and line of a pointer."""


class Complaints:
    """Faults found so far, each at a place of one file."""

    def __init__(self, request: Placed) -> None:
        self.request = request
        self.errors: list[RequestError] = []
        self._said: set[str] = set()

    def unknown(self, pointer: Pointer, what: str, hint: str | None = None) -> None:
        """Note a name that matches nothing."""
        self._add(UnknownObjectError(what, obj=self._place(pointer), hint=hint))

    def ambiguous(self, pointer: Pointer, what: str, hint: str | None = None) -> None:
        """Note a name that matches more than one object."""
        self._add(AmbiguousObjectError(what, obj=self._place(pointer), hint=hint))

    def wrong(self, pointer: Pointer, what: str, hint: str | None = None) -> None:
        """Note a contradiction that only the inventory shows."""
        self._add(self.request.document.error(pointer, what, hint=hint))

    def raise_all(self) -> None:
        """Raise the first fault with all others below it; do nothing where there is none.

        Raises:
            UnknownObjectError, AmbiguousObjectError, FileFormatError: after the first fault found.
        """
        if not self.errors:
            return
        first = self.errors[0]
        if len(self.errors) == 1:
            raise first
        lines = [error.render() for error in self.errors[:_MAX_SHOWN]]
        if len(self.errors) > _MAX_SHOWN:
            lines.append(f"and {len(self.errors) - _MAX_SHOWN} more")
        text = "\n".join(lines)
        if isinstance(first, FileFormatError):
            place = first.obj or first.path
            raise FileFormatError(
                text.removeprefix(f"{place}: "), path=first.path, line=first.line, column=first.column
            )
        raise type(first)(text)

    def _add(self, error: RequestError) -> None:
        text = error.render()
        if text not in self._said:
            self._said.add(text)
            self.errors.append(error)

    def _place(self, pointer: Pointer) -> str:
        return f"{self.request.place(pointer)}: {pointer_text(pointer)}"
