"""Property values as XML text, kept while the property stands unchanged.

The same text serves ``propSet`` and ``changeSet``, and comparing two texts tells whether a value changed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pyVmomi import vim, vmodl

from vplacer.lab.soap.paths import resolve, top_property
from vplacer.lab.soap.sessions import Session, required_privilege
from vplacer.lab.soap.store import Entry, Store, Withheld
from vplacer.lab.soap.wire import serialize, typetable


@dataclass(frozen=True, slots=True)
class Fragment:
    """A value: ``xml`` is ``<val ..>`` or "" when unset; ``missing`` is ``<fault ..>`` when withheld."""

    stamp: int | None
    xml: str
    missing: str = ""

    def same_as(self, other: Fragment) -> bool:
        """Whether a client would see no difference."""
        return self.xml == other.xml and self.missing == other.missing


class Fragments:
    """Builds and keeps fragments.

    Args:
        store: for its lock.
        bad_path_is_fault: a wrong or too new path is a method fault, as real servers answer; False puts
            it into ``missingSet``, as vcsim does.
    """

    def __init__(self, store: Store, *, bad_path_is_fault: bool = True) -> None:
        self._store = store
        self._bad_path_is_fault = bad_path_is_fault

    def get(self, session: Session, entry: Entry, path: str, version: str) -> Fragment:
        """Return the fragment of one path of one object.

        Raises:
            vmodl.query.InvalidProperty: the version has no such path.
            vim.fault.NotAuthenticated: nobody is logged in and the property asks for it.
        """
        top = top_property(path)
        stamp = None if entry.is_computed(top) else entry.revisions.get(top, 0)
        # Kept with the object, not by its id: each session has a SessionManager of its own under one id.
        kept = entry.kept.get((path, version)) if stamp is not None else None
        if kept is None or kept.stamp != stamp:
            try:
                kept = self._build(entry, path, version, stamp)
            except vmodl.query.InvalidProperty as fault:
                if self._bad_path_is_fault:
                    raise
                return Fragment(stamp, "", serialize.localized_fault(fault, version))
            if stamp is not None:
                entry.kept[path, version] = kept
        refusal = refused(session, entry, top)
        if refusal is not None:
            return Fragment(stamp, "", serialize.localized_fault(refusal, version))
        return kept

    def _build(self, entry: Entry, path: str, version: str, stamp: int | None) -> Fragment:
        def read(name: str) -> typetable.Value:
            with self._store.changed:
                return entry.get(name)

        try:
            value = resolve(type(entry.ref), read, path, version)
        except Withheld as withheld:
            return Fragment(stamp, "", serialize.localized_fault(withheld.fault, version))
        barred = entry.withheld_fault(path)
        if barred is not None:
            return Fragment(stamp, "", serialize.localized_fault(barred, version))
        if value is None:
            return Fragment(stamp, "")
        return Fragment(stamp, serialize.property_value(value, version))


def refused(session: Session, entry: Entry, name: str) -> Any:
    """Return the fault for a property this session may not read, or None.

    Raises:
        vim.fault.NotAuthenticated: nobody is logged in.
    """
    info = typetable.property_info(type(entry.ref), name)
    privilege = required_privilege(info) if info is not None else "System.View"
    if session.may(privilege):
        return None
    if session.is_anonymous:
        raise vim.fault.NotAuthenticated(
            object=entry.ref, privilegeId=privilege, msg="The session is not authenticated."
        )
    return vim.fault.NoPermission(
        object=entry.ref, privilegeId=privilege, msg="Permission to perform this operation was denied."
    )
