"""Where an object is, from the vCenter down, by name."""

from __future__ import annotations

from vplacer.audit.model import Hit, NotEvaluated, Place
from vplacer.inventory.vcenter import Inventory


def places_of(inventory: Inventory, found: Hit | NotEvaluated) -> tuple[Place, ...]:
    """Return the way to what was found: vCenter, datacenter, cluster, host, VM, device, as far as known."""
    host_id, cluster_id = where(inventory, found)
    vm = inventory.vm_by_moid.get(found.vm or "")
    host = inventory.host_by_moid.get(host_id or "")
    cluster = inventory.cluster_by_moid.get(cluster_id or "")
    owner = vm or host or cluster
    places = [Place("vcenter", inventory.about.name or inventory.about.instance_uuid)]
    if owner is not None:
        known = {item.moid: item.name for item in inventory.datacenters}
        if owner.datacenter in known:
            places.append(Place("datacenter", known[owner.datacenter]))
    if cluster is not None:
        places.append(Place("cluster", cluster.name))
    if host_id is not None:
        places.append(Place("host", host.name if host is not None else host_id))
    if found.vm is not None:
        places.append(Place("vm", vm.name if vm is not None else found.vm))
    if isinstance(found, Hit) and found.device is not None:
        places.append(Place("device", found.device))
    return tuple(places)


def where(inventory: Inventory, found: Hit | NotEvaluated) -> tuple[str | None, str | None]:
    """Return the moids of host and cluster of what was found, as far as they are known."""
    vm = inventory.vm_by_moid.get(found.vm or "")
    host_id = found.host if found.host is not None or vm is None else vm.host
    host = inventory.host_by_moid.get(host_id or "")
    cluster_id = found.cluster if found.cluster is not None or host is None else host.cluster
    return host_id, cluster_id
