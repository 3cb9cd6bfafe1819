"""PropertyCollector and its filters."""

from __future__ import annotations

from typing import Any

from pyVmomi import vmodl

from vplacer.lab.soap.methods.table import Call, MethodTable
from vplacer.lab.soap.updates import Collector, Filter
from vplacer.lab.soap.wire import typetable
from vplacer.lab.soap.wire.typetable import Ref

TABLE = MethodTable()
_COLLECTOR = vmodl.query.PropertyCollector


@TABLE.method(_COLLECTOR, "RetrieveProperties")
def retrieve_properties(call: Call, _this: Ref, args: Any) -> object:
    """Read properties of the selected objects, all at once."""
    return call.vcenter.retrieval.all(call.session, args.specSet, call.version)


@TABLE.method(_COLLECTOR, "RetrievePropertiesEx")
def retrieve_properties_ex(call: Call, _this: Ref, args: Any) -> object:
    """Read properties of the selected objects, a page at a time."""
    limit = args.options.maxObjects
    return call.vcenter.retrieval.first_page(call.session, args.specSet, limit, call.version)


@TABLE.method(_COLLECTOR, "ContinueRetrievePropertiesEx")
def continue_retrieve_properties_ex(call: Call, _this: Ref, args: Any) -> object:
    """Return the next page."""
    return call.vcenter.retrieval.next_page(call.session, args.token, call.version)


@TABLE.method(_COLLECTOR, "CancelRetrievePropertiesEx")
def cancel_retrieve_properties_ex(call: Call, _this: Ref, args: Any) -> object:
    """Forget the pages not yet fetched."""
    call.vcenter.retrieval.drop_page(call.session, args.token)
    return None


@TABLE.method(_COLLECTOR, "CreatePropertyCollector")
def create_property_collector(call: Call, _this: Ref, _args: Any) -> object:
    """Make a collector of its own, so that its filters and waits do not meet others."""
    created = Collector(call.session.new_ref(_COLLECTOR))
    call.session.objects[typetable.moid(created.ref)] = created
    return created.ref


@TABLE.method(_COLLECTOR, "DestroyPropertyCollector")
def destroy_property_collector(call: Call, this: Ref, _args: Any) -> object:
    """Remove a collector with its filters."""
    collector = _collector(call, this)
    if this == call.vcenter.managers["propertyCollector"]:
        raise vmodl.fault.NotSupported(msg="The default property collector cannot be destroyed.")
    call.vcenter.updates.cancel(collector)
    for filter_ in list(collector.filters.values()):
        call.vcenter.updates.destroy_filter(call.session, filter_)
    call.session.objects.pop(typetable.moid(this), None)
    return None


@TABLE.method(_COLLECTOR, "CreateFilter")
def create_filter(call: Call, this: Ref, args: Any) -> object:
    """Watch what a spec selects."""
    return call.vcenter.updates.create_filter(
        call.session, _collector(call, this), args.spec, args.partialUpdates, call.version
    )


@TABLE.method(_COLLECTOR.Filter, "DestroyPropertyFilter")
def destroy_property_filter(call: Call, this: Ref, _args: Any) -> object:
    """Stop watching."""
    found = call.require(this)
    if isinstance(found, Filter):
        call.vcenter.updates.destroy_filter(call.session, found)
    return None


@TABLE.method(_COLLECTOR, "WaitForUpdatesEx")
def wait_for_updates_ex(call: Call, this: Ref, args: Any) -> object:
    """Wait for changes, within limits of time and number."""
    options = args.options
    return call.vcenter.updates.wait(
        call.session,
        _collector(call, this),
        call.version,
        args.version,
        options.maxWaitSeconds if options else None,
        options.maxObjectUpdates if options else None,
    )


@TABLE.method(_COLLECTOR, "WaitForUpdates")
def wait_for_updates(call: Call, this: Ref, args: Any) -> object:
    """Wait for changes without limits; pyVim.task.WaitForTask still calls this one."""
    return call.vcenter.updates.wait(
        call.session, _collector(call, this), call.version, args.version, None, None
    )


@TABLE.method(_COLLECTOR, "CheckForUpdates")
def check_for_updates(call: Call, this: Ref, args: Any) -> object:
    """Return what changed, without waiting."""
    return call.vcenter.updates.wait(
        call.session, _collector(call, this), call.version, args.version, 0, None
    )


@TABLE.method(_COLLECTOR, "CancelWaitForUpdates")
def cancel_wait_for_updates(call: Call, this: Ref, _args: Any) -> object:
    """Make a wait on this collector fail with RequestCanceled."""
    call.vcenter.updates.cancel(_collector(call, this))
    return None


def _collector(call: Call, this: Ref) -> Collector:
    found = call.require(this)
    if not isinstance(found, Collector):
        raise vmodl.fault.ManagedObjectNotFound(obj=this, msg="There is no such property collector.")
    return found
