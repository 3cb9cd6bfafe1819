"""Loads inventory YAML: validates it, expands it and resolves every reference."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path, PurePath
from typing import Any, Final

from vplacer.errors import NewerFormatError
from vplacer.inventory.cluster import Cluster, Datastore, Network, ResourcePool
from vplacer.inventory.host import DeviceBinding, Host, PciDevice
from vplacer.inventory.limits_table import parse_release
from vplacer.inventory.moids import moid_order
from vplacer.inventory.schema_check import validate
from vplacer.inventory.site import HeldDevice, Site, SiteExtras
from vplacer.inventory.site_cards import CardUse
from vplacer.inventory.site_clusters import ClusterNames, PoolMaker, add_rules, make_cluster
from vplacer.inventory.site_hosts import (
    DEFAULT_RELEASE,
    HostMaker,
    Place,
    SiteHost,
    connection_gaps,
    esxcli_nodes,
    group_sets,
    site_overlay,
)
from vplacer.inventory.site_kinds import build_kind
from vplacer.inventory.site_names import MoidCounter, stable_uuid
from vplacer.inventory.site_schema import SITE_SCHEMA
from vplacer.inventory.site_vms import SiteVm, VmMaker, VmWorld, unreadable_gaps
from vplacer.inventory.vcenter import About, Datacenter, Gap, Inventory
from vplacer.inventory.vm import Vm
from vplacer.inventory.yaml_marks import Document, parse_document, read_document

FORMAT_VERSION: Final = 1
_GAP_TYPES: Final = (
    "HostSystem",
    "VirtualMachine",
    "ClusterComputeResource",
    "ComputeResource",
    "ResourcePool",
)
"""Types a gap may name: then no object of the type tells the property."""

DEFAULT_TAKEN_AT: Final = "2025-01-01T00:00:00Z"


def load_site(path: Path) -> Site:
    """Load an inventory YAML file.

    Raises:
        UnknownObjectError: there is no such file.
        FileFormatError: it does not parse, validate or resolve; carries file and line.
        NewerFormatError: it is of a newer format than this version reads.
    """
    return site_from_document(read_document(path))


def load_site_text(text: str, path: str = "inventory.yaml") -> Site:
    """Load inventory YAML from text; ``path`` is what errors call it."""
    return site_from_document(parse_document(text, path))


def site_from_document(document: Document) -> Site:
    """Expand a loaded document; errors as `load_site`."""
    data = document.data
    version = data.get("format_version") if isinstance(data, dict) else None
    if isinstance(version, int) and version > FORMAT_VERSION:
        raise NewerFormatError(
            f"inventory format {version} is newer than this version reads",
            obj=document.path,
            why=f"this version reads format {FORMAT_VERSION}",
            hint="upgrade vplacer",
        )
    validate(document, SITE_SCHEMA)
    return _SiteBuilder(document).build()


class _SiteBuilder:
    """Builds one site; each step uses what the earlier ones left."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.data: dict[str, Any] = document.data
        stem = PurePath(document.path).name.removesuffix(".yaml").removesuffix(".yml")
        self.name = str(self.data.get("name", stem))
        self.taken_at = str(self.data.get("taken_at", DEFAULT_TAKEN_AT))
        self.moids = MoidCounter()
        self.about = self._about()
        self.hosts: list[SiteHost] = []
        self.clusters: list[Cluster] = []
        self.owners: dict[str, str] = {}
        self.pools = PoolMaker(document, self.moids)

    def build(self) -> Site:
        self.datacenters = self._unique(self.data.get("datacenters", ["dc1"]), "datacenters", "datacenter")
        stores = [_named(entry) for entry in self.data.get("datastores", ["datastore1"])]
        self.datastores = self._unique([name for name, _ in stores], "datastores", "datastore")
        self.networks = self._unique(self.data.get("networks", ["VM Network"]), "networks", "network")
        self._hosts_and_clusters()
        self._file_pools()
        vms = self._vms()
        hosts = self._with_use(vms)
        clusters = [self._with_rules(cluster, index, vms) for index, cluster in enumerate(self.clusters)]
        inventory = Inventory(
            about=self.about,
            taken_at=self.taken_at,
            datacenters=tuple(Datacenter(moid, name) for name, moid in self.datacenters.items()),
            clusters=tuple(sorted(clusters, key=lambda c: moid_order(c.moid))),
            hosts=tuple(sorted(hosts, key=lambda h: moid_order(h.moid))),
            pools=tuple(
                sorted(
                    self.pools.finish(hosts, self.owners, [item.vm for item in vms]),
                    key=lambda p: moid_order(p.moid),
                )
            ),
            datastores=tuple(Datastore(self.datastores[name], name, state) for name, state in stores),
            networks=tuple(Network(moid, name) for name, moid in self.networks.items()),
            vms=tuple(sorted((item.vm for item in vms), key=lambda vm: moid_order(vm.moid))),
            gaps=tuple(sorted([*self._gaps(vms), *connection_gaps(self.hosts), *unreadable_gaps(vms)])),
            notes=tuple(self.data.get("notes", [])),
        )
        overlays = [site_overlay(item, self.about.instance_uuid, self.taken_at) for item in self.hosts]
        return Site(
            name=self.name,
            source="yaml",
            inventory=inventory,
            overlays=tuple(overlay for overlay in overlays if overlay is not None),
            extras=self._extras(vms),
        )

    def _about(self) -> About:
        raw = self.data.get("vcenter", {})
        version = str(raw.get("version", DEFAULT_RELEASE))
        return About(
            name=self.name,
            instance_uuid=str(raw.get("instance_uuid", stable_uuid(self.name, "vcenter"))),
            version=version,
            build=str(raw.get("build", "24022515")),
            api_version=str(raw.get("api_version", f"{version}.0")),
        )

    def _unique(self, names: list[str], key: str, kind: str) -> dict[str, str]:
        result: dict[str, str] = {}
        for index, name in enumerate(names):
            if name in result:
                raise self.document.error((key, index), f"the {kind} '{name}' is given twice")
            result[name] = self.moids.take(kind)
        return result

    def _hosts_and_clusters(self) -> None:
        kinds = {name: build_kind(self.document, name, raw) for name, raw in self.data["host_kinds"].items()}
        maker = HostMaker(self.document, self.name, kinds, self.moids)
        first_datacenter = next(iter(self.datacenters.values()))
        seen: set[str] = set()
        for index, raw in enumerate(self.data.get("clusters", [])):
            spot = ("clusters", index)
            if raw["name"] in seen:
                raise self.document.error((*spot, "name"), f"two clusters are called '{raw['name']}'")
            seen.add(raw["name"])
            datacenter = first_datacenter
            if "datacenter" in raw:
                if raw["datacenter"] not in self.datacenters:
                    raise self.document.error(
                        (*spot, "datacenter"), f"no datacenter is called '{raw['datacenter']}'"
                    )
                datacenter = self.datacenters[raw["datacenter"]]
            moid = self.moids.take("domain-c")
            place = Place(datacenter, moid, self.datastores, self.networks, raw.get("evc"))
            made = maker.make(raw.get("hosts", []), (*spot, "hosts"), place)
            names = {item.host.name: item.host.moid for item in made}
            self.clusters.append(make_cluster(self.document, raw, spot, moid, datacenter, names))
            self.pools.add_root(moid)
            self.owners.update({item.host.moid: moid for item in made})
            self.hosts.extend(made)
        alone = Place(first_datacenter, None, self.datastores, self.networks)
        for item in maker.make(self.data.get("hosts", []), ("hosts",), alone):
            owner = self.moids.take("domain-s")
            self.pools.add_root(owner)
            self.owners[item.host.moid] = owner
            self.hosts.append(item)

    def _file_pools(self) -> None:
        clusters = {cluster.name: cluster.moid for cluster in self.clusters}
        for index, raw in enumerate(self.data.get("pools", [])):
            self.pools.add(raw, ("pools", index), clusters)

    def _vms(self) -> list[SiteVm]:
        self.uses = {item.host.moid: CardUse(item.host) for item in self.hosts}
        world = VmWorld(
            site_name=self.name,
            taken_at=self.taken_at,
            hosts=self.hosts,
            owners=self.owners,
            pools=self.pools,
            datastores=self.datastores,
            networks=self.networks,
            uses=self.uses,
        )
        maker = VmMaker(self.document, world, self.moids)
        return [
            vm for index, raw in enumerate(self.data.get("vms", [])) for vm in maker.make(raw, ("vms", index))
        ]

    def _with_use(self, vms: list[SiteVm]) -> list[Host]:
        """Return the hosts with what vCenter shows of the cards in use: bindings, and VMs of a vGPU card."""
        moids = {item.vm.name: item.vm.moid for item in vms}
        bindings: dict[str, list[DeviceBinding]] = {}
        for item in vms:
            for key, address in item.made.held if item.vm.host else ():
                host = item.vm.host or ""
                instance = stable_uuid("assigned", host, str(address))
                bindings.setdefault(host, []).append(DeviceBinding(instance, item.vm.moid, address, key))
        return [_with_use(entry.host, self.uses[entry.host.moid], bindings, moids) for entry in self.hosts]

    def _with_rules(self, cluster: Cluster, index: int, vms: list[SiteVm]) -> Cluster:
        own = [item for item in vms if item.owner == cluster.moid]
        names = ClusterNames(
            [(item.vm.name, item.vm.moid) for item in own],
            [(item.host.name, item.host.moid) for item in self.hosts if item.host.cluster == cluster.moid],
            tuple(
                sorted(
                    ((item.vm.moid, item.drs) for item in own if item.drs is not None),
                    key=lambda pair: moid_order(pair[0]),
                )
            ),
        )
        rules = self.data["clusters"][index].get("rules", [])
        return add_rules(self.document, cluster, rules, ("clusters", index, "rules"), names)

    def _gaps(self, vms: list[SiteVm]) -> list[Gap]:
        """Return the gaps of the file; each names an object by name or moid, or a type for all of them."""
        objects: list[Host | Cluster | Vm | ResourcePool] = [
            *[item.host for item in self.hosts],
            *self.clusters,
            *[item.vm for item in vms],
            *self.pools.pools.values(),
        ]
        known = {name: name for name in (*_GAP_TYPES, self.about.instance_uuid)}
        for table in (self.datacenters, self.datastores, self.networks):
            known |= table | {moid: moid for moid in table.values()}
        # Of two objects of one name the first is meant.
        for item in reversed(objects):
            known |= {item.name: item.moid, item.moid: item.moid}
        found = []
        for index, raw in enumerate(self.data.get("gaps", [])):
            moid = known.get(raw["object"])
            if moid is None:
                text = f"nothing is called '{raw['object']}', so nothing of it can be missing"
                raise self.document.error(("gaps", index, "object"), text)
            found.append(Gap(moid, raw["path"], raw["kind"], raw.get("reason", "")))
        return found

    def _extras(self, vms: list[SiteVm]) -> SiteExtras:
        held = [
            HeldDevice(item.vm.moid, key, item.vm.host, address)
            for item in vms
            if item.vm.host is not None
            for key, address in item.made.held
        ]
        return SiteExtras(
            held=tuple(sorted(held, key=lambda h: (moid_order(h.vm), h.device_key))),
            group_sets=tuple(sets for item in self.hosts for sets in group_sets(item)),
            homes=tuple((item.vm.moid, item.home) for item in vms if item.home),
            esxtop=tuple((item.vm.moid, item.esxtop) for item in vms if item.esxtop is not None),
            no_esxtop=tuple(item.host.moid for item in self.hosts if not item.esxtop),
            esxcli_nodes=tuple(entry for item in self.hosts for entry in esxcli_nodes(item)),
        )


def _named(entry: Any) -> tuple[str, bool]:
    if isinstance(entry, dict):
        return str(entry["name"]), bool(entry.get("accessible", True))
    return str(entry), True


def _with_use(
    host: Host, use: CardUse, bindings: dict[str, list[DeviceBinding]], moids: dict[str, str]
) -> Host:
    """Before API 9.1 a binding names neither card nor device (vSphere API: AssignableHardwareBinding)."""
    release = parse_release(host.api_version)
    tells_card = release is not None and release >= (9, 1, 0)
    ordered = sorted(bindings.get(host.moid, []), key=lambda b: (moid_order(b.vm), b.device_key or 0))
    shown = ordered if tells_card else [replace(b, address=None, device_key=None) for b in ordered]
    devices = tuple(_with_vms(device, use, moids) for device in host.pci_devices)
    return replace(host, pci_devices=devices, bindings=tuple(shown))


def _with_vms(device: PciDevice, use: CardUse, by_name: dict[str, str]) -> PciDevice:
    names = use.vms_on(device.address)
    if not names or device.graphics is None:
        return device
    moids = tuple(sorted((by_name[name] for name in names), key=moid_order))
    return replace(device, graphics=replace(device.graphics, vms=moids))
