"""SOAP requests as plain data, so that cases can say what goes over the wire, and tests compare programs.

An element with children is a mapping, with "type" where it names its own; one that repeats is a list; any
other is its text.
"""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

from pyVmomi import VmomiSupport

_XSI_TYPE = "{http://www.w3.org/2001/XMLSchema-instance}type"
_BODY = "{http://schemas.xmlsoap.org/soap/envelope/}Body"
_HEADER = "{http://schemas.xmlsoap.org/soap/envelope/}Header"


def local(name: str) -> str:
    return name.rpartition("}")[2].rpartition(":")[2]


def method_of(request: bytes) -> str:
    """Return the method a request calls."""
    body = ElementTree.fromstring(request).find(_BODY)
    assert body is not None
    return local(body[0].tag)


def header_of(request: bytes) -> dict[str, str]:
    """Return the SOAP headers of a request."""
    header = ElementTree.fromstring(request).find(_HEADER)
    return {} if header is None else {local(item.tag): item.text or "" for item in header}


def arguments_of(request: bytes) -> dict[str, Any]:
    """Return the arguments of a request as plain data."""
    body = ElementTree.fromstring(request).find(_BODY)
    assert body is not None
    found = plain(body[0])
    return found if isinstance(found, dict) else {}


def plain(element: ElementTree.Element) -> Any:
    """Return an element as plain data."""
    kind = local(element.get(_XSI_TYPE, ""))
    if len(element) == 0:
        # Text needs no type; a number in a field of any type is another thing than the text of it.
        return (
            {"type": kind, **({"text": element.text} if element.text else {})}
            if kind not in ("", "string")
            else element.text or ""
        )
    found: dict[str, Any] = {"type": kind} if kind else {}
    for child in element:
        name, value = local(child.tag), plain(child)
        if name in found and name != "type":
            held = found[name]
            found[name] = [*held, value] if isinstance(held, list) else [held, value]
        else:
            found[name] = value
    return found


def canonical(value: Any) -> Any:
    """Return plain data so that two spellings of one thing are equal: lists of one, numbers, truth values."""
    if isinstance(value, dict):
        return {name: canonical(item) for name, item in value.items()}
    if isinstance(value, list):
        items = [canonical(item) for item in value]
        return items[0] if len(items) == 1 else items
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)


def leaves(value: Any, at: str = "") -> dict[str, str]:
    """Return plain data as a mapping of paths to texts."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    found: dict[str, str] = {}
    for name, item in items:
        found.update(leaves(item, f"{at}.{name}" if at else str(name)))
    return found or {at: value if isinstance(value, str) else ""}


def built(value: Any, declared: Any = None) -> Any:
    """Return a pyVmomi value from plain data; ``declared``: the type of what stands without "type"."""
    if isinstance(value, list):
        return [built(item, declared.Item if declared is not None else None) for item in value]
    if not isinstance(value, dict):
        return value
    fields = dict(value)
    name = fields.pop("type", None) if not (declared is not None and _has_type_field(declared)) else None
    kind = VmomiSupport.GuessWsdlType(name) if name else declared
    types = {info.name: info.type for info in kind._GetPropertyList()}
    return kind(**{name: built(item, types[name]) for name, item in fields.items()})


def _has_type_field(kind: Any) -> bool:
    return any(info.name == "type" for info in getattr(kind, "_GetPropertyList", list)())
