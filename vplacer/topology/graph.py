"""The topology as a networkx graph: of a host, and of all hosts of a vCenter in one.

vCenter > datacenter > cluster > host > package > NUMA node > bridges > device, and the VMs. Nodes of
the graph are strings, "type:id"; attributes are strings, numbers and booleans, and a fact that is not
known is an attribute that is not there, so the graph writes to GraphML and JSON as it is.

Edges carry ``type``: "contains" (a tree), "nvlink" (with ``lanes``), "runs_on" (VM and host, the host it
is registered on) and "holds" (VM and device, with ``how``, ``when`` and ``certainty``).

    vcenter:<instance uuid>   datacenter:<moid>   cluster:<moid>   host:<moid>   vm:<moid>
    package:<host moid>/<number>   node:<host moid>/<number>
    bridge:<host moid>/<PCI address>   device:<host moid>/<PCI address>
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, TypeAlias

from vplacer.inventory.host import Host
from vplacer.inventory.pci import PciAddress
from vplacer.inventory.vcenter import Inventory
from vplacer.inventory.vm import Vm
from vplacer.topology.describe import DeviceLine, describe_host
from vplacer.topology.host_topology import HostTopology

if TYPE_CHECKING:
    import networkx as nx

    Graph: TypeAlias = nx.Graph[str]


def host_graph(host: Host, topology: HostTopology, vms: Iterable[Vm] = ()) -> Graph:
    """Return the graph of one host with the VMs registered on it."""
    import networkx as nx

    graph: Graph = nx.Graph()
    _add_host(graph, host, topology, tuple(vms))
    return graph


def vcenter_graph(inventory: Inventory, topologies: Mapping[str, HostTopology]) -> Graph:
    """Return the graph of a whole vCenter; ``topologies`` by host moid (`build_topologies`)."""
    import networkx as nx

    graph: Graph = nx.Graph()
    top = f"vcenter:{inventory.about.instance_uuid}"
    _node(graph, top, "vcenter", name=inventory.about.name, version=inventory.about.version)
    for datacenter in inventory.datacenters:
        _node(graph, f"datacenter:{datacenter.moid}", "datacenter", name=datacenter.name)
        _contains(graph, top, f"datacenter:{datacenter.moid}")
    for cluster in inventory.clusters:
        _node(graph, f"cluster:{cluster.moid}", "cluster", name=cluster.name)
        _contains(graph, _parent(graph, top, datacenter=cluster.datacenter), f"cluster:{cluster.moid}")
    for host in inventory.hosts:
        _add_host(graph, host, topologies[host.moid], inventory.vms_by_host.get(host.moid, ()))
        parent = _parent(graph, top, cluster=host.cluster, datacenter=host.datacenter)
        _contains(graph, parent, f"host:{host.moid}")
    for vm in inventory.vms:
        if vm.host is None or f"host:{vm.host}" not in graph:
            _add_vm(graph, vm)
            _contains(graph, _parent(graph, top, datacenter=vm.datacenter), f"vm:{vm.moid}")
    return graph


def _parent(graph: Graph, top: str, **moids: str | None) -> str:
    """Return the first container that exists, or the top."""
    for kind, moid in moids.items():
        if moid is not None and f"{kind}:{moid}" in graph:
            return f"{kind}:{moid}"
    return top


def _node(graph: Graph, key: str, node_type: str, **attributes: str | int | bool | None) -> None:
    known = {name: value for name, value in attributes.items() if value is not None}
    graph.add_node(key, type=node_type, **known)


def _contains(graph: Graph, outer: str, inner: str) -> None:
    graph.add_edge(outer, inner, type="contains")


def _add_host(graph: Graph, host: Host, topology: HostTopology, vms: tuple[Vm, ...]) -> None:
    top = f"host:{host.moid}"
    _node(
        graph,
        top,
        "host",
        name=host.name,
        connection=str(host.connection),
        in_maintenance=host.in_maintenance,
        model=host.model,
        memory_bytes=host.memory_bytes,
    )
    for node in topology.nodes:
        outer = top
        if node.package is not None:
            outer = f"package:{host.moid}/{node.package}"
            if outer not in graph:
                _node(graph, outer, "package", number=node.package)
                _contains(graph, top, outer)
        inner = f"node:{host.moid}/{node.id}"
        _node(
            graph,
            inner,
            "node",
            number=node.id,
            package=node.package,
            cores=node.core_count,
            memory_bytes=node.memory_bytes,
        )
        _contains(graph, outer, inner)
    description = describe_host(host, topology, vms)
    for vm in vms:
        _add_vm(graph, vm)
        graph.add_edge(f"vm:{vm.moid}", top, type="runs_on")
    _add_devices(graph, host.moid, description.devices)


def _add_vm(graph: Graph, vm: Vm) -> None:
    _node(
        graph,
        f"vm:{vm.moid}",
        "vm",
        name=vm.name,
        power=str(vm.power),
        template=vm.template,
        cpus=vm.cpus if vm.readable else None,
        memory_mib=vm.memory_mib if vm.readable else None,
    )


def _add_devices(graph: Graph, moid: str, devices: tuple[DeviceLine, ...]) -> None:
    for line in devices:
        place = line.place
        key = f"device:{moid}/{place.address}"
        _node(
            graph,
            key,
            "device",
            label=line.label,
            kind=str(place.kind),
            name=line.name,
            address=str(place.address),
            ids=str(place.ids),
            model=place.model,
            numa_node=place.node,
            package=place.package,
            locality_source=str(place.source),
            hardware_label=line.hardware_label,
            passthrough=line.state,
            link_mbps=line.link_mbps,
            virtual_functions=len(place.functions),
        )
        inner = key
        for bridge in place.bridges:
            outer = f"bridge:{moid}/{bridge}"
            _node(graph, outer, "bridge", address=str(bridge), role=_role(bridge, line))
            _contains(graph, outer, inner)
            inner = outer
    for line in devices:
        place = line.place
        outermost = place.bridges[-1] if place.bridges else None
        inner = f"bridge:{moid}/{outermost}" if outermost else f"device:{moid}/{place.address}"
        nodes = {d.place.node for d in devices if outermost and outermost in d.place.bridges} or {place.node}
        known = sorted(node for node in nodes if node is not None)
        # A bridge hangs on a node only where all that is below it is said to be there.
        alone = len(nodes) == 1 and known
        _contains(graph, f"node:{moid}/{known[0]}" if alone else f"host:{moid}", inner)
        for link in line.links:
            other = f"device:{moid}/{link.address}"
            graph.add_edge(f"device:{moid}/{place.address}", other, type="nvlink", lanes=link.lanes)
        for holder in line.holders:
            if f"vm:{holder.moid}" in graph:
                graph.add_edge(
                    f"vm:{holder.moid}",
                    f"device:{moid}/{place.address}",
                    type="holds",
                    how=holder.how,
                    when=str(holder.when),
                    certainty=str(holder.certainty),
                )


def _role(bridge: PciAddress, line: DeviceLine) -> str:
    if bridge == line.place.root:
        return "root port"
    return "switch" if bridge in line.place.switches else "bridge"
