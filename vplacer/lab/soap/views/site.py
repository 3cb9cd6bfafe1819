"""A whole site: every object of a state, placed in a store."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pyVmomi import vim, vmodl

from vplacer.inventory.cluster import Cluster
from vplacer.inventory.host import ConnectionState, Host
from vplacer.inventory.vcenter import About
from vplacer.inventory.vm import Vm
from vplacer.lab.model.machine import Machine
from vplacer.lab.model.state import LabState
from vplacer.lab.soap.live import Live
from vplacer.lab.soap.store import Entry, Store
from vplacer.lab.soap.ticker import Ticker
from vplacer.lab.soap.vcenter import ServedSite
from vplacer.lab.soap.views import cluster, esxcli, esxtop, storage_network
from vplacer.lab.soap.views.config_options import ConfigOptions
from vplacer.lab.soap.views.folders import Folders
from vplacer.lab.soap.views.host import Seen, host_objects
from vplacer.lab.soap.views.host_offers import HostOffers, unit_target
from vplacer.lab.soap.views.licences import licence_objects
from vplacer.lab.soap.views.vm import vm_objects
from vplacer.lab.soap.views.world import ComputeUnit, World
from vplacer.lab.soap.wire import typetable
from vplacer.lab.soap.wire.typetable import Ref

_BASES: dict[str, tuple[str, ...]] = {
    "ClusterComputeResource": ("ComputeResource",),
    "VirtualApp": ("ResourcePool",),
}
"""Types that a gap of another type's name is of too."""


def lab_site(state: LabState) -> ServedSite:
    """Return a state as a site that `LabServer` serves, for reading only."""
    return _served(_build(state))


def live_site(machine: Machine, ticker: Ticker) -> ServedSite:
    """Return the site of a state machine, which clients can change."""
    built = _build(machine.state, machine.options.without_tools)
    built.world.present = lambda: machine.state
    return _served(built, Live(machine, built.world, built.folders, built.store, ticker))


@dataclass(frozen=True, slots=True)
class _Built:
    world: World
    folders: Folders
    store: Store


def _build(state: LabState, without_tools: frozenset[str] = frozenset()) -> _Built:
    world = World(state, without_tools=without_tools)
    folders = Folders(world)
    store = Store()
    for seen in _objects(world, folders):
        store.add(seen.ref, seen.props, seen.answers)
    _withhold(store, world)
    return _Built(world, folders, store)


def _served(built: _Built, live: Live | None = None) -> ServedSite:
    world, state = built.world, built.world.state
    about = state.inventory.about
    denied = any(gap.path == "tags" for gap in state.inventory.gaps_by_object.get(about.instance_uuid, ()))
    return ServedSite(
        built.store, built.folders.root, _about(about), about.name, tuple(_tags(world)), denied, live
    )


def _objects(world: World, folders: Folders) -> Iterator[Seen]:
    inventory = world.inventory
    yield from folders.objects()
    for unit in world.units:
        yield cluster.unit_object(world, unit, folders.host_folder(unit.datacenter))
        yield _browser(world, unit)
    for pool in inventory.pools:
        yield cluster.pool_object(world, pool)
    for datastore in inventory.datastores:
        yield storage_network.datastore_object(world, datastore, folders.datastore_folder(datastore.moid))
    for network in inventory.networks:
        yield storage_network.network_object(world, network, folders.network_folder(network.moid))
    for host in inventory.hosts:
        yield from host_objects(world, host)
    for vm in inventory.vms:
        yield from vm_objects(world, vm, folders.vm_folder(vm))
    connected = [h for h in inventory.hosts if h.connection is ConnectionState.CONNECTED]
    for host in connected:
        yield from esxcli.objects(world, host)
    measurable = [host for host in connected if world.state.has_esxtop(host.moid)]
    for host in measurable:
        yield esxtop.command_object(world, host)
    services = [esxtop.service_info(host) for host in measurable]
    yield Seen(vim.ServiceManager("ServiceMgr"), {"service": services})
    yield from licence_objects(world)


def _browser(world: World, unit: ComputeUnit) -> Seen:
    members = {host.moid: host for host in unit.hosts}
    options = ConfigOptions(world, unit)

    def config_target(host: Ref) -> Any:
        if host is None:
            return unit_target(world, world.hosts_of(unit))
        moid = _member(members, host)
        for gap in world.inventory.gaps_by_object.get(moid, ()):
            if gap.path == "QueryConfigTarget":
                raise _fault(host, gap.kind, gap.reason)
        return HostOffers(world, world.hosts[moid]).config_target()

    def config_option(key: str | None, host: Ref, guest_ids: tuple[str, ...] = ()) -> Any:
        if host is not None:
            _member(members, host)
        return options.option(key, host, guest_ids)

    def capabilities(host: Ref) -> Any:
        from vplacer.lab.soap.views.host import capability

        moid = next(iter(members), None) if host is None else _member(members, host)
        return None if moid is None else capability(members[moid])

    return Seen(
        unit.browser,
        {},
        {
            "QueryConfigTarget": config_target,
            "QueryConfigOptionDescriptor": options.descriptors,
            "QueryConfigOption": config_option,
            "QueryConfigOptionEx": config_option,
            "QueryTargetCapabilities": capabilities,
        },
    )


def _member(hosts: dict[str, Any], host: Ref) -> str:
    moid = typetable.moid(host)
    if moid not in hosts:
        raise vmodl.fault.InvalidArgument(
            invalidProperty="host", msg="The host is not part of this compute resource."
        )
    return moid


def _tags(world: World) -> Iterator[tuple[Ref, tuple[str, ...]]]:
    inventory = world.inventory
    entities: list[Cluster | Host | Vm] = [*inventory.clusters, *inventory.hosts, *inventory.vms]
    for entity in entities:
        if entity.tags:
            yield world.ref(entity.moid), entity.tags


def _withhold(store: Store, world: World) -> None:
    """Make unreadable again what could not be read when the inventory was taken."""
    lost = {h.moid for h in world.inventory.hosts if h.connection is not ConnectionState.CONNECTED}
    unset = {(vm.moid, "config") for vm in world.inventory.vms if not vm.readable}
    entries: dict[str, list[Entry]] = {}
    for entry in store.entries():
        kind = typetable.wire_name(type(entry.ref))
        for name in {typetable.moid(entry.ref), kind, *_BASES.get(kind, ())}:
            entries.setdefault(name, []).append(entry)
    for gap in world.inventory.gaps:
        # A lost connection shows in the host's own state, an unreadable VM in what it leaves unset.
        shown = (gap.kind == "disconnected" and gap.object in lost) or (gap.object, gap.path) in unset
        if not shown:
            for entry in entries.get(gap.object, ()):
                entry.withheld[gap.path] = _fault(entry.ref, gap.kind, gap.reason)


def _fault(ref: Ref, kind: str, reason: str) -> Any:
    if kind == "permission":
        return vim.fault.NoPermission(object=ref, privilegeId="System.Read", msg=reason)
    if kind == "disconnected":
        return vmodl.fault.HostNotReachable(msg=reason)
    return vmodl.fault.SystemError(reason=reason, msg=reason)


def _about(about: About) -> Any:
    return vim.AboutInfo(
        name="VMware vCenter Server",
        fullName=f"VMware vCenter Server {about.version} build-{about.build} (simulated)",
        vendor="VMware, Inc.",
        version=about.version,
        build=about.build,
        osType="linux-x64",
        productLineId="vpx",
        apiType="VirtualCenter",
        apiVersion=about.api_version,
        instanceUuid=about.instance_uuid,
        licenseProductName="VMware VirtualCenter Server",
        licenseProductVersion=about.version.partition(".")[0] + ".0",
    )
