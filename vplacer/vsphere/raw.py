"""What a vCenter answers, as plain values that belong to no SOAP library.

The parser (`vplacer.vsphere.parse`) makes these values and everything after it reads them, so a
different parser can take its place. Names of types and fields are those of the vSphere Web Services
API ("HostPciDevice", "numaNode"), not those of a language binding.

A value is one of: None (unset), bool, int, float, str (also enumerations, dates and base64 text),
`MoRef`, `Data`, or a list of these.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

Value: TypeAlias = Any

Progress: TypeAlias = Callable[[str, int, int | None], None]
"""Called with what is being read, how much is done, and the total where it is known."""


@dataclass(frozen=True, slots=True, order=True)
class MoRef:
    """A managed object reference: type (``HostSystem``) and id (``host-21``)."""

    type: str
    moid: str

    def __str__(self) -> str:
        return f"{self.type}:{self.moid}"


class Data:
    """A data object: its type and those fields the server sent.

    ``kinds`` is the type and all its base types, most specific first, as far as they are known: ask
    `is_a`, because a field declared as a base type holds any of its subtypes. The typed accessors
    return None for an unset field and also for one of another shape than asked for: what a caller
    cannot use is not known to it.
    """

    __slots__ = ("fields", "kinds", "type")

    def __init__(self, type_name: str, kinds: tuple[str, ...], fields: dict[str, Value]) -> None:
        self.type = type_name
        self.kinds = kinds
        self.fields = fields

    def __repr__(self) -> str:
        return f"Data({self.type}, {sorted(self.fields)})"

    def is_a(self, type_name: str) -> bool:
        """Whether this is of the type or of a known subtype of it."""
        return type_name in self.kinds

    def get(self, name: str) -> Value:
        """Return a field as it is; None = unset."""
        return self.fields.get(name)

    def text(self, name: str) -> str | None:
        """Return a string field; "" is a value, None is unset."""
        value = self.fields.get(name)
        return value if isinstance(value, str) else None

    def number(self, name: str) -> int | None:
        """Return an integer field, signed as it was sent."""
        value = self.fields.get(name)
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    def flag(self, name: str) -> bool | None:
        """Return a boolean field."""
        value = self.fields.get(name)
        return value if isinstance(value, bool) else None

    def data(self, name: str) -> Data | None:
        """Return a data object field."""
        value = self.fields.get(name)
        return value if isinstance(value, Data) else None

    def ref(self, name: str) -> MoRef | None:
        """Return a reference field."""
        value = self.fields.get(name)
        return value if isinstance(value, MoRef) else None

    def items(self, name: str) -> list[Data]:
        """Return the data objects of an array field; an unset array is an empty one."""
        return data_items(self.fields.get(name))

    def texts(self, name: str) -> list[str]:
        """Return the strings of an array field."""
        return [item for item in _as_list(self.fields.get(name)) if isinstance(item, str)]

    def numbers(self, name: str) -> list[int]:
        """Return the integers of an array field."""
        items = _as_list(self.fields.get(name))
        return [item for item in items if isinstance(item, int) and not isinstance(item, bool)]

    def refs(self, name: str) -> list[MoRef]:
        """Return the references of an array field."""
        return ref_items(self.fields.get(name))


def _as_list(value: Value) -> list[Value]:
    return value if isinstance(value, list) else []


def data_items(value: Value) -> list[Data]:
    """Return the data objects of a list value; anything else is an empty list."""
    return [item for item in _as_list(value) if isinstance(item, Data)]


def ref_items(value: Value) -> list[MoRef]:
    """Return the references of a list value; anything else is an empty list."""
    return [item for item in _as_list(value) if isinstance(item, MoRef)]


@dataclass(frozen=True, slots=True)
class RawObject:
    """The properties read of one managed object, by property path.

    Built on `Data`, so the typed accessors serve here too: ``host.props.text("name")``.
    """

    ref: MoRef
    props: Data


@dataclass(frozen=True, slots=True)
class Missing:
    """A property the server could not or would not give, and the fault it gave instead."""

    ref: MoRef
    path: str
    fault: Data


@dataclass(frozen=True, slots=True)
class RawAnswer:
    """What was read of one type of object.

    ``missing`` is not empty where the picture is incomplete. ``unknown_paths`` are those the server
    does not know at all (it is older than the path, or is a simulator).
    """

    objects: tuple[RawObject, ...] = ()
    missing: tuple[Missing, ...] = ()
    unknown_paths: tuple[str, ...] = ()


@dataclass(slots=True)
class Notes:
    """What a parser left out because it does not know it, each said once."""

    seen: dict[str, int] = field(default_factory=dict)

    def add(self, note: str) -> None:
        """Count a note."""
        self.seen[note] = self.seen.get(note, 0) + 1

    def sorted(self) -> tuple[str, ...]:
        """Return the notes, each once."""
        return tuple(sorted(self.seen))


class RawReader(Protocol):
    """Anything that reads a vCenter and answers in raw values."""

    def retrieve(self, kind: str, paths: Sequence[str]) -> RawAnswer:
        """Read the paths of every object of a type."""
        ...

    def properties(self, refs: Sequence[MoRef], paths: Sequence[str]) -> RawAnswer:
        """Read the paths of the given objects, which are all of one type."""
        ...

    def call(self, ref: MoRef, method: str, arguments: Mapping[str, object] | None = None) -> Value:
        """Invoke a method that only reads, by its API name, and return its result."""
        ...
