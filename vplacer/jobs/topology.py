"""The topology of one host, or of each, as the formats want it."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from vplacer.errors import AmbiguousObjectError, UnknownObjectError
from vplacer.inventory.host import Host
from vplacer.inventory.vcenter import Inventory
from vplacer.jobs.fixtures import file_or_fixture
from vplacer.jobs.source import Reading, SourceOptions, load_site, read_source
from vplacer.jobs.world import World

if TYPE_CHECKING:
    from vplacer.topology.host_topology import HostTopology
    from vplacer.topology.host_view import HostView


def host_topology(name: str, options: SourceOptions, world: World) -> HostView:
    """Return the view of a host.

    Args:
        name: the host's name, its name up to the first dot, or its managed object id.
        options: where the inventory comes from.
        world: the outside.

    Raises:
        UnknownObjectError, AmbiguousObjectError: the name fits no host, or several.
        VplacerError: the inventory cannot be read.
    """
    from vplacer.topology.build import build_topologies

    reading = read_source(options, world)
    host = find_host(reading.inventory, name)
    topology = build_topologies(reading.inventory, reading.overlays)[host.moid]
    return _view(host, topology, reading)


def _view(host: Host, topology: HostTopology, reading: Reading) -> HostView:
    from vplacer.constraints.settings_findings import settings_findings
    from vplacer.topology.host_view import view_host
    from vplacer.topology.measured import esxcli_findings, host_measurement

    inventory = reading.inventory
    vms = inventory.vms_by_host.get(host.moid, ())
    return view_host(
        host,
        topology,
        vms,
        inventory.cluster_by_moid.get(host.cluster or ""),
        host_measurement(host, vms, reading.overlays, inventory.taken_at),
        inventory.vm_by_moid,
        (*settings_findings(host, topology, vms), *esxcli_findings(host, reading.overlays)),
    )


def all_topologies(options: SourceOptions, world: World) -> tuple[HostView, ...]:
    """Return the views of all hosts, in the order of the inventory.

    Raises:
        VplacerError: the inventory cannot be read.
    """
    from vplacer.topology.build import build_topologies

    reading = read_source(options, world)
    topologies = build_topologies(reading.inventory, reading.overlays)
    return tuple(_view(host, topologies[host.moid], reading) for host in reading.inventory.hosts)


def hosts_in_file(text: str) -> list[str]:
    """Return the names of the hosts in a snapshot, an inventory YAML or an example site, sorted.

    Raises:
        VplacerError: the file cannot be used.
    """
    site = load_site(file_or_fixture("sites", text))
    return sorted(host.name for host in site.inventory.hosts)


def find_host(inventory: Inventory, name: str) -> Host:
    """Return the host of a name, of a name up to the first dot, or of a managed object id.

    Raises:
        UnknownObjectError: none fits; the message names the nearest.
        AmbiguousObjectError: several fit; the message lists them.
    """
    wanted = name.lower()
    hosts = inventory.hosts
    found = [host for host in hosts if wanted in (host.name.lower(), host.moid.lower())]
    found = found or [host for host in hosts if host.name.lower().partition(".")[0] == wanted]
    if len(found) == 1:
        return found[0]
    if found:
        listed = ", ".join(f"{host.name} ({host.moid})" for host in found)
        raise AmbiguousObjectError(
            "several hosts have this name", obj=name, why=listed, hint="give the id in brackets"
        )
    names = sorted(host.name for host in hosts)
    close = difflib.get_close_matches(name, names, n=3)
    some = ", ".join(close or names[:10]) + (" ..." if not close and len(names) > 10 else "")
    raise UnknownObjectError(
        "no host has this name",
        obj=name,
        hint=f"did you mean {some}?"
        if close
        else f"there are: {some}"
        if names
        else "the inventory has none",
    )
