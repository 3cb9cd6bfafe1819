"""Where a VM may go: clusters, hosts, pool, and the datastores and networks its host must reach."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from vplacer.inventory.host import Host
from vplacer.inventory.vcenter import Inventory
from vplacer.inventory.vm import Vm
from vplacer.inventory.yaml_marks import Pointer
from vplacer.request.complaints import Placed
from vplacer.request.file import Placing
from vplacer.request.lookup import Lookup
from vplacer.request.select import Target


@dataclass(frozen=True, slots=True)
class Where:
    """Managed object ids; empty = any. ``excluded``: the VM cannot leave its host, which is not allowed.

    ``pool`` None = the VM's own where it stays in its cluster, else the root pool of the cluster.
    """

    clusters: tuple[str, ...]
    hosts: tuple[str, ...]
    pool: str | None
    datastores: tuple[str, ...]
    networks: tuple[str, ...]
    excluded: bool = False


@dataclass(frozen=True, slots=True)
class Reachable:
    """The hosts that some clusters and hosts of a request allow, and what is asked of them often.

    ``clusters``: theirs, each once. ``least_node_cores``: the cores of the largest node, the least of all
    the hosts with several nodes; None = there is no such host.
    """

    hosts: tuple[Host, ...]
    moids: tuple[str, ...]
    clusters: tuple[str, ...]
    least_node_cores: int | None

    @staticmethod
    def of(hosts: tuple[Host, ...]) -> Reachable:
        """Look at hosts once."""
        nodes = (host.numa_nodes for host in hosts if len(host.numa_nodes) > 1)
        return Reachable(
            hosts,
            tuple(host.moid for host in hosts),
            tuple(dict.fromkeys(host.cluster for host in hosts if host.cluster is not None)),
            min((max(node.core_count for node in several) for several in nodes), default=None),
        )

    def may_span(self, cpus: int) -> bool:
        """Whether so many vCPUs are more than a NUMA node of one of the hosts has cores."""
        return self.least_node_cores is not None and cpus > self.least_node_cores


class WhereMaker:
    """Resolves the places of one request's entries."""

    def __init__(self, inventory: Inventory, lookup: Lookup, request: Placed) -> None:
        self.inventory = inventory
        self.lookup = lookup
        self.request = request
        self._reachable: dict[tuple[tuple[str, ...], tuple[str, ...]], Reachable] = {}

    def where(self, target: Target, held_here: bool) -> Where:
        """Return where a target may go; ``held_here``: it cannot leave the host it is on.

        An existing VM stays in its cluster unless ``clusters`` or ``hosts`` say otherwise: moving to
        another cluster is more than a placement.
        """
        placing, vm = target.entry.placing, target.vm
        base = vm or target.template
        assert base is not None
        at = self._pointers(target.entry.pointer)
        clusters: tuple[str, ...] = ()
        hosts: tuple[str, ...] = ()
        if placing.clusters is not None:
            clusters = self.lookup.find_clusters(at("clusters"), placing.clusters)
        if placing.hosts is not None:
            hosts = self.lookup.find_hosts(at("hosts"), placing.hosts)
        if vm is not None and placing.clusters is None and placing.hosts is None:
            home = self.lookup.cluster_of(vm)
            clusters = (home,) if home is not None else ()
        reachable = self.reachable(clusters, hosts)
        excluded = False
        if vm is not None and held_here and vm.host is not None:
            excluded = vm.host not in reachable.moids
            hosts = (vm.host,)
        datastores, networks = base.datastores, base.networks
        if placing.datastore is not None:
            near = reachable.hosts
            found = [self.lookup.find_datastore(at("datastore"), w, near) for w in placing.datastore]
            datastores = tuple(moid for moid in found if moid is not None)
        if placing.networks is not None:
            found = [self.lookup.find_network(at("networks"), w, reachable.hosts) for w in placing.networks]
            networks = tuple(moid for moid in found if moid is not None)
        pool = self._pool(vm, placing, reachable, at)
        return Where(clusters, hosts, pool, datastores, networks, excluded)

    def reachable(self, clusters: tuple[str, ...], hosts: tuple[str, ...]) -> Reachable:
        """Return the hosts that clusters and hosts allow; empty = any."""
        key = (clusters, hosts)
        if key not in self._reachable:
            self._reachable[key] = Reachable.of(
                tuple(
                    host
                    for host in self.inventory.hosts
                    if (not clusters or host.cluster in clusters) and (not hosts or host.moid in hosts)
                )
            )
        return self._reachable[key]

    def _pointers(self, pointer: Pointer) -> Callable[[str], Pointer]:
        """Return where a key stands: in the entry, else in the defaults."""
        entry = self.request.data[pointer[0]][pointer[1]]
        return lambda key: (*pointer, key) if key in entry else ("defaults", key)

    def _pool(
        self, vm: Vm | None, placing: Placing, reachable: Reachable, at: Callable[[str], Pointer]
    ) -> str | None:
        """Return the pool: the one stated, or an existing VM's own where it surely stays in its cluster."""
        owners = reachable.clusters
        if placing.pool is not None:
            return self.lookup.find_pool(at("pool"), placing.pool, owners)
        pool = self.inventory.pool_by_moid.get(vm.pool) if vm is not None and vm.pool else None
        if pool is None:
            return None
        leaves = pool.owner in self.inventory.cluster_by_moid and owners != (pool.owner,)
        return None if leaves else pool.moid
