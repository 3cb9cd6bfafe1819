"""Method calls to and from SOAP text: pyVmomi's serialiser going out, our parser coming in."""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping
from typing import Any, Final

from vplacer.vsphere.newer_fields import refuse_newer
from vplacer.vsphere.parse import parse_answer
from vplacer.vsphere.raw import MoRef, Notes, Value
from vplacer.vsphere.reflect_methods import managed_class, method_named

_UNTYPED_REFERENCE: Final = re.compile(rb'(<\w+ [^<>]*xsi:type=")ManagedObject("[^<>]*>)')
"""A reference in a field of any type: pyVmomi names its own class there, the API's schema has another name.
In text < is always escaped, so that this is a tag."""


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

    def encode(
        self, ref: MoRef, method: str, arguments: Mapping[str, object], operation: str | None = None
    ) -> bytes:
        """Return the request for a method.

        Args:
            ref: the object it is called on.
            method: API name ("QueryConfigTarget").
            arguments: by API parameter name; `MoRef`s, pyVmomi data objects, lists of these, or
                plain values. A parameter left out is unset.
            operation: id that the server writes to its logs with the call (SOAP header operationID).

        Raises:
            ApiTooOld: an argument holds something newer than the version, which would be dropped
                from the request without a word.
        """
        info = method_named(method)
        names = [parameter.name for parameter in info.params]
        if unknown := sorted(set(arguments) - set(names)):
            raise TypeError(f"{method} has no parameter {', '.join(unknown)}")
        values = [_outgoing(arguments.get(name)) for name in names]
        for value in values:
            refuse_newer(value, self._stub.version)
        stub = self._stub
        if operation is not None:
            stub = copy.copy(stub)
            stub.requestContext = {"operationID": operation}
        request: bytes = stub.SerializeRequest(managed_object(ref), info, values)
        return _UNTYPED_REFERENCE.sub(rb"\1ManagedObjectReference\2", request)

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
