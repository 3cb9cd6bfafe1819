"""SearchIndex: finding objects by uuid, name, path and address."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyVmomi import vim

from vplacer.lab.soap.containers import contained
from vplacer.lab.soap.methods.table import Call, MethodTable
from vplacer.lab.soap.store import Entry, Withheld
from vplacer.lab.soap.wire import typetable
from vplacer.lab.soap.wire.typetable import Ref, Value

TABLE = MethodTable()


@TABLE.method(vim.SearchIndex, "FindByUuid")
def find_by_uuid(call: Call, _this: Ref, args: Any) -> object:
    """Find a VM or host by its uuid; of a VM, the BIOS or the instance uuid."""
    return next(iter(_by_uuid(call, args)), None)


@TABLE.method(vim.SearchIndex, "FindAllByUuid")
def find_all_by_uuid(call: Call, _this: Ref, args: Any) -> object:
    """Find all VMs or hosts of a uuid."""
    return _by_uuid(call, args)


@TABLE.method(vim.SearchIndex, "FindByDnsName")
def find_by_dns_name(call: Call, _this: Ref, args: Any) -> object:
    """Find a VM by its guest's host name, or a host by its name."""
    paths = (("guest", "hostName"),) if args.vmSearch else (("name",),)
    return next(iter(_matching(call, args, paths, args.dnsName)), None)


@TABLE.method(vim.SearchIndex, "FindByIp")
def find_by_ip(call: Call, _this: Ref, args: Any) -> object:
    """Find a VM by its guest's address, or a host by its name if that is its address."""
    paths = (("guest", "ipAddress"),) if args.vmSearch else (("name",),)
    return next(iter(_matching(call, args, paths, args.ip)), None)


@TABLE.method(vim.SearchIndex, "FindByInventoryPath")
def find_by_inventory_path(call: Call, _this: Ref, args: Any) -> object:
    """Find an object by the names on the way from the root folder."""
    found: Ref = call.vcenter.content.rootFolder
    for name in (part for part in args.inventoryPath.split("/") if part):
        found = _child(call, found, name)
        if found is None:
            return None
    return found


@TABLE.method(vim.SearchIndex, "FindChild")
def find_child(call: Call, _this: Ref, args: Any) -> object:
    """Find a direct child by name."""
    call.require(args.entity)
    return _child(call, args.entity, args.name)


def _child(call: Call, parent: Ref, name: str) -> Ref:
    store = call.vcenter.store
    for ref in contained(store, parent, (), recursive=False):
        if store.read(ref, "name") == name:
            return ref
    return None


def _by_uuid(call: Call, args: Any) -> list[Ref]:
    if not args.vmSearch:
        paths: tuple[tuple[str, ...], ...] = (("hardware", "systemInfo", "uuid"),)
    else:
        paths = (("config", "instanceUuid" if args.instanceUuid else "uuid"),)
    return _matching(call, args, paths, args.uuid)


def _matching(call: Call, args: Any, paths: tuple[tuple[str, ...], ...], wanted: str) -> list[Ref]:
    cls = vim.VirtualMachine if args.vmSearch else vim.HostSystem
    inside = _inside(call, args.datacenter)
    with call.vcenter.store.changed:
        return [
            entry.ref
            for entry in call.vcenter.store.entries(cls)
            if inside(entry.ref) and any(_same(_member(entry, path), wanted) for path in paths)
        ]


def _inside(call: Call, datacenter: Ref) -> Callable[[Ref], bool]:
    if datacenter is None:
        return lambda _ref: True
    call.require(datacenter)
    below = {typetable.moid(ref) for ref in contained(call.vcenter.store, datacenter, (), recursive=True)}
    return lambda ref: typetable.moid(ref) in below


def _member(entry: Entry, path: tuple[str, ...]) -> Value:
    try:
        value = entry.get(path[0])
    except Withheld:
        return None
    for name in path[1:]:
        value = getattr(value, name, None)
    return value


def _same(value: Value, wanted: str) -> bool:
    return isinstance(value, str) and value.lower() == wanted.lower()
