"""ViewManager: container views and list views."""

from __future__ import annotations

from typing import Any

from pyVmomi import vim, vmodl

from vplacer.lab.soap.containers import contained
from vplacer.lab.soap.methods.table import Call, MethodTable
from vplacer.lab.soap.store import Computed, Entry
from vplacer.lab.soap.wire import typetable
from vplacer.lab.soap.wire.typetable import Ref

TABLE = MethodTable()


@TABLE.method(vim.view.ViewManager, "CreateContainerView")
def create_container_view(call: Call, _this: Ref, args: Any) -> object:
    """Make a view of what is below a container; it follows the inventory."""
    call.require(args.container)
    if not isinstance(
        args.container,
        (vim.Folder, vim.Datacenter, vim.ComputeResource, vim.ResourcePool, vim.HostSystem),
    ):
        raise vmodl.fault.InvalidArgument(invalidProperty="container")
    store, container, types, deep = call.vcenter.store, args.container, tuple(args.type), args.recursive
    properties = {
        "container": container,
        "type": list(types),
        "recursive": deep,
        "view": Computed(lambda: contained(store, container, types, deep)),
    }
    return _keep(call, call.session.new_ref(vim.view.ContainerView), properties)


@TABLE.method(vim.view.ViewManager, "CreateListView")
def create_list_view(call: Call, _this: Ref, args: Any) -> object:
    """Make a view of given objects."""
    live = [ref for ref in args.obj if call.find(ref) is not None]
    view = typetable.array_of(typetable.ManagedObject, live)
    return _keep(call, call.session.new_ref(vim.view.ListView), {"view": Computed(lambda: view)})


@TABLE.method(vim.view.View, "DestroyView")
def destroy_view(call: Call, this: Ref, _args: Any) -> object:
    """Remove a view."""
    call.require(this)
    call.session.objects.pop(typetable.moid(this), None)
    return None


def _keep(call: Call, ref: Ref, properties: dict[str, object]) -> Ref:
    call.session.objects[typetable.moid(ref)] = Entry(ref, properties)
    return ref
