"""The one place where SOAP answers become values.

Types come from pyVmomi's tables; the parsing does not. pyVmomi's own deserialiser stops at the first
field, type or enumeration value it does not know (pyvmomi #190, #514), which a server newer than the
tables, or a simulator, sends sooner or later. Here what is unknown is left out and noted, and the
rest is read. It is also several times faster, which matters at thousands of hosts.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from functools import cache, lru_cache
from typing import Any
from xml.etree import ElementTree

from vplacer.vsphere.raw import Data, MoRef, Notes, Value

_ENVELOPE = "{http://schemas.xmlsoap.org/soap/envelope/}"
_XSI_TYPE = "{http://www.w3.org/2001/XMLSchema-instance}type"


class BrokenAnswer(Exception):
    """The answer is not a whole SOAP message."""


class SoapFault(Exception):
    """The server answered with a fault. ``fault.type`` is its API name."""

    def __init__(self, fault: Data, message: str) -> None:
        self.fault = fault
        self.message = message
        super().__init__(fault.type)


class _Kind(Enum):
    TEXT = auto()
    INT = auto()
    FLOAT = auto()
    BOOL = auto()
    REF = auto()
    DATA = auto()
    ANY = auto()


@dataclass(frozen=True, slots=True)
class _Shape:
    """How an element of a type is read. ``is_list``: the element repeats, or holds a wrapped array."""

    kind: _Kind
    is_list: bool = False
    type: Any = None
    name: str = ""
    kinds: tuple[str, ...] = ()


# Looking a member up in its class costs more than comparing it.
_TEXT, _INT, _DATA, _REF = _Kind.TEXT, _Kind.INT, _Kind.DATA, _Kind.REF
_ANY = _Shape(_Kind.ANY)
_SIMPLE = {
    "string": _Kind.TEXT,
    "anyURI": _Kind.TEXT,
    "dateTime": _Kind.TEXT,
    "base64Binary": _Kind.TEXT,
    "QName": _Kind.TEXT,
    "boolean": _Kind.BOOL,
    "byte": _Kind.INT,
    "short": _Kind.INT,
    "int": _Kind.INT,
    "long": _Kind.INT,
    "float": _Kind.FLOAT,
    "double": _Kind.FLOAT,
    "anyType": _Kind.ANY,
}


@cache
def _shape_of_type(python_type: Any) -> _Shape:
    """Return the shape of one of pyVmomi's types."""
    from pyVmomi import VmomiSupport

    if issubclass(python_type, list):
        item = _shape_of_type(python_type.Item)
        return _Shape(item.kind, True, item.type, item.name, item.kinds)
    if issubclass(python_type, VmomiSupport.ManagedObject):
        return _Shape(_Kind.REF)
    if issubclass(python_type, BaseException):
        # A fault inside an answer always travels in this envelope.
        return _data_shape(VmomiSupport.GetVmodlType("vmodl.LocalizedMethodFault"))
    if issubclass(python_type, VmomiSupport.DataObject):
        return _data_shape(python_type)
    if issubclass(python_type, bool):
        return _Shape(_Kind.BOOL)
    if issubclass(python_type, int):
        return _Shape(_Kind.INT)
    if issubclass(python_type, float):
        return _Shape(_Kind.FLOAT)
    return _ANY if python_type is object else _Shape(_Kind.TEXT)


def _data_shape(python_type: Any) -> _Shape:
    kinds = tuple(
        base._wsdlName
        for base in python_type.__mro__
        if getattr(base, "_wsdlName", None) and base.__name__ != "DataObject"
    )
    return _Shape(_Kind.DATA, False, python_type, python_type._wsdlName, kinds)


@cache
def _shape_by_name(name: str) -> _Shape | None:
    """Return the shape an xsi:type names, or None where the tables do not know it."""
    from pyVmomi import VmomiSupport

    if name.startswith("ArrayOf") and (item := _SIMPLE.get(_uncapitalised(name[7:]))):
        return _Shape(item, True)
    if simple := _SIMPLE.get(name):
        return _Shape(simple)
    bare = name.removeprefix("ArrayOf")
    if bare == "ManagedObjectReference":
        return _Shape(_Kind.REF, bare != name)
    try:
        python_type = VmomiSupport.GuessWsdlType(bare)
    except KeyError:
        return None
    is_fault = issubclass(python_type, BaseException)
    shape = _data_shape(python_type) if is_fault else _shape_of_type(python_type)
    return _Shape(shape.kind, bare != name, shape.type, shape.name, shape.kinds)


def _uncapitalised(name: str) -> str:
    return name[:1].lower() + name[1:]


@cache
def _fields(python_type: Any) -> dict[str, _Shape]:
    return {info.name: _shape_of_type(info.type) for info in python_type._GetPropertyList()}


@lru_cache(maxsize=65536)
def _local(tag: str) -> str:
    return tag.rpartition("}")[2]


class _Reader:
    """Turns elements into values, noting what it leaves out."""

    def __init__(self, notes: Notes) -> None:
        self._notes = notes

    def value(self, element: ElementTree.Element, declared: _Shape) -> Value:
        """Read one element; a wrapped array becomes a list."""
        shape = declared
        named = element.get(_XSI_TYPE) if element.attrib and declared.kind is not _TEXT else None
        if named is not None:
            name = named.rpartition(":")[2]
            found = _shape_by_name(name)
            if found is None:
                return self._unknown(element, name, declared)
            shape = found
            if shape.is_list:
                item = _Shape(shape.kind, False, shape.type, shape.name, shape.kinds)
                return [self.value(child, item) for child in element]
        return self._plain(element, shape)

    def _plain(self, element: ElementTree.Element, shape: _Shape) -> Value:
        kind = shape.kind
        if kind is _INT:
            try:
                return int(element.text or "")
            except ValueError:
                return self._scalar("", kind, element.tag)
        if kind is _DATA:
            return Data(shape.name, shape.kinds, self.fields(element, shape.type))
        if kind is _REF:
            return MoRef(element.get("type", ""), element.text or "")
        text = element.text or ""
        if kind is _TEXT:
            return text
        if kind is _Kind.ANY:
            return text if len(element) == 0 else self._unknown(element, _local(element.tag), shape)
        return self._scalar(text.strip(), kind, element.tag)

    def _scalar(self, text: str, kind: _Kind, tag: str) -> Value:
        try:
            if kind is _INT:
                return int(text)
            if kind is _Kind.FLOAT:
                return float(text)
        except ValueError:
            self._notes.add(f"the value of {_local(tag)} is not a number and was left out")
            return None
        if text in ("true", "1"):
            return True
        if text in ("false", "0"):
            return False
        self._notes.add(f"the value of {_local(tag)} is not a boolean and was left out")
        return None

    def fields(self, element: ElementTree.Element, python_type: Any) -> dict[str, Value]:
        """Read the children of a data object."""
        shapes = _fields(python_type)
        found: dict[str, Value] = {}
        for child in element:
            tag = child.tag
            name = tag[tag.rfind("}") + 1 :]
            shape = shapes.get(name)
            if shape is None:
                self._notes.add(f"field {python_type._wsdlName}.{name} is not known and was left out")
                continue
            if shape.kind is _TEXT and not shape.is_list:
                # Most elements by far: spare them the general way.
                found[name] = child.text or ""
                continue
            value = self.value(child, shape)
            if shape.is_list:
                items = found.setdefault(name, [])
                items.extend(value if isinstance(value, list) else [value])
            else:
                found[name] = value
        return found

    def _unknown(self, element: ElementTree.Element, name: str, declared: _Shape) -> Data:
        """Read a type the tables lack: as its declared base where there is one, else only its name."""
        self._notes.add(f"type {name} is not known; only what its base type has was read")
        if declared.kind is not _Kind.DATA:
            return Data(name, (name,), {})
        shapes = _fields(declared.type)
        known = [child for child in element if _local(child.tag) in shapes]
        trimmed = ElementTree.Element(element.tag)
        trimmed.extend(known)
        return Data(name, (name, *declared.kinds), self.fields(trimmed, declared.type))


def parse_answer(body: bytes, result_type: Any, notes: Notes) -> Value:
    """Return the result of a method from the SOAP answer to it.

    Args:
        body: the whole answer, not compressed.
        result_type: pyVmomi's type of the result; a list type gives a list, empty where none came.
        notes: receives what was left out.

    Raises:
        BrokenAnswer: the text is not XML or not a SOAP message (cut off, or another kind of server).
        SoapFault: the answer is a fault.
    """
    try:
        root = ElementTree.fromstring(body)
    except (ElementTree.ParseError, LookupError, ValueError) as error:
        # The last two: an encoding that nobody knows, or that the parser does not take.
        raise BrokenAnswer(f"not well-formed XML ({error})") from None
    content = root.find(f"{_ENVELOPE}Body") if root.tag == f"{_ENVELOPE}Envelope" else None
    if content is None or len(content) == 0:
        raise BrokenAnswer("not a SOAP message")
    reader = _Reader(notes)
    if content[0].tag == f"{_ENVELOPE}Fault":
        raise _fault(content[0], reader)
    shape = _shape_of_type(result_type)
    values = [reader.value(child, shape) for child in content[0] if _local(child.tag) == "returnval"]
    if shape.is_list:
        return [item for value in values for item in (value if isinstance(value, list) else [value])]
    return values[0] if values else None


def parse_element(element: ElementTree.Element, python_type: Any, notes: Notes) -> Value:
    """Return the value that an element of a type holds, outside a SOAP message.

    Args:
        element: the element.
        python_type: pyVmomi's type of it, unless the element names its own.
        notes: receives what was left out.
    """
    return _Reader(notes).value(element, _shape_of_type(python_type))


def _fault(element: ElementTree.Element, reader: _Reader) -> SoapFault:
    message = (element.findtext("faultstring") or "").strip()
    detail = element.find("detail")
    if detail is None or len(detail) == 0:
        return SoapFault(Data("RuntimeFault", ("RuntimeFault", "MethodFault"), {}), message)
    inner = detail[0]
    name = inner.get(_XSI_TYPE, "").rpartition(":")[2] or _local(inner.tag)
    shape = _shape_by_name(name) or _shape_by_name(name.removesuffix("Fault"))
    if shape is None or shape.kind is not _Kind.DATA:
        return SoapFault(Data(name, (name, "MethodFault"), {}), message)
    return SoapFault(Data(shape.name, shape.kinds, reader.fields(inner, shape.type)), message)
