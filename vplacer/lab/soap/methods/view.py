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


class ListView(Entry):
    """A view of given objects."""

    __slots__ = ("members",)

    def __init__(self, ref: Ref) -> None:
        self.members: dict[str, Ref] = {}
        super().__init__(ref, {"view": Computed(self._view)})

    def _view(self) -> typetable.Value:
        return typetable.array_of(typetable.ManagedObject, self.members.values())


@TABLE.method(vim.view.ViewManager, "CreateListView")
def create_list_view(call: Call, _this: Ref, args: Any) -> object:
    """Make a view of given objects."""
    view = ListView(call.session.new_ref(vim.view.ListView))
    _fill(call, view, args.obj)
    call.session.objects[typetable.moid(view.ref)] = view
    return view.ref


@TABLE.method(vim.view.ListView, "ModifyListView")
def modify_list_view(call: Call, this: Ref, args: Any) -> object:
    """Add objects to a view and take others out; return those that there are not."""
    view = _list_view(call, this)
    for ref in args.remove:
        view.members.pop(typetable.moid(ref), None)
    unknown = _fill(call, view, args.add)
    call.vcenter.store.touch(this, "view")
    return unknown


@TABLE.method(vim.view.ListView, "ResetListView")
def reset_list_view(call: Call, this: Ref, args: Any) -> object:
    """Replace the objects of a view; return those that there are not."""
    view = _list_view(call, this)
    view.members.clear()
    unknown = _fill(call, view, args.obj)
    call.vcenter.store.touch(this, "view")
    return unknown


def _list_view(call: Call, this: Ref) -> ListView:
    found = call.require(this)
    if not isinstance(found, ListView):
        raise vmodl.fault.ManagedObjectNotFound(obj=this, msg="There is no such view.")
    return found


def _fill(call: Call, view: ListView, refs: list[Ref]) -> list[Ref]:
    known = [ref for ref in refs if call.find(ref) is not None]
    view.members.update((typetable.moid(ref), ref) for ref in known)
    return [ref for ref in refs if ref not in known]


@TABLE.method(vim.view.View, "DestroyView")
def destroy_view(call: Call, this: Ref, _args: Any) -> object:
    """Remove a view."""
    call.require(this)
    call.session.objects.pop(typetable.moid(this), None)
    return None


def _keep(call: Call, ref: Ref, properties: dict[str, object]) -> Ref:
    call.session.objects[typetable.moid(ref)] = Entry(ref, properties)
    return ref
