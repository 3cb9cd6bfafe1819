"""Values, answers and faults to XML text."""

# mypy: allow-untyped-calls
# (pyVmomi's classes, subclassed here, carry no annotations.)

from __future__ import annotations

import copy
import io
from typing import Any

from pyVmomi import SoapAdapter, vmodl

from vplacer.lab.soap.wire import typetable

_NAMESPACES = {**SoapAdapter.SOAP_NSMAP, typetable.NAMESPACE: ""}
_HEAD = SoapAdapter.XML_HEADER + "\n" + SoapAdapter.SOAP_ENVELOPE_START + SoapAdapter.SOAP_BODY_START
_TAIL = SoapAdapter.SOAP_BODY_END + SoapAdapter.SOAP_ENVELOPE_END


class Xml(str):
    """An answer that is XML already, put together from kept fragments."""

    __slots__ = ()


class _Serializer(SoapAdapter.SoapSerializer):
    """pyVmomi's serialiser, which drops what is newer than the version at any depth."""

    def __init__(self, writer: io.StringIO, version: str) -> None:
        super().__init__(writer, version, _NAMESPACES)
        # Else every fragment repeats versionId="...".
        self.outermostAttrs = ""

    def _QName(self, typ: type, defNS: str) -> tuple[str, str]:
        # Go knows xsi:type="ManagedObjectReference" only, and fails silently on "ManagedObject".
        attr, name = super()._QName(typ, defNS)
        return attr, f"{name}Reference" if typ is typetable.ManagedObject else name

    def _SerializeDataObject(self, val: Any, info: typetable.Info, attr: str, currDefNS: str) -> None:
        kept = typetable.kept_xml(val)
        if kept is None:
            self._write_data_object(val, info, attr, currDefNS)
            return
        key = (info.name, info.type, info.flags, attr, currDefNS, self.version)
        if key not in kept:
            outer, self.writer = self.writer, io.StringIO()
            self._write_data_object(val, info, attr, currDefNS)
            kept[key] = self.writer.getvalue()
            self.writer = outer
        self.writer.write(kept[key])

    def _write_data_object(self, val: Any, info: typetable.Info, attr: str, currDefNS: str) -> None:
        # As pyVmomi's own, but with the list of properties kept per type and version: three times as fast.
        kind = typetable.compatible_type(type(val), self.version)
        if isinstance(val, vmodl.LocalizedMethodFault) or info.flags & typetable.LINK:
            super()._SerializeDataObject(val, info, attr, currDefNS)
            return
        if kind is not info.type:
            namespace, name = self._QName(kind, currDefNS)
            attr += f'{namespace} xsi:type="{name}"'
        self.writer.write(f"<{info.name}{attr}>")
        for member in typetable.properties(kind, self.version):
            value = getattr(val, member.name)
            if value is None:
                if not member.flags & typetable.OPTIONAL:
                    raise TypeError(f"{typetable.wire_name(kind)}.{member.name} is required but unset")
            elif value or not isinstance(value, list):
                # An empty array is no element at all, be it required or not (a NUMA node without CPUs).
                self._Serialize(value, member, currDefNS)
        self.writer.write(f"</{info.name}>")


def to_xml(value: typetable.Value, info: typetable.Info, version: str) -> str:
    """Serialise a value under the name and declared type of `info`, as far as `version` knows it.

    Raises:
        TypeError: a required member is unset.
    """
    writer = io.StringIO()
    _Serializer(writer, version).Serialize(value, info)
    return writer.getvalue()


_VAL = typetable.make_info("val", object, flags=typetable.OPTIONAL)
_FAULT = typetable.make_info("fault", vmodl.MethodFault)


def property_value(value: typetable.Value, version: str) -> str:
    """Return ``<val xsi:type=...>`` of a property, the form shared by propSet and changeSet."""
    return to_xml(value, _VAL, version)


def reference(name: str, ref: typetable.Ref) -> str:
    """Return ``<name type="...">id</name>`` of a reference."""
    kind = typetable.wire_name(type(ref))
    return f'<{name} type="{kind}">{escape(typetable.moid(ref))}</{name}>'


def localized_fault(fault: vmodl.MethodFault, version: str) -> str:
    """Return ``<fault>`` as a missingSet entry holds it."""
    return to_xml(fault, _FAULT, version)


def escape(text: str) -> str:
    """Escape text for XML content."""
    return str(SoapAdapter.XmlEscape(text))


def response(method: str, info: typetable.Info, result: object, version: str) -> str:
    """Return the envelope of an answer; `result` is a value, `Xml`, or None for nothing."""
    if isinstance(result, Xml):
        body: str = result
    elif result is None:
        body = ""
    else:
        returned = typetable.make_info("returnval", info.result, info.version, info.resultFlags)
        body = to_xml(typetable.coerce(result, returned), returned, version)
    return f'{_HEAD}<{method}Response xmlns="{typetable.NAMESPACE}">{body}</{method}Response>{_TAIL}'


def fault_envelope(fault: Any, version: str) -> str:
    """Return the envelope of a fault, in the form that pyVmomi and Go's client both understand.

    pyVmomi takes the element's name (``InvalidLoginFault``), Go the ``xsi:type``.
    """
    kind = typetable.compatible_type(type(fault), version)
    name = typetable.wire_name(kind)
    text = escape(fault.msg or name)
    detail = copy.copy(fault)
    detail.msg = None
    writer = io.StringIO()
    serializer = _Serializer(writer, version)
    element = typetable.make_info(f"{name}Fault", object)
    serializer._SerializeDataObject(detail, element, f' xmlns="{typetable.NAMESPACE}"', typetable.NAMESPACE)
    return (
        f"{_HEAD}<soapenv:Fault><faultcode>ServerFaultCode</faultcode><faultstring>{text}</faultstring>"
        f"<detail>{writer.getvalue()}</detail></soapenv:Fault>{_TAIL}"
    )
