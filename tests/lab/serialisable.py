"""Can everything be served? Serialises every property of every object, before a client finds out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from xml.parsers.expat import ExpatError, ParserCreate

from vplacer.lab.soap.store import Entry, Store, Withheld
from vplacer.lab.soap.wire import serialize, typetable, versions
from vplacer.lab.soap.wire.typetable import Ref, Value


def check_serialisable(store: Store, version_ids: Iterable[str]) -> list[str]:
    """Look for properties that cannot be served and for references that lead nowhere.

    A required member left unset, and text that XML cannot hold, show only when they are served.

    Returns:
        A line for each defect: object, property, API version, what is wrong. Empty when all is well.
    """
    found: list[str] = []
    names = {version_id: versions.served_version(version_id) for version_id in version_ids}
    for entry in store.entries():
        for name in entry.props:
            place = f"{typetable.wire_name(type(entry.ref))} {typetable.moid(entry.ref)} {name}"
            try:
                with store.changed:
                    value = entry.get(name)
            except Withheld:
                continue
            except (AttributeError, TypeError, KeyError, ValueError) as error:
                found.append(f"{place} cannot be built: {error!r}")
                continue
            found.extend(
                f"{place} at {version_id}: {why}"
                for version_id, version in names.items()
                for why in _defects(entry, name, value, version)
            )
            found.extend(
                f"{place}: {typetable.wire_name(type(ref))} {typetable.moid(ref)} does not exist"
                for ref in _references(value)
                if store.find(ref) is None
            )
    return found


def _defects(entry: Entry, name: str, value: Value, version: str) -> Iterator[str]:
    info = typetable.property_info(type(entry.ref), name)
    if value is None or info is None or not typetable.is_version(version, info.version):
        return
    try:
        text = serialize.property_value(value, version)
    except (TypeError, KeyError, AttributeError) as error:
        yield str(error)
        return
    parser = ParserCreate()
    try:
        parser.Parse(f"<x xmlns:xsi='i' xmlns:xsd='d'>{text}</x>".encode(), True)
    except ExpatError as error:
        yield f"not XML: {error}"


def _references(value: Value) -> Iterator[Ref]:
    if isinstance(value, typetable.ManagedObject):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _references(item)
    elif isinstance(value, typetable.DataObject):
        for info in type(value)._GetPropertyList():
            yield from _references(getattr(value, info.name))
