"""Virtual machines and templates of inventory YAML."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from vplacer.inventory.host import ConnectionState
from vplacer.inventory.limits_table import FIRST_WITH_VNUMA, table_limits
from vplacer.inventory.site import EsxtopSeed
from vplacer.inventory.site_cards import CardUse
from vplacer.inventory.site_clusters import PoolMaker
from vplacer.inventory.site_hosts import SiteHost, option_text
from vplacer.inventory.site_names import MoidCounter, fill_number, has_number, matches, stable_uuid
from vplacer.inventory.site_vm_devices import DeviceMaker, VmDevices
from vplacer.inventory.vcenter import Gap
from vplacer.inventory.vm import Ownership, Vm, VmPower, VnumaConfig
from vplacer.inventory.yaml_marks import Document, Pointer

_MAX_VMS: Final = 200_000
_POWER: Final = {"on": VmPower.ON, "off": VmPower.OFF, "suspended": VmPower.SUSPENDED}


@dataclass(frozen=True)
class SiteVm:
    """A VM, its own DRS level, where it really runs, the cards it holds (device key, address)."""

    vm: Vm
    owner: str
    drs: str | None
    home: tuple[int, ...]
    made: VmDevices
    esxtop: EsxtopSeed | None = None


@dataclass(frozen=True)
class VmWorld:
    """What VMs refer to."""

    site_name: str
    taken_at: str
    hosts: list[SiteHost]
    owners: dict[str, str]
    pools: PoolMaker
    datastores: dict[str, str]
    networks: dict[str, str]
    uses: dict[str, CardUse]


class VmMaker:
    """Makes the VMs of a site line by line."""

    def __init__(self, document: Document, world: VmWorld, moids: MoidCounter) -> None:
        self.document = document
        self.world = world
        self.moids = moids
        self.names: set[str] = set()
        self.devices = DeviceMaker(document, world.site_name, world.networks, world.uses)

    def make(self, raw: dict[str, Any], pointer: Pointer) -> list[SiteVm]:
        """Expand one VM line.

        Raises:
            FileFormatError: a reference does not resolve, a name is used twice, a card is held twice.
        """
        if "count" in raw and "per_host" in raw:
            raise self.document.error(pointer, "give count or per_host, not both")
        hosts = self._hosts(raw, pointer)
        if "per_host" in raw:
            chosen = [item for item in hosts for _ in range(int(raw["per_host"]))]
        else:
            chosen = [hosts[index % len(hosts)] for index in range(int(raw.get("count", 1)))]
        if len(self.names) + len(chosen) > _MAX_VMS:
            raise self.document.error(pointer, f"more than {_MAX_VMS} VMs together")
        return [
            self._vm(raw, pointer, item, self._name(raw, pointer, item, number, len(chosen)))
            for number, item in enumerate(chosen, start=1)
        ]

    def _hosts(self, raw: dict[str, Any], pointer: Pointer) -> list[SiteHost]:
        if "on" not in raw:
            if not self.world.hosts:
                raise self.document.error(pointer, "there is no host for it")
            if len(self.world.hosts) == 1:
                return self.world.hosts
            raise self.document.error(pointer, "the key 'on' is missing: there are several hosts")
        patterns = [raw["on"]] if isinstance(raw["on"], str) else raw["on"]
        found: dict[str, SiteHost] = {}
        for pattern in patterns:
            hits = [item for item in self.world.hosts if matches(item.host.name, str(pattern))]
            if not hits:
                raise self.document.error((*pointer, "on"), f"no host is called '{pattern}'")
            found |= {item.host.moid: item for item in hits}
        return list(found.values())

    def _name(self, raw: dict[str, Any], pointer: Pointer, item: SiteHost, number: int, total: int) -> str:
        pattern = str(raw["name"])
        if total > 1 and not has_number(pattern):
            pattern += "-{n}" if "{host}" not in pattern or int(raw.get("per_host", 1)) > 1 else ""
        name = fill_number(pattern, number).replace("{host}", item.host.name)
        if name in self.names:
            raise self.document.error((*pointer, "name"), f"two VMs are called '{name}'")
        self.names.add(name)
        return name

    def _vm(self, raw: dict[str, Any], pointer: Pointer, item: SiteHost, name: str) -> SiteVm:
        template = bool(raw.get("template", False))
        power = _POWER[str(raw.get("power", "off" if template else "on"))]
        if template and power is not VmPower.OFF:
            raise self.document.error((*pointer, "power"), "a template is off")
        made = self.devices.make(raw.get("devices"), pointer, item, name, running=power is VmPower.ON)
        for key in ("node_affinity", "home"):
            self._check_nodes(raw.get(key, []), (*pointer, key), item)
        measured = raw.get("measured_home", {}).get("nodes", [])
        self._check_nodes(measured, (*pointer, "measured_home", "nodes"), item)
        owner = self.world.owners[item.host.moid]
        cpus = int(raw["cpus"])
        cores = self._cores_per_socket(raw, pointer, cpus)
        memory = int(raw["memory_gib"]) * 1024
        reserved, locked = self._reservation(raw, pointer, memory, made)
        limit = raw.get("memory_limit_gib")
        version = self._version(raw, pointer, item)
        vm = Vm(
            moid=self.moids.take("vm"),
            name=name,
            instance_uuid=stable_uuid(self.world.site_name, "vm", name),
            datacenter=item.host.datacenter,
            folder=str(raw.get("folder", "vm")),
            host=item.host.moid,
            pool=None if template else self._pool(raw, pointer, owner),
            power=power,
            connection=ConnectionState(raw.get("connection", "connected")),
            template=template,
            readable=bool(raw.get("readable", True)),
            hardware_version=version,
            change_version=self.world.taken_at.removesuffix("Z") + ".000000Z",
            cpus=cpus,
            cores_per_socket=cores,
            cores_per_socket_auto=cores is None if version >= FIRST_WITH_VNUMA else None,
            simultaneous_threads=raw.get("simultaneous_threads"),
            memory_mib=memory,
            memory_reservation_mib=reserved,
            memory_limit_mib=None if limit is None else round(limit * 1024),
            memory_locked_to_max=locked,
            cpu_reservation_mhz=int(raw.get("cpu_reservation_mhz", 0)),
            overhead_mib=int(raw.get("overhead_mib", overhead_mib(cpus, memory))),
            latency_sensitivity=str(raw.get("latency_sensitivity", "normal")),
            cpu_hot_add=bool(raw.get("cpu_hot_add", False)),
            memory_hot_add=bool(raw.get("memory_hot_add", False)),
            firmware=str(raw.get("firmware", "efi")),
            guest_id=str(raw.get("guest_id", "ubuntu64Guest")),
            vnuma=_vnuma(raw, version),
            cpu_affinity=tuple(raw.get("cpu_affinity", [])),
            devices=tuple(made.devices),
            device_groups=tuple(made.groups),
            extra_config=_extra_config(raw),
            datastores=self._datastores(raw, pointer, item),
            networks=self._networks(raw, pointer, made),
            snapshot_count=int(raw.get("snapshots", 0)),
            linked_clone=bool(raw.get("linked_clone", False)),
            ownership=_ownership(raw),
            tags=tuple(sorted(str(tag) for tag in raw.get("tags", []))),
        )
        home = tuple(sorted(set(raw.get("home", raw.get("node_affinity", [])))))
        return SiteVm(vm, owner, raw.get("drs"), home if power is VmPower.ON else (), made, _esxtop(raw))

    def _cores_per_socket(self, raw: dict[str, Any], pointer: Pointer, cpus: int) -> int | None:
        cores = raw.get("cores_per_socket")
        if cores is not None and cpus % int(cores):
            raise self.document.error(
                (*pointer, "cores_per_socket"), f"{cpus} vCPUs do not divide by {cores}"
            )
        return None if cores is None else int(cores)

    def _check_nodes(self, nodes: list[int], pointer: Pointer, item: SiteHost) -> None:
        known = {node.id for node in item.host.numa_nodes}
        for node in nodes:
            if node not in known:
                raise self.document.error(pointer, f"{item.host.name} has no NUMA node {node}")

    def _reservation(
        self, raw: dict[str, Any], pointer: Pointer, memory: int, made: VmDevices
    ) -> tuple[int, bool]:
        if "reservation_gib" not in raw:
            return (memory, True) if made.has_pci else (0, False)
        reserved = round(raw["reservation_gib"] * 1024)
        if reserved > memory:
            raise self.document.error((*pointer, "reservation_gib"), "more than the memory of the VM")
        return reserved, reserved == memory and made.has_pci

    def _version(self, raw: dict[str, Any], pointer: Pointer, item: SiteHost) -> int:
        offered = [limit.version for limit in table_limits(item.host.version)]
        if "hardware_version" not in raw:
            return offered[-1] if offered else 13
        version = int(raw["hardware_version"])
        if offered and version > offered[-1] and not raw.get("template") and raw.get("power", "on") == "on":
            raise self.document.error(
                (*pointer, "hardware_version"),
                f"{item.host.name} (ESXi {item.host.version}) runs at most version {offered[-1]}",
            )
        return version

    def _pool(self, raw: dict[str, Any], pointer: Pointer, owner: str) -> str:
        pools = self.world.pools
        if "pool" not in raw:
            return pools.roots[owner]
        moid = pools.by_name.get((owner, str(raw["pool"])))
        if moid is None:
            raise self.document.error(
                (*pointer, "pool"), f"the cluster of its host has no pool '{raw['pool']}'"
            )
        return moid

    def _datastores(self, raw: dict[str, Any], pointer: Pointer, item: SiteHost) -> tuple[str, ...]:
        if "datastores" not in raw:
            return item.host.datastores[:1]
        return self._named(raw["datastores"], self.world.datastores, (*pointer, "datastores"), "datastore")

    def _networks(self, raw: dict[str, Any], pointer: Pointer, made: VmDevices) -> tuple[str, ...]:
        if "networks" not in raw:
            return tuple(dict.fromkeys(made.networks))
        return self._named(raw["networks"], self.world.networks, (*pointer, "networks"), "network")

    def _named(self, names: list[str], known: dict[str, str], pointer: Pointer, what: str) -> tuple[str, ...]:
        for index, name in enumerate(names):
            if name not in known:
                raise self.document.error(
                    (*pointer, index), f"there is no {what} '{name}'", hint=f"known: {', '.join(known)}"
                )
        return tuple(known[name] for name in names)


def _esxtop(raw: dict[str, Any]) -> EsxtopSeed | None:
    given = raw.get("measured_home")
    if given is None:
        return None
    percent = given.get("locality_percent")
    bounds = percent if isinstance(percent, list) else [percent, percent]
    if percent is not None:
        bounds = sorted(bounds)
    return EsxtopSeed(tuple(sorted(set(given["nodes"]))), bounds[0], bounds[1], given.get("migrations"))


def overhead_mib(cpus: int, memory_mib: int) -> int:
    """Return a VM's memory overhead, from VMware's table "Overhead Memory on Virtual Machines".

    The table's values (1 to 8 vCPUs, 256 MiB to 16 GiB) lie on this line within 5 %.
    """
    return round(14.3 + 4 * cpus + 0.0074 * memory_mib)


def _vnuma(raw: dict[str, Any], version: int) -> VnumaConfig:
    if version < FIRST_WITH_VNUMA:
        return VnumaConfig(None, None, None)
    cores = raw.get("vnuma_cores_per_node")
    return VnumaConfig(cores, cores is None, raw.get("vnuma_on_hot_add", False))


def _extra_config(raw: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    options = {str(key): option_text(value) for key, value in raw.get("extra_config", {}).items()}
    if "node_affinity" in raw:
        options["numa.nodeAffinity"] = ",".join(str(node) for node in sorted(set(raw["node_affinity"])))
    return tuple(sorted(options.items()))


def _ownership(raw: dict[str, Any]) -> Ownership:
    return Ownership(
        managed_by=raw.get("managed_by"),
        disabled_methods=tuple(sorted(str(name) for name in raw.get("disabled_methods", []))),
        pending_question=bool(raw.get("pending_question", False)),
        fault_tolerance=bool(raw.get("fault_tolerance", False)),
        is_agent=bool(raw.get("agent", False)),
        consolidation_needed=bool(raw.get("consolidation_needed", False)),
    )


def unreadable_gaps(vms: list[SiteVm]) -> list[Gap]:
    """Return a gap for each VM whose configuration vCenter cannot read, unless it surely takes nothing."""
    lost = (ConnectionState.ORPHANED, ConnectionState.INVALID)
    away = (ConnectionState.DISCONNECTED, ConnectionState.INACCESSIBLE)
    return [
        Gap(
            vm.moid,
            "config",
            "disconnected" if vm.connection in away else "fault",
            f"the VM is {vm.connection.value}; its configuration is unknown",
        )
        for vm in (item.vm for item in vms)
        if not vm.readable and (vm.is_on or vm.connection not in lost)
    ]
