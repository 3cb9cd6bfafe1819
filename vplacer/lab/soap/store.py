"""Managed objects with their properties, each with a revision, and a log of what changed.

Values are never changed in place once stored: `Store.change` hands out a copy and puts it back. So a
reader may serialise a value without holding the lock.
"""

from __future__ import annotations

import copy
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias

from pyVmomi import vmodl

from vplacer.lab.soap.wire import typetable
from vplacer.lab.soap.wire.typetable import Ref, Value

_LOG_LENGTH = 20_000


@dataclass(frozen=True, slots=True)
class Lazy:
    """A value built when it is first read, then kept."""

    build: Callable[[], Value]


@dataclass(frozen=True, slots=True)
class Computed:
    """A value worked out at every read; it has no revision, so it is never cached."""

    read: Callable[[], Value]


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A value that cannot be read; the PropertyCollector reports the fault in ``missingSet``."""

    fault: vmodl.MethodFault


class Withheld(Exception):
    """An `Unreadable` value was asked for."""

    def __init__(self, fault: Any) -> None:
        super().__init__(typetable.wire_name(type(fault)))
        self.fault = fault


Held: TypeAlias = Any
"""What a property may be set to: a value, `Lazy`, `Computed` or `Unreadable`."""

Answer: TypeAlias = Callable[..., Value]
"""Answers a method for one object: called with the method's arguments by name."""


class Entry:
    """One managed object.

    ``answers`` maps the wire name of a method to what this very object answers, for methods whose
    answer is data of the site (``QueryConfigTarget``, ``RetrieveVgpuProfileInfo``, ...).
    """

    __slots__ = ("answers", "kept", "props", "ref", "revisions", "withheld")

    def __init__(
        self, ref: Ref, props: Mapping[str, Held], answers: Mapping[str, Answer] | None = None
    ) -> None:
        self.ref = ref
        self.props: dict[str, Held] = {}
        self.revisions: dict[str, int] = {}
        self.answers: Mapping[str, Answer] = answers or {}
        self.kept: dict[tuple[str, str], Any] = {}
        """Serialised values by path and version; see `fragments`."""
        self.withheld: dict[str, Any] = {}
        """Paths that cannot be read, each with its fault; set before the object is served."""
        for name, held in props.items():
            self.set(name, held, revision=1)

    def set(self, name: str, held: Held, revision: int) -> None:
        """Set a property; only the store calls this once the object is served.

        Raises:
            AttributeError: the object's class has no such property.
        """
        info = typetable.property_info(type(self.ref), name)
        if info is None:
            raise AttributeError(f"{typetable.wire_name(type(self.ref))} has no property {name}")
        plain = not isinstance(held, (Lazy, Computed, Unreadable))
        self.props[name] = typetable.coerce(held, info) if plain else held
        self.revisions[name] = revision

    def get(self, name: str) -> Value:
        """Read a property: None where it is unset.

        Raises:
            Withheld: the value is `Unreadable`.
        """
        held = self.props.get(name)
        if isinstance(held, Lazy):
            info = typetable.property_info(type(self.ref), name)
            held = self.props[name] = typetable.coerce(held.build(), info)
        if isinstance(held, Computed):
            return held.read()
        if isinstance(held, Unreadable):
            raise Withheld(held.fault)
        return held

    def withheld_fault(self, path: str) -> Any:
        """Return the fault for a path, if it, what it is part of, or a part of it, cannot be read."""
        for barred, fault in self.withheld.items():
            if (
                path == barred
                or path.startswith((f"{barred}.", f"{barred}["))
                or barred.startswith(f"{path}.")
            ):
                return fault
        return None

    def is_computed(self, name: str) -> bool:
        """Whether the property is worked out at every read."""
        return isinstance(self.props.get(name), Computed)


@dataclass(frozen=True, slots=True)
class Changed:
    """One line of the log: an object, and the property that changed or None (added or removed)."""

    revision: int
    moid: str
    name: str | None


class Store:
    """All managed objects of a site."""

    def __init__(self) -> None:
        self._entries: dict[str, Entry] = {}
        self._log: deque[Changed] = deque(maxlen=_LOG_LENGTH)
        self.changed = threading.Condition(threading.RLock())
        """Held while the objects change; notified after each change."""
        self.revision = 1

    def add(
        self,
        ref: Ref,
        props: Mapping[str, Held] | None = None,
        answers: Mapping[str, Answer] | None = None,
        *,
        silent: bool = False,
    ) -> Entry:
        """Add an object. ``silent``: nothing leads to it yet, so nobody who waits need look.

        Raises:
            ValueError: the id is taken.
        """
        moid = typetable.moid(ref)
        entry = Entry(ref, props or {}, answers)
        with self.changed:
            if moid in self._entries:
                raise ValueError(f"managed object id {moid} is taken")
            self._entries[moid] = entry
            revision = self.revision if silent else self._note(moid, None)
            entry.revisions = dict.fromkeys(entry.props, revision)
        return entry

    def remove(self, ref: Ref) -> None:
        """Remove an object."""
        with self.changed:
            del self._entries[typetable.moid(ref)]
            self._note(typetable.moid(ref), None)

    def find(self, ref: Ref) -> Entry | None:
        """Return the object a reference names, or None. The id and the class must both fit."""
        entry = self._entries.get(typetable.moid(ref))
        return entry if entry is not None and isinstance(entry.ref, type(ref)) else None

    def require(self, ref: Ref) -> Entry:
        """Return the object a reference names.

        Raises:
            vmodl.fault.ManagedObjectNotFound: there is none.
        """
        entry = self.find(ref)
        if entry is None:
            raise vmodl.fault.ManagedObjectNotFound(
                obj=ref, msg=f"The object '{typetable.moid(ref)}' has been deleted or has never existed"
            )
        return entry

    def entries(self, cls: Any = None) -> list[Entry]:
        """List objects in the order added, of one class if given."""
        with self.changed:
            found = list(self._entries.values())
        return found if cls is None else [e for e in found if isinstance(e.ref, cls)]

    def read(self, ref: Ref, name: str) -> Value:
        """Read a property of an object that exists."""
        with self.changed:
            return self.require(ref).get(name)

    def put(self, ref: Ref, name: str, held: Held) -> None:
        """Set a property and wake those who wait for updates."""
        with self.changed:
            entry = self.require(ref)
            entry.set(name, held, self._note(typetable.moid(ref), name))

    def touch(self, ref: Ref, name: str) -> None:
        """Note that a property changed of an object that lives in a session only."""
        with self.changed:
            self._note(typetable.moid(ref), name)

    @contextmanager
    def change(self, ref: Ref, name: str) -> Iterator[Value]:
        """Hand out a copy of a property's value to be edited; put it back unless the block raises."""
        with self.changed:
            value = copy.deepcopy(self.require(ref).get(name))
            yield value
            self.put(ref, name, value)

    def changes_since(self, revision: int) -> list[Changed] | None:
        """List what changed after a revision; None when the log does not reach back that far."""
        if revision >= self.revision:
            return []
        if not self._log or self._log[0].revision > revision + 1:
            return None
        newer: list[Changed] = []
        for line in reversed(self._log):
            if line.revision <= revision:
                break
            newer.append(line)
        return newer[::-1]

    def _note(self, moid: str, name: str | None) -> int:
        self.revision += 1
        self._log.append(Changed(self.revision, moid, name))
        self.changed.notify_all()
        return self.revision
