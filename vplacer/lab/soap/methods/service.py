"""ServiceInstance, OptionManager and reading one property."""

from __future__ import annotations

from typing import Any

from pyVmomi import vim

from vplacer.lab.soap.methods.table import Call, MethodTable
from vplacer.lab.soap.wire import typetable
from vplacer.lab.soap.wire.typetable import Ref

TABLE = MethodTable()


@TABLE.method(vim.ServiceInstance, "RetrieveServiceContent")
def retrieve_service_content(call: Call, _this: Ref, _args: Any) -> object:
    """Return the managers and who the server is."""
    return call.vcenter.content


@TABLE.method(vim.ServiceInstance, "CurrentTime")
def current_time(call: Call, _this: Ref, _args: Any) -> object:
    """Tell the server's time."""
    return call.vcenter.now()


@TABLE.method(typetable.ManagedObject, "Fetch")
def fetch(call: Call, this: Ref, args: Any) -> object:
    """Read one property: how pyVmomi reads an attribute of a managed object."""
    return call.vcenter.retrieval.one(call.session, this, args.prop, call.version)


@TABLE.method(vim.option.OptionManager, "QueryOptions")
def query_options(call: Call, this: Ref, args: Any) -> object:
    """Return the options of a name, or of all names below it."""
    options = call.require(this).get("setting") or []
    found = [o for o in options if not args.name or o.key == args.name or o.key.startswith(f"{args.name}.")]
    if args.name and not found:
        raise vim.fault.InvalidName(name=args.name, msg=f"There is no option {args.name}")
    return found
