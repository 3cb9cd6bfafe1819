"""A whole site: every object of a state, placed in a store."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pyVmomi import vim, vmodl

from vplacer.inventory.cluster import Cluster
from vplacer.inventory.host import ConnectionState, Host
from vplacer.inventory.vcenter import About
from vplacer.inventory.vm import Vm
from vplacer.lab.model.state import LabState
from vplacer.lab.soap.store import Entry, Store
from vplacer.lab.soap.vcenter import ServedSite
from vplacer.lab.soap.views import cluster, esxtop, storage_network
from vplacer.lab.soap.views.config_options import ConfigOptions
from vplacer.lab.soap.views.folders import Folders
from vplacer.lab.soap.views.host import Seen, host_objects
from vplacer.lab.soap.views.host_offers import HostOffers, unit_target
from vplacer.lab.soap.views.vm import vm_objects
from vplacer.lab.soap.views.world import ComputeUnit, World
from vplacer.lab.soap.wire import typetable
from vplacer.lab.soap.wire.typetable import Ref


def lab_site(state: LabState) -> ServedSite:
    """Return a state as a site that `LabServer` serves."""
    world = World(state)
    folders = Folders(world)
    store = Store()
    for seen in _objects(world, folders):
        store.add(seen.ref, seen.props, seen.answers)
    _withhold(store, world)
    about = state.inventory.about
    return ServedSite(store, folders.root, _about(about), about.name, tuple(_tags(world)))


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
        yield esxtop.command_object(world, host)
    services = [esxtop.service_info(host) for host in connected]
    yield Seen(vim.ServiceManager("ServiceMgr"), {"service": services})


def _browser(world: World, unit: ComputeUnit) -> Seen:
    hosts = {host.moid: host for host in unit.hosts}
    options = ConfigOptions(world, unit)

    def config_target(host: Ref) -> Any:
        if host is None:
            return unit_target(world, unit.hosts)
        return HostOffers(world, hosts[_member(hosts, host)]).config_target()

    def config_option(key: str | None, host: Ref, guest_ids: tuple[str, ...] = ()) -> Any:
        if host is not None:
            _member(hosts, host)
        return options.option(key, host, guest_ids)

    def capabilities(host: Ref) -> Any:
        from vplacer.lab.soap.views.host import capability

        moid = next(iter(hosts), None) if host is None else _member(hosts, host)
        return None if moid is None else capability(hosts[moid])

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
    entries = {typetable.moid(entry.ref): entry for entry in store.entries()}
    for gap in world.inventory.gaps:
        entry = entries.get(gap.object)
        fault = None if entry is None else _fault(entry, gap.kind, gap.reason)
        if entry is not None and fault is not None:
            entry.withheld[gap.path] = fault


def _fault(entry: Entry, kind: str, reason: str) -> Any:
    if kind == "permission":
        return vim.fault.NoPermission(object=entry.ref, privilegeId="System.Read", msg=reason)
    if kind == "fault":
        return vmodl.fault.SystemError(reason=reason, msg=reason)
    # A lost connection shows in the host's own state, an old API in what it does not know.
    return None


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
