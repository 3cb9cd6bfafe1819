"""esxcli of a host, through vCenter."""

from __future__ import annotations

from typing import Any

from pyVmomi import vim, vmodl

from vplacer.lab.soap.methods.table import Call, MethodTable
from vplacer.lab.soap.wire import reflect, typetable
from vplacer.lab.soap.wire.typetable import Class, Ref

TABLE = MethodTable()


@TABLE.method(vim.HostSystem, "RetrieveManagedMethodExecuter")
def retrieve_method_executer(call: Call, this: Ref, _args: Any) -> object:
    """Return the object that runs methods on the host itself."""
    return _of_host(call, this, reflect.MethodExecuter)


@TABLE.method(vim.HostSystem, "RetrieveDynamicTypeManager")
def retrieve_type_manager(call: Call, this: Ref, _args: Any) -> object:
    """Return the object that describes the host's own types. It answers nothing: no client here asks it."""
    return _of_host(call, this, reflect.TypeManager)


def _of_host(call: Call, host: Ref, cls: Class) -> Ref:
    ref = cls(f"{typetable.wire_name(cls)}-{typetable.moid(host)}")
    if call.find(ref) is None:
        raise vmodl.fault.HostNotConnected(msg="The host is not connected.")
    return ref


@TABLE.method(reflect.MethodExecuter, "ExecuteSoap")
def execute_soap(call: Call, this: Ref, args: Any) -> object:
    """Run a method of the host."""
    arguments = {argument.name: argument.val for argument in args.argument or ()}
    return call.answer(this, moid=args.moid, name=args.method, arguments=arguments)
