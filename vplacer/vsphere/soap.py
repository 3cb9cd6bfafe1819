"""Method calls to and from SOAP text: pyVmomi's serialiser going out, our parser coming in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vplacer.vsphere.parse import parse_answer
from vplacer.vsphere.raw import MoRef, Notes, Value
from vplacer.vsphere.reflect_methods import managed_class, method_named


class Codec:
    """Writes requests and reads answers in one API version.

    Args:
        version: pyVmomi's name of the version (``vim.version.v8_0_3_0``).
        notes: receives what the parser leaves out.
    """

    def __init__(self, version: str, notes: Notes) -> None:
        from pyVmomi.SoapAdapter import SoapStubAdapterBase

        stub: Any = SoapStubAdapterBase(version)
        stub.requestContext = None
        self._stub = stub
        self._notes = notes

    @property
    def soap_action(self) -> str:
        """The SOAPAction header, which names the version."""
        return str(self._stub.versionId)

    def encode(self, ref: MoRef, method: str, arguments: Mapping[str, object]) -> bytes:
        """Return the request for a method.

        Args:
            ref: the object it is called on.
            method: API name ("QueryConfigTarget").
            arguments: by API parameter name; `MoRef`s, pyVmomi data objects, lists of these, or
                plain values. A parameter left out is unset.
        """
        info = method_named(method)
        names = [parameter.name for parameter in info.params]
        if unknown := sorted(set(arguments) - set(names)):
            raise TypeError(f"{method} has no parameter {', '.join(unknown)}")
        values = [_outgoing(arguments.get(name)) for name in names]
        request: bytes = self._stub.SerializeRequest(managed_object(ref), info, values)
        return request

    def decode(self, method: str, body: bytes) -> Value:
        """Return the result in an answer to a method.

        Raises:
            BrokenAnswer: the answer is not SOAP, or not whole.
            SoapFault: the answer is a fault.
        """
        return parse_answer(body, method_named(method).result, self._notes)


def managed_object(ref: MoRef) -> Any:
    """Return pyVmomi's object for a reference."""
    return managed_class(ref.type)(ref.moid, None)


def type_named(name: str) -> Any:
    """Return pyVmomi's type for an API name."""
    from pyVmomi import VmomiSupport

    return VmomiSupport.GuessWsdlType(name)


def _outgoing(value: object) -> object:
    if isinstance(value, MoRef):
        return managed_object(value)
    if isinstance(value, list):
        return [_outgoing(item) for item in value]
    return value
