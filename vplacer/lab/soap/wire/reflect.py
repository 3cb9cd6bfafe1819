"""Types and methods by which a client runs esxcli on a host through vCenter. They are in no public table.

Names and shapes follow public clients of it (govmomi ``internal/types.go``, PowerCLI's Get-EsxCli).
pyVmomi's own tables are not touched: these classes are found here only.
"""

from __future__ import annotations

from typing import Any

from vplacer.lab.soap.wire import typetable
from vplacer.lab.soap.wire.typetable import Class, Info

_SETTINGS = "Host.Config.Settings"
"""Which privilege these take is not documented; denials that people report name this one."""


def _managed(wire_name: str) -> Class:
    attributes = {
        "_wsdlName": wire_name,
        "_version": typetable.BASE_VERSION,
        "_propList": [],
        "_propInfo": {},
    }
    return type(wire_name, (typetable.ManagedObject,), attributes)


def _data(wire_name: str, *members: Info) -> Class:
    attributes = {
        "_wsdlName": wire_name,
        "_version": typetable.BASE_VERSION,
        "_propList": list(members),
        "_propInfo": {member.name: member for member in members},
    }
    return type(wire_name, (typetable.DataObject,), attributes)


def _optional(name: str, kind: object) -> Info:
    return typetable.make_info(name, kind, flags=typetable.OPTIONAL)


MethodExecuter: Class = _managed("ReflectManagedMethodExecuter")
TypeManager: Class = _managed("InternalDynamicTypeManager")
SoapArgument: Class = _data(
    "ReflectManagedMethodExecuterSoapArgument",
    typetable.make_info("name", str),
    typetable.make_info("val", str),
)
SoapFault: Class = _data(
    "ReflectManagedMethodExecuterSoapFault",
    typetable.make_info("faultMsg", str),
    _optional("faultDetail", str),
)
SoapResult: Class = _data(
    "ReflectManagedMethodExecuterSoapResult", _optional("response", str), _optional("fault", SoapFault)
)
_ARGUMENTS: Class = type("SoapArgument[]", (typetable.Array,), {"Item": SoapArgument})


def _method(name: str, result: Class, *params: Info) -> Info:
    return typetable.make_info(
        name,
        typetable.ManagedObject,
        wsdlName=name,
        params=params,
        result=result,
        resultFlags=typetable.OPTIONAL,
        isTask=False,
        privId=_SETTINGS,
    )


_METHODS: dict[str, Info] = {
    info.wsdlName: info
    for info in (
        _method("RetrieveManagedMethodExecuter", MethodExecuter),
        _method("RetrieveDynamicTypeManager", TypeManager),
        _method(
            "ExecuteSoap",
            SoapResult,
            typetable.make_info("moid", str),
            typetable.make_info("version", str),
            typetable.make_info("method", str),
            _optional("argument", _ARGUMENTS),
        ),
    )
}
_TYPES: dict[str, Class] = {typetable.wire_name(cls): cls for cls in (MethodExecuter, TypeManager)}


def method_info(namespace: str, name: str) -> Info | None:
    """Describe a method by its wire name, of pyVmomi's table or of here; None = there is none."""
    found = typetable.method_info(namespace, name)
    return _METHODS.get(name) if found is None and namespace == typetable.NAMESPACE else found


def type_named(name: str) -> Any:
    """Return a class that pyVmomi's tables lack, by its wire name, or None."""
    return _TYPES.get(name)
