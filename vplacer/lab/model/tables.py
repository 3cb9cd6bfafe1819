"""The objects of the simulated vCenter as they are now, and which of them changed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from hashlib import sha256

from vplacer.inventory.cluster import Cluster, ResourcePool
from vplacer.inventory.host import Host
from vplacer.inventory.moids import moid_order
from vplacer.inventory.overlay import Overlay
from vplacer.inventory.pci import PciAddress
from vplacer.inventory.site import HeldDevice, SiteExtras
from vplacer.inventory.vm import Vm
from vplacer.lab.model.device_edit import is_nic
from vplacer.lab.model.faults import LabFault, not_found
from vplacer.lab.model.pools import PoolUse
from vplacer.lab.model.reconfigure import Edited
from vplacer.lab.model.state import LabState
from vplacer.topology.build import TopologyCache, build_topologies
from vplacer.topology.host_topology import HostTopology


@dataclass(frozen=True, slots=True)
class Changes:
    """Managed object ids of what changed, and ids of tasks; ``gone``: VMs that no longer exist.

    ``events``: how many lines the log has grown.
    """

    vms: frozenset[str] = frozenset()
    gone: frozenset[str] = frozenset()
    hosts: frozenset[str] = frozenset()
    clusters: frozenset[str] = frozenset()
    pools: frozenset[str] = frozenset()
    tasks: frozenset[str] = frozenset()
    events: int = 0

    def __bool__(self) -> bool:
        return bool(
            self.vms or self.gone or self.hosts or self.clusters or self.pools or self.tasks or self.events
        )


@dataclass
class _Touched:
    vms: set[str] = field(default_factory=set)
    gone: set[str] = field(default_factory=set)
    hosts: set[str] = field(default_factory=set)
    clusters: set[str] = field(default_factory=set)
    pools: set[str] = field(default_factory=set)
    tasks: set[str] = field(default_factory=set)
    events: int = 0


class Tables:
    """All objects, by managed object id, to be changed one by one. Not thread-safe: `Machine` locks.

    ``macs``: MAC addresses of NICs by VM and device key. ``offsets``: where on its card a vGPU lies, in
    GiB or memory slices, by VM and device key. ``seated``: hosts of which it was found out which VMs hold
    which cards (`seats`). ``foreign``: holders of cards that are no VMs of the inventory.
    """

    def __init__(self, state: LabState, overlays: Iterable[Overlay] = ()) -> None:
        inventory, extras = state.inventory, state.extras
        self.base = inventory
        self.extras = extras
        self.overlays = tuple(overlays)
        self._overlay_places: dict[str, list[int]] = {}
        for place, overlay in enumerate(self.overlays):
            for key in {overlay.host, (overlay.host_uuid or overlay.host).lower()}:
                self._overlay_places.setdefault(key, []).append(place)
        self.vms: dict[str, Vm] = dict(inventory.vm_by_moid)
        self.hosts: dict[str, Host] = dict(inventory.host_by_moid)
        self.clusters: dict[str, Cluster] = dict(inventory.cluster_by_moid)
        self.pools: dict[str, ResourcePool] = dict(inventory.pool_by_moid)
        self.held: dict[str, tuple[HeldDevice, ...]] = {}
        for item in extras.held:
            self.held[item.vm] = (*self.held.get(item.vm, ()), item)
        self.homes: dict[str, tuple[int, ...]] = dict(extras.homes)
        self.esxtop = dict(extras.esxtop)
        self.macs: dict[tuple[str, int], str] = {}
        self.offsets: dict[tuple[str, int], tuple[int, int]] = {}
        self.fixed_hot_plug: set[str] = set()
        self.seated: set[str] = set()
        self._mac_count = 0
        self.pool_use = PoolUse(self.pools, self.vms.values())
        self.on_host: dict[str, set[str]] = {moid: set() for moid in self.hosts}
        for vm in self.vms.values():
            if vm.host in self.on_host:
                self.on_host[vm.host].add(vm.moid)
        self._by_name: dict[tuple[str | None, str, str], dict[str, None]] = {}
        for vm in self.vms.values():
            self._by_name.setdefault(_path(vm), {})[vm.moid] = None
        self.foreign: set[str] = {vm for vm in self.held if vm not in self.vms}
        self._group_sets = {(item.host, item.group): item.sets for item in extras.group_sets}
        self._cache = TopologyCache()
        self._topologies: dict[str, HostTopology] = {}
        self._state: LabState | None = state
        self._touched = _Touched()

    # Reading

    def vm(self, moid: str) -> Vm:
        """Return a VM.

        Raises:
            LabFault: ``ManagedObjectNotFound``.
        """
        if moid not in self.vms:
            raise not_found(moid)
        return self.vms[moid]

    def host(self, moid: str | None) -> Host:
        """Return a host; errors as `vm`."""
        if moid is None or moid not in self.hosts:
            raise not_found(moid or "host") if moid else LabFault("InvalidState", "The VM is on no host.")
        return self.hosts[moid]

    def cluster(self, moid: str) -> Cluster:
        """Return a cluster; errors as `vm`."""
        if moid not in self.clusters:
            raise not_found(moid)
        return self.clusters[moid]

    def cluster_of(self, host: Host) -> Cluster | None:
        """Return the cluster a host is in."""
        return self.clusters.get(host.cluster or "")

    def vms_on(self, host: str) -> tuple[Vm, ...]:
        """Return the VMs registered on a host, in the order of their ids."""
        return tuple(self.vms[moid] for moid in sorted(self.on_host.get(host, ()), key=moid_order))

    def topology(self, host: Host) -> HostTopology:
        """Return a host's topology, with the site's overlays."""
        if host.moid not in self._topologies:
            part = replace(self.base, hosts=(host,))
            found = build_topologies(part, self._overlays_for(host), self._cache)
            self._topologies[host.moid] = found[host.moid]
        return self._topologies[host.moid]

    def _overlays_for(self, host: Host) -> list[Overlay]:
        """Return the overlays that may be of a host, by its hardware uuid or its name."""
        places = {*self._overlay_places.get(host.name, ())}
        if host.uuid:
            places |= {*self._overlay_places.get(host.uuid.lower(), ())}
        return [self.overlays[place] for place in sorted(places)]

    def vm_named(self, datacenter: str | None, folder: str, name: str) -> Vm | None:
        """Return the VM of a name in a folder."""
        return next((self.vms[moid] for moid in self._by_name.get((datacenter, folder, name), ())), None)

    def group_sets(self, host: Host, name: str) -> tuple[tuple[PciAddress, ...], ...] | None:
        """Return the sets of cards that a device group of a host may take; None = nobody knows."""
        stated = self._group_sets.get((host.moid, name))
        if stated is not None:
            return stated
        offers = self.topology(host).device_groups
        return next((offer.sets for offer in offers if offer.name == name), None)

    @property
    def state(self) -> LabState:
        """Everything as an immutable value."""
        if self._state is None:
            inventory = replace(
                self.base,
                vms=tuple(self.vms.values()),
                hosts=tuple(self.hosts.values()),
                clusters=tuple(self.clusters.values()),
                pools=tuple(self.pools.values()),
                gaps=tuple(gap for gap in self.base.gaps if not self._is_gone(gap.object)),
            )
            self._state = LabState(inventory, self._extras())
        return self._state

    def _is_gone(self, moid: str) -> bool:
        return moid in self.base.vm_by_moid and moid not in self.vms

    def _extras(self) -> SiteExtras:
        held = [item for items in self.held.values() for item in items]
        return replace(
            self.extras,
            held=tuple(sorted(held, key=lambda item: (moid_order(item.vm), item.device_key))),
            homes=tuple(self.homes.items()),
            esxtop=tuple(self.esxtop.items()),
        )

    # Writing

    def put_vm(self, vm: Vm) -> None:
        """Add or replace a VM."""
        old = self.vms.get(vm.moid)
        self.vms[vm.moid] = vm
        self._touched.vms.add(vm.moid)
        self._reserve(old, vm)
        self._rename(old, vm)
        if old is None or old.host != vm.host:
            for host in (old.host if old is not None else None, vm.host):
                if host in self.on_host:
                    self._touched.hosts.add(host)
            if old is not None and old.host in self.on_host:
                self.on_host[old.host].discard(vm.moid)
            if vm.host in self.on_host:
                self.on_host[vm.host].add(vm.moid)
        for pool in {old.pool if old is not None else None, vm.pool} - {None}:
            if (old is None or old.pool != vm.pool) and pool in self.pools:
                self._touched.pools.add(pool)
        self._state = None

    def _reserve(self, before: Vm | None, after: Vm | None) -> None:
        if self.pool_use.moved(before, after):
            for pool in self.pool_use.renewed():
                self.put_pool(pool)

    def _rename(self, before: Vm | None, after: Vm | None) -> None:
        if before is not None and after is not None and _path(before) == _path(after):
            return
        if before is not None:
            del self._by_name[_path(before)][before.moid]
        if after is not None:
            self._by_name.setdefault(_path(after), {})[after.moid] = None

    def drop_vm(self, moid: str) -> None:
        """Remove a VM, and it from the rules of its cluster."""
        vm = self.vms.pop(moid)
        self._reserve(vm, None)
        self._rename(vm, None)
        if vm.host in self.on_host:
            self.on_host[vm.host].discard(moid)
            self._touched.hosts.add(vm.host)
        if vm.pool in self.pools:
            self._touched.pools.add(vm.pool)
        self.forget_run(moid)
        self.held.pop(moid, None)
        for key in [key for key in self.macs if key[0] == moid]:
            del self.macs[key]
        for cluster in tuple(self.clusters.values()):
            after = _without_vm(cluster, moid)
            if after != cluster:
                self.put_cluster(after)
        self._touched.vms.discard(moid)
        self._touched.gone.add(moid)
        self._state = None

    def put_host(self, host: Host) -> None:
        """Replace a host."""
        if self.hosts[host.moid] is not host:
            self.hosts[host.moid] = host
            self._touched.hosts.add(host.moid)
            self._state = None

    def put_cluster(self, cluster: Cluster) -> None:
        """Replace a cluster."""
        self.clusters[cluster.moid] = cluster
        self._touched.clusters.add(cluster.moid)
        self._state = None

    def put_pool(self, pool: ResourcePool) -> None:
        """Replace a resource pool."""
        if self.pools[pool.moid] != pool:
            self.pools[pool.moid] = pool
            self._touched.pools.add(pool.moid)
            self._state = None

    def hold(self, vm: str, held: tuple[HeldDevice, ...]) -> None:
        """Note which cards a VM holds; none = it holds nothing."""
        if held:
            self.held[vm] = held
            if vm not in self.vms:
                self.foreign.add(vm)
        else:
            self.held.pop(vm, None)
            self.foreign.discard(vm)
        self._state = None

    def set_home(self, vm: str, nodes: tuple[int, ...]) -> None:
        """Note where a running VM is; what was measured before no longer holds."""
        self.homes[vm] = nodes
        self.esxtop.pop(vm, None)
        self._state = None

    def mac(self, vm: str, key: int) -> str:
        """Return the address of a NIC."""
        known = self.macs.get((vm, key))
        return known if known is not None else _first_mac(vm, key)

    def renew_macs(self, vm: str, edited: Edited) -> None:
        """Give new NICs an address: the one asked for, else one never given before."""
        for key in edited.removed:
            self.macs.pop((vm, key), None)
        for key, mac in edited.addressed:
            self.macs[(vm, key)] = mac
        for key, item in edited.added:
            if item.backing is not None and is_nic(item.backing):
                self._mac_count += 1
                self.macs[(vm, key)] = item.mac or _generated_mac(self._mac_count)

    def forget_run(self, vm: str) -> None:
        """Forget where a VM was that no longer runs."""
        self.homes.pop(vm, None)
        self.esxtop.pop(vm, None)
        for key in [key for key in self.offsets if key[0] == vm]:
            del self.offsets[key]
        self._state = None

    def touch_task(self, task: str) -> None:
        """Note that a task changed."""
        self._touched.tasks.add(task)

    def touch_events(self) -> None:
        """Note that the log grew by a line."""
        self._touched.events += 1

    def take_changes(self) -> Changes:
        """Return what changed since the last call."""
        touched, self._touched = self._touched, _Touched()
        return Changes(
            frozenset(touched.vms),
            frozenset(touched.gone),
            frozenset(touched.hosts),
            frozenset(touched.clusters),
            frozenset(touched.pools),
            frozenset(touched.tasks),
            touched.events,
        )


def _path(vm: Vm) -> tuple[str | None, str, str]:
    return vm.datacenter, vm.folder, vm.name


def _first_mac(vm: str, key: int) -> str:
    """The address of a NIC that was there from the beginning; always the same (range 00:50:56:00 to 3f)."""
    digest = sha256(f"{vm}/{key}".encode()).digest()
    return f"00:50:56:{digest[0] % 0x40:02x}:{digest[1]:02x}:{digest[2]:02x}"


def _generated_mac(number: int) -> str:
    """An address of the range that vCenter gives out (00:50:56:80 to bf)."""
    return f"00:50:56:{0x80 + (number >> 16) % 0x40:02x}:{(number >> 8) & 0xFF:02x}:{number & 0xFF:02x}"


def _without_vm(cluster: Cluster, vm: str) -> Cluster:
    """Take a VM out of a cluster's rules; one between VMs that has fewer than two left goes."""

    def left(vms: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(moid for moid in vms if moid != vm)

    pairs = []
    for rule in cluster.vm_vm_rules:
        kept = replace(rule, vms=left(rule.vms))
        if kept.vms == rule.vms or len(kept.vms) > 1:
            pairs.append(kept)
    return replace(
        cluster,
        drs_overrides=tuple(item for item in cluster.drs_overrides if item[0] != vm),
        vm_vm_rules=tuple(pairs),
        vm_host_rules=tuple(
            replace(rule, vms=left(rule.vms)) if vm in rule.vms else rule for rule in cluster.vm_host_rules
        ),
    )
