"""Datastores and networks."""

from __future__ import annotations

from typing import Any

from pyVmomi import vim

from vplacer.inventory.cluster import Datastore, Network
from vplacer.lab.soap.store import Held
from vplacer.lab.soap.views.host import Seen
from vplacer.lab.soap.views.world import PORTGROUP_PREFIX, World, api_name
from vplacer.lab.soap.wire.typetable import Ref

_CAPACITY_BYTES = 64 << 40


def datastore_object(world: World, datastore: Datastore, folder: Ref) -> Seen:
    """Return a datastore; its summary is unset where it is not known whether it can be reached."""
    ref = world.ref(datastore.moid)
    accessible = datastore.accessible
    url = f"ds:///vmfs/volumes/{datastore.moid}/"
    summary = None
    if accessible is not None:
        summary = vim.Datastore.Summary(
            datastore=ref,
            name=api_name(datastore.name),
            url=url,
            capacity=_CAPACITY_BYTES,
            freeSpace=_CAPACITY_BYTES // 2,
            accessible=accessible,
            multipleHostAccess=True,
            type="VMFS",
            maintenanceMode="normal",
        )
    mounts = [
        vim.Datastore.HostMount(
            key=world.ref(host.moid),
            mountInfo=vim.host.MountInfo(
                path=f"/vmfs/volumes/{datastore.moid}",
                accessMode="readWrite",
                mounted=True,
                accessible=accessible,
            ),
        )
        for host in world.hosts_of_datastore.get(datastore.moid, [])
    ]
    return Seen(
        ref,
        {
            "name": api_name(datastore.name),
            "parent": folder,
            "overallStatus": "green",
            "configStatus": "green",
            "summary": summary,
            "info": vim.Datastore.Info(
                name=api_name(datastore.name),
                url=url,
                freeSpace=_CAPACITY_BYTES // 2,
                maxFileSize=_CAPACITY_BYTES,
                maxMemoryFileSize=_CAPACITY_BYTES,
            ),
            "host": mounts,
            "vm": world.vms_at(datastore.moid),
        },
    )


def network_object(world: World, network: Network, folder: Ref) -> Seen:
    """Return a network or a distributed port group, told by its id."""
    ref = world.ref(network.moid)
    props: dict[str, Held] = {
        "name": api_name(network.name),
        "parent": folder,
        "overallStatus": "green",
        "configStatus": "green",
        "summary": vim.Network.Summary(
            network=ref, name=api_name(network.name), accessible=True, ipPoolName=""
        ),
        "host": world.refs(host.moid for host in world.hosts_of_network.get(network.moid, [])),
        "vm": world.vms_at(network.moid),
    }
    if network.moid.startswith(PORTGROUP_PREFIX):
        props.update({"key": network.moid, "config": _portgroup_config(network)})
    return Seen(ref, props)


def _portgroup_config(network: Network) -> Any:
    kind = vim.dvs.DistributedVirtualPortgroup
    return kind.ConfigInfo(
        key=network.moid,
        name=api_name(network.name),
        numPorts=8,
        type="earlyBinding",
        policy=kind.PortgroupPolicy(),
    )
