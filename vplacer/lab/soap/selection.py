"""Which objects a PropertyCollector FilterSpec selects, and which paths of each."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

from pyVmomi import vmodl

from vplacer.lab.soap.paths import resolve, top_property
from vplacer.lab.soap.store import Entry, Withheld
from vplacer.lab.soap.wire import typetable
from vplacer.lab.soap.wire.typetable import Ref

Find: TypeAlias = Callable[[Ref], Entry | None]
"""Returns the object of a reference, the session's own objects included; None where there is none."""

_TRAVERSAL = vmodl.query.PropertyCollector.TraversalSpec


def select(find: Find, spec: Any, version: str) -> list[Entry]:
    """List the objects of a FilterSpec, each once, in the order met.

    Named selection specs resolve inside one FilterSpec and may recurse; each traversal visits an object
    once, so cycles end.

    Raises:
        vmodl.fault.ManagedObjectNotFound: a start object is unknown.
        vmodl.fault.InvalidArgument: a selection names no traversal.
        vmodl.query.InvalidProperty: a traversal's path does not exist.
    """
    named = _named_traversals(spec)
    found: dict[str, Entry] = {}
    seen: set[tuple[str, int]] = set()
    for start in spec.objectSet:
        entry = find(start.obj)
        if entry is None:
            if spec.reportMissingObjectsInResults:
                continue
            raise vmodl.fault.ManagedObjectNotFound(
                obj=start.obj,
                msg=f"The object '{typetable.moid(start.obj)}' has been deleted or has never existed",
            )
        if not start.skip:
            found.setdefault(typetable.moid(start.obj), entry)
        # A stack rather than recursion: folders may be nested deeper than Python's stack.
        todo = [(entry, traversal) for traversal in reversed(_traversals(start.selectSet, named))]
        while todo:
            entry, traversal = todo.pop()
            mark = (typetable.moid(entry.ref), id(traversal))
            if mark in seen or not isinstance(entry.ref, traversal.type):
                continue
            seen.add(mark)
            onward = _traversals(traversal.selectSet, named)
            ahead: list[tuple[Entry, Any]] = []
            for child in _children(find, entry, traversal.path, version):
                if not traversal.skip:
                    found.setdefault(typetable.moid(child.ref), child)
                ahead.extend((child, further) for further in onward)
            todo.extend(reversed(ahead))
    return list(found.values())


def structural_properties(spec: Any) -> frozenset[str]:
    """List the properties that decide which objects a FilterSpec selects."""
    names: set[str] = set()
    todo = [s for start in spec.objectSet for s in start.selectSet]
    while todo:
        selection = todo.pop()
        if isinstance(selection, _TRAVERSAL):
            names.add(top_property(selection.path))
            todo.extend(selection.selectSet)
    return frozenset(names)


def wanted_paths(spec: Any, entry: Entry, version: str) -> list[str] | None:
    """List the paths a FilterSpec asks of an object; None when no PropertySpec is for its class."""
    paths: dict[str, None] = {}
    matched = False
    for wanted in spec.propSet:
        if not isinstance(entry.ref, wanted.type):
            continue
        matched = True
        if wanted.all:
            # pathSet does not count then (vSphere API: PropertySpec.all). `govc object.save` relies on it.
            paths.update((info.name, None) for info in typetable.properties(type(entry.ref), version))
            continue
        paths.update((path, None) for path in wanted.pathSet)
    return list(paths) if matched else None


def _named_traversals(spec: Any) -> dict[str, Any]:
    named: dict[str, Any] = {}
    todo = [s for start in reversed(spec.objectSet) for s in reversed(start.selectSet)]
    while todo:
        selection = todo.pop()
        if isinstance(selection, _TRAVERSAL):
            if selection.name:
                named.setdefault(selection.name, selection)
            todo.extend(reversed(selection.selectSet))
    return named


def _traversals(selections: Iterable[Any], named: dict[str, Any]) -> list[Any]:
    found = []
    for selection in selections:
        if isinstance(selection, _TRAVERSAL):
            found.append(selection)
        elif selection.name in named:
            found.append(named[selection.name])
        else:
            raise vmodl.fault.InvalidArgument(
                invalidProperty="selectSet", msg=f"no traversal is named '{selection.name}'"
            )
    return found


def _children(find: Find, entry: Entry, path: str, version: str) -> Iterable[Entry]:
    try:
        value = resolve(type(entry.ref), entry.get, path, version)
    except Withheld:
        return
    for ref in value if isinstance(value, list) else (value,):
        if not isinstance(ref, typetable.ManagedObject):
            continue
        child = find(ref)
        if child is not None:
            yield child
