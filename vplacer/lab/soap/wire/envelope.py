"""A SOAP request: from bytes to a method and its arguments.

pyVmomi's deserialiser does the work. It is made for clients, so what a server must refuse is added:
DOCTYPE, properties newer than the negotiated version, unknown enum values, numbers out of range.
"""

# mypy: allow-untyped-calls
# (pyVmomi's classes, subclassed here, carry no annotations.)

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import Any
from xml.parsers.expat import ExpatError, ParserCreate

from pyVmomi import SoapAdapter, vmodl

from vplacer.lab.soap.wire import reflect, typetable

_BODY = f"{SoapAdapter.XMLNS_SOAPENV} Body"
_HEADER = f"{SoapAdapter.XMLNS_SOAPENV} Header"
_BITS = ((typetable.Byte, 8), (typetable.Short, 16), (int, 32), (typetable.Long, 64))
_RANGE = {cls: (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) for cls, bits in _BITS}


@dataclass(frozen=True, slots=True)
class Request:
    """One call. ``args`` has an attribute for each parameter, None where it was not sent."""

    method: str
    info: typetable.Info
    this: typetable.Ref
    args: Any
    headers: dict[str, str]


@dataclass(slots=True)
class Seen:
    """What was understood before a request turned out to be wrong, for the log.

    ``this``: the object's id. ``user``: who is logged in; filled in by whoever knows the sessions.
    """

    method: str = "?"
    this: str | None = None
    user: str | None = None
    headers: dict[str, str] = field(default_factory=dict)


def parse_request(data: bytes, version: str, seen: Seen | None = None) -> Request:
    """Parse a SOAP envelope.

    Args:
        data: the body of the HTTP request.
        version: the API version (pyVmomi's name) that the client asked for.
        seen: filled in on the way.

    Raises:
        vmodl.fault.InvalidRequest: not XML, not an envelope, unknown method, or a value that does not
            fit its type or the version.
    """
    envelope = _Envelope(version, seen or Seen())
    try:
        return envelope.parse(data)
    except vmodl.MethodFault:
        raise
    except (ExpatError, AttributeError, LookupError, TypeError, ValueError) as error:
        # All of these come from bad input only: nothing of the lab's own runs inside.
        raise vmodl.fault.InvalidRequest(msg=f"cannot read the request: {error}") from error


@cache
def _request_type(namespace: str, name: str) -> tuple[typetable.Info, type] | None:
    """Make a data class whose properties are ``_this`` and the parameters of a method."""
    info = reflect.method_info(namespace, name)
    if info is None:
        return None
    this = typetable.make_info("_this", typetable.ManagedObject)
    members = [this, *info.params]
    attributes = {
        "_wsdlName": f"{name}RequestType",
        "_version": typetable.BASE_VERSION,
        "_propList": members,
        "_propInfo": {member.name: member for member in members},
        "__init__": _unset_all,
    }
    return info, type(f"{name}Request", (typetable.DataObject,), attributes)


def _unset_all(self: Any) -> None:
    # DataObject's own constructor turns a missing text into '' and a missing number into 0.
    for info in self._propList:
        object.__setattr__(self, info.name, info.type() if issubclass(info.type, list) else None)


class _Deserializer(SoapAdapter.SoapDeserializer):
    """pyVmomi's deserialiser with the checks of a server."""

    def StartElementHandler(self, tag: str, attr: dict[str, str]) -> None:
        if self.stack and isinstance(self.stack[-1], typetable.DataObject):
            owner = type(self.stack[-1])
            name = tag.rpartition(" ")[2]
            info = typetable.property_info(owner, name)
            if info is None or not typetable.is_version(self.version, info.version):
                raise ValueError(f"unexpected element <{name}> in {typetable.wire_name(owner)}")
        super().StartElementHandler(tag, attr)

    def LookupWsdlType(self, ns: str, name: str, allowManagedObjectReference: bool = False) -> Any:
        return reflect.type_named(name) or super().LookupWsdlType(ns, name, allowManagedObjectReference)

    def EndElementHandler(self, tag: str) -> None:
        leaf = self.stack[-1] if self.stack else None
        if isinstance(leaf, type):
            self._check_leaf(leaf, tag.rpartition(" ")[2])
        super().EndElementHandler(tag)

    def _check_leaf(self, leaf: type, name: str) -> None:
        if leaf in _RANGE:
            low, high = _RANGE[leaf]
            if not low <= int(self.data) <= high:
                raise ValueError(f"<{name}>: {self.data} does not fit {typetable.wire_name(leaf)}")
        elif issubclass(leaf, typetable.Enum) and not isinstance(getattr(leaf, self.data, None), leaf):
            raise ValueError(f"<{name}>: '{self.data}' is no value of {typetable.wire_name(leaf)}")


class _Envelope(SoapAdapter.ExpatDeserializerNSHandlers):
    """Expat handlers for all that is outside the call itself."""

    def __init__(self, version: str, seen: Seen) -> None:
        super().__init__()
        self._seen = seen
        self._in_header = self._in_body = False
        self._info: typetable.Info = None
        self._text = ""
        # Without a stub, references become bare managed objects.
        self._call = _Deserializer(None, version)
        self._parser = ParserCreate(namespace_separator=SoapAdapter.NS_SEP)
        self._parser.buffer_text = True
        self._parser.StartDoctypeDeclHandler = self._refuse_doctype
        SoapAdapter.SetHandlers(self._parser, SoapAdapter.GetHandlers(self))

    def parse(self, data: bytes) -> Request:
        self._parser.Parse(data, True)
        if self._info is None:
            raise ValueError("no call in the SOAP body")
        args = self._call.GetResult()
        this = args._this
        if this is None:
            raise ValueError("no _this")
        self._seen.this = typetable.moid(this)
        return Request(self._seen.method, self._info, this, args, self._seen.headers)

    def _refuse_doctype(self, *_declaration: object) -> None:
        raise ValueError("a document type declaration is not allowed")

    def StartElementHandler(self, tag: str, attr: dict[str, str]) -> None:
        self._text = ""
        if tag == _HEADER:
            self._in_header = True
        elif tag == _BODY:
            self._in_body = True
        elif self._in_body:
            if self._info is not None:
                raise ValueError("more than one call in the SOAP body")
            namespace, _, name = tag.rpartition(" ")
            self._seen.method = name
            found = _request_type(namespace, name)
            if found is None:
                raise vmodl.fault.InvalidRequest(msg=f'Unable to resolve WSDL method name "{name}"')
            self._info, request_type = found
            self._call.Deserialize(self._parser, request_type, False, self.nsMap)
            self._call.StartElementHandler(tag, attr)

    def CharacterDataHandler(self, data: str) -> None:
        self._text += data

    def EndElementHandler(self, tag: str) -> None:
        if tag == _HEADER:
            self._in_header = False
        elif tag == _BODY:
            self._in_body = False
        elif self._in_header:
            self._seen.headers[tag.rpartition(" ")[2]] = self._text
