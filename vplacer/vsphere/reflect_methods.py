"""The methods by which esxcli of a host is run through vCenter. pyVmomi's tables do not have them.

Names and shapes follow public clients (govmomi ``internal/types.go``, PowerCLI's Get-EsxCli). The classes
made here describe the calls to pyVmomi's serialiser and to our parser; nothing is added to its tables.
"""

from __future__ import annotations

from functools import cache
from typing import Any

RETRIEVE_EXECUTER = "RetrieveManagedMethodExecuter"
EXECUTE = "ExecuteSoap"


@cache
def method_named(name: str) -> Any:
    """Return pyVmomi's description of a method by its API name.

    Raises:
        KeyError: neither pyVmomi nor this module knows it.
    """
    from pyVmomi import VmomiSupport

    own = _own_methods()
    return own[name] if name in own else VmomiSupport.GetWsdlMethod("urn:vim25", name).info


@cache
def managed_class(name: str) -> Any:
    """Return pyVmomi's class of managed objects of a type; a bare one where its tables lack the type."""
    from pyVmomi import VmomiSupport

    try:
        return VmomiSupport.GuessWsdlType(name)
    except KeyError:
        return _class(name, VmomiSupport.ManagedObject)


@cache
def _own_methods() -> dict[str, Any]:
    from pyVmomi import VmomiSupport

    fault = _class(
        "ReflectManagedMethodExecuterSoapFault",
        VmomiSupport.DataObject,
        _member("faultMsg"),
        _member("faultDetail"),
    )
    result = _class(
        "ReflectManagedMethodExecuterSoapResult",
        VmomiSupport.DataObject,
        _member("response"),
        _member("fault", fault),
    )
    strings = (_member("moid"), _member("version"), _member("method"))
    return {
        RETRIEVE_EXECUTER: _method(RETRIEVE_EXECUTER, VmomiSupport.ManagedObject),
        EXECUTE: _method(EXECUTE, result, *strings),
    }


def _class(name: str, base: Any, *members: Any) -> Any:
    from pyVmomi import VmomiSupport

    return type(
        name,
        (base,),
        {
            "_wsdlName": name,
            "_version": VmomiSupport.BASE_VERSION,
            "_propList": list(members),
            "_propInfo": {member.name: member for member in members},
        },
    )


def _member(name: str, kind: Any = str) -> Any:
    from pyVmomi import VmomiSupport

    make: Any = VmomiSupport.Object
    return make(name=name, type=kind, version=VmomiSupport.BASE_VERSION, flags=VmomiSupport.F_OPTIONAL)


def _method(name: str, result: Any, *params: Any) -> Any:
    from pyVmomi import VmomiSupport

    make: Any = VmomiSupport.Object
    return make(name=name, wsdlName=name, version=VmomiSupport.BASE_VERSION, params=params, result=result)
