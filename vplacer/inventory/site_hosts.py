"""Hosts of inventory YAML: kinds times count, with what one host has of its own."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

from vplacer.inventory.host import (
    ConnectionState,
    GpuMode,
    Host,
    HostCapability,
    HostPower,
    NumaNode,
    PciDevice,
)
from vplacer.inventory.limits_table import parse_release
from vplacer.inventory.overlay import Overlay, OverlayDevice, OverlayLink
from vplacer.inventory.pci import PciAddress
from vplacer.inventory.site import GroupSets
from vplacer.inventory.site_cpus import with_cpu_features
from vplacer.inventory.site_kinds import GIB, HostKind, kind_capability, kind_limits
from vplacer.inventory.site_names import MoidCounter, fill_number, has_number, stable_uuid
from vplacer.inventory.vcenter import Gap
from vplacer.inventory.yaml_marks import Document, Pointer

DEFAULT_RELEASE: Final = "8.0.3"
_DEFAULT_NAME: Final = "esx{n:02}"
_CPU_MODEL: Final = {"intel": "Intel(R) Xeon(R) Gold 6448Y", "amd": "AMD EPYC 9354 32-Core Processor"}


@dataclass(frozen=True)
class SiteHost:
    """A host with the kind it came from and the place of its line; ``esxtop``: it has that service."""

    host: Host
    kind: HostKind
    pointer: Pointer
    absent: frozenset[PciAddress]
    esxtop: bool = True

    def address_of(self, name: str) -> PciAddress | None:
        """Return the address of a device by its name in the file, or None."""
        card = self.kind.tree.card(name)
        if card is None or card.placed in self.absent:
            return None
        return card.placed


@dataclass(frozen=True)
class Place:
    """Where the hosts of one list live."""

    datacenter: str
    cluster: str | None
    datastores: dict[str, str]
    networks: dict[str, str]
    evc_mode: str | None = None


class HostMaker:
    """Makes the hosts of a site one list at a time; names and ids run on."""

    def __init__(self, document: Document, site_name: str, kinds: dict[str, HostKind], moids: MoidCounter):
        self.document = document
        self.site_name = site_name
        self.kinds = kinds
        self.moids = moids
        self.names: set[str] = set()
        self.numbers: dict[str, int] = {}

    def make(self, entries: list[dict[str, Any]], pointer: Pointer, place: Place) -> list[SiteHost]:
        """Expand the host lines of a cluster, or of the hosts outside clusters.

        Raises:
            FileFormatError: unknown kind or reference, a name used twice.
        """
        made = []
        for index, entry in enumerate(entries):
            spot = (*pointer, index)
            kind = self.kinds.get(str(entry["kind"]))
            if kind is None:
                known = ", ".join(sorted(self.kinds)) or "none"
                raise self.document.error(
                    (*spot, "kind"), f"no host kind is called '{entry['kind']}'", hint=f"known: {known}"
                )
            for _ in range(int(entry.get("count", 1))):
                made.append(self._host(entry, spot, kind, place))
        return made

    def _host(self, entry: dict[str, Any], spot: Pointer, kind: HostKind, place: Place) -> SiteHost:
        name = self._name(entry, spot)
        raw = {**kind.raw, **{key: value for key, value in entry.items() if key != "devices"}}
        release = str(raw.get("version", DEFAULT_RELEASE))
        parsed = parse_release(release)
        if parsed is None:
            raise self.document.error(
                (*spot, "version"), f"'{release}' is not a release such as \"{DEFAULT_RELEASE}\""
            )
        devices, absent = self._devices(entry, spot, kind, name)
        memory = int(raw["memory_gib"]) * GIB
        host = Host(
            moid=self.moids.take("host"),
            name=name,
            datacenter=place.datacenter,
            cluster=place.cluster,
            connection=ConnectionState(raw.get("connection", "connected")),
            power=HostPower(raw.get("power", "poweredOn")),
            in_maintenance=bool(raw.get("maintenance", False)),
            in_quarantine=bool(raw.get("quarantine", False)),
            version=release,
            api_version=str(raw.get("api_version", f"{release}.0")),
            build=str(raw.get("build", "24022510")),
            vendor=str(raw.get("vendor", "Example")),
            model=str(raw.get("model", kind.name)),
            uuid=stable_uuid(self.site_name, "host", name),
            cpu_vendor=str(kind.cpu.get("vendor", "intel")),
            cpu_model=str(kind.cpu.get("model", _CPU_MODEL[str(kind.cpu.get("vendor", "intel"))])),
            cpu_hz=int(kind.cpu.get("mhz", 2400)) * 1_000_000,
            package_count=kind.packages,
            core_count=kind.cores,
            thread_count=kind.cores * kind.threads_per_core,
            hyperthreading_active=kind.threads_per_core > 1,
            memory_bytes=memory,
            memory_tiering=str(raw.get("memory_tiering", "noTiering")),
            system_memory_mib=int(raw.get("system_memory_mib", 4096 + memory // (100 * 1024**2))),
            numa_nodes=_nodes(kind, memory, absent),
            pci_devices=devices,
            pnics=tuple(nic for nic in self._pnics(entry, kind) if nic.address not in absent),
            vgpu_profiles=kind.profiles,
            vgpu_types=_possible_types(kind, devices),
            device_groups=kind.groups,
            bindings=(),
            default_graphics_type="sharedDirect" if "vgpu" in kind.raw else "shared",
            assignment_policy=str(kind.raw.get("vgpu", {}).get("policy", "performance")),
            datastores=self._refs(raw, "datastores", place.datastores, spot),
            networks=self._refs(raw, "networks", place.networks, spot),
            limits=kind_limits(kind.raw, release),
            capability=kind_capability(kind.raw, parsed, kind.threads_per_core),
            options=tuple(sorted((key, option_text(value)) for key, value in raw.get("options", {}).items())),
            reboot_required=bool(raw.get("reboot_required", False)),
            tags=tuple(sorted(str(tag) for tag in raw.get("tags", []))),
        )
        host = with_cpu_features(self.document, kind.pointer, host, kind.cpu, place.evc_mode)
        return SiteHost(_as_seen(host), kind, spot, frozenset(absent), bool(raw.get("esxtop", True)))

    def _name(self, entry: dict[str, Any], spot: Pointer) -> str:
        pattern = str(entry.get("name", _DEFAULT_NAME))
        if not has_number(pattern):
            if int(entry.get("count", 1)) > 1:
                raise self.document.error(
                    (*spot, "name"), "several hosts need a running number", hint=f"say {pattern}{{n:02}}"
                )
            name = pattern
        else:
            name = self._next_name(pattern)
        if name in self.names:
            raise self.document.error((*spot, "name"), f"two hosts are called '{name}'")
        self.names.add(name)
        return name

    def _next_name(self, pattern: str) -> str:
        while True:
            self.numbers[pattern] = self.numbers.get(pattern, 0) + 1
            name = fill_number(pattern, self.numbers[pattern])
            if name not in self.names:
                return name

    def _devices(
        self, entry: dict[str, Any], spot: Pointer, kind: HostKind, name: str
    ) -> tuple[tuple[PciDevice, ...], set[PciAddress]]:
        """Apply what one host has differently, and give its devices the host's systemId."""
        changes: dict[PciAddress, dict[str, Any]] = {}
        for alias, change in entry.get("devices", {}).items():
            card = kind.tree.card(alias)
            if card is None:
                raise self.document.error(
                    (*spot, "devices", alias), f"host kind {kind.name} has no such device"
                )
            changes[card.placed] = change
        system_id = stable_uuid(self.site_name, "systemId", name)
        absent = {address for address, change in changes.items() if change.get("absent")}
        gone = absent | _functions_of(absent, kind)
        made = tuple(
            _changed(device, changes.get(device.address, {}), system_id)
            for device in kind.devices
            if device.address not in gone
        )
        return made, gone

    def _pnics(self, entry: dict[str, Any], kind: HostKind) -> Any:
        for nic in kind.pnics:
            card = kind.card(nic.address) if nic.address else None
            change = entry.get("devices", {}).get(card.name, {}) if card else {}
            if "gbps" in change:
                yield replace(nic, link_mbps=int(float(change["gbps"]) * 1000) or None)
            else:
                yield nic

    def _refs(self, raw: dict[str, Any], key: str, known: dict[str, str], spot: Pointer) -> tuple[str, ...]:
        if key not in raw:
            return tuple(known.values())
        for index, name in enumerate(raw[key]):
            if name not in known:
                raise self.document.error(
                    (*spot, key, index),
                    f"there is no '{name}' under {key}",
                    hint=f"known: {', '.join(known)}",
                )
        return tuple(moid for name, moid in known.items() if name in raw[key])


def _nodes(kind: HostKind, memory: int, absent: set[PciAddress]) -> tuple[NumaNode, ...]:
    """Return a host's nodes: those of its kind, with its own memory in bytes and without devices absent."""
    nodes = kind.nodes
    if memory != int(kind.raw["memory_gib"]) * GIB:
        with_memory = [node for node in nodes if node.memory_bytes]
        nodes = tuple(
            replace(node, memory_bytes=memory // len(with_memory)) if node.memory_bytes else node
            for node in nodes
        )
    return tuple(
        replace(node, devices=tuple(a for a in node.devices if a not in absent)) if absent else node
        for node in nodes
    )


def _functions_of(absent: set[PciAddress], kind: HostKind) -> set[PciAddress]:
    """Return the virtual functions of cards that are not there: devices behind the same port."""
    ports = {device.parent_bridge for device in kind.devices if device.address in absent}
    cards = {card.placed for card in kind.tree.cards}
    return {d.address for d in kind.devices if d.parent_bridge in ports and d.address not in cards}


def _changed(device: PciDevice, change: dict[str, Any], system_id: str) -> PciDevice:
    """Return a device with what one host has differently; systemId goes to what can be passed through."""
    passthrough, graphics = device.passthrough, device.graphics
    if passthrough is not None and ("label" in change or "passthrough" in change):
        state = change.get("passthrough")
        if state is not None:
            passthrough = replace(
                passthrough,
                capable=state != "none",
                enabled=state in ("active", "enabled"),
                active=state == "active",
            )
        if "label" in change:
            passthrough = replace(passthrough, label=change["label"])
    if graphics is not None and "mode" in change:
        graphics = replace(graphics, mode=GpuMode(change["mode"]))
    owner = system_id if passthrough is not None and passthrough.capable else None
    return replace(device, passthrough=passthrough, graphics=graphics, system_id=owner)


def _possible_types(kind: HostKind, devices: tuple[PciDevice, ...]) -> tuple[str, ...]:
    """Return the profiles the cards can give in the modes they are in (sharedPassthruGpuTypes)."""
    modes = {device.graphics.mode for device in devices if device.graphics}
    names = []
    for profile in kind.profiles:
        needed = {GpuMode.MIG} if profile.sharing == "mig" else {GpuMode.SAME_SIZE, GpuMode.MIXED_SIZE}
        if modes & needed:
            names.append(profile.name)
    return tuple(names)


def _as_seen(host: Host) -> Host:
    """Take off what vCenter does not know of a host it has no connection to: its ``config`` is unset."""
    if host.connection is ConnectionState.CONNECTED:
        return host
    return replace(
        host,
        pci_devices=tuple(replace(d, passthrough=None, sriov=None, graphics=None) for d in host.pci_devices),
        pnics=(),
        vgpu_profiles=(),
        vgpu_types=(),
        device_groups=(),
        limits=(),
        default_graphics_type=None,
        assignment_policy=None,
        capability=HostCapability(),
        options=(),
    )


def connection_gaps(hosts: list[SiteHost]) -> list[Gap]:
    """Return a gap for each host without a connection: what is missing of it proves nothing."""
    return [
        Gap(item.host.moid, "config", "disconnected", f"the host is {item.host.connection.value}")
        for item in hosts
        if item.host.connection is not ConnectionState.CONNECTED
    ]


def site_overlay(item: SiteHost, vcenter_uuid: str, created: str) -> Overlay | None:
    """Return what the file says of a host and vCenter cannot: NVLinks, and nodes it does not list."""
    cards = [card for card in item.kind.tree.cards if card.placed not in item.absent]
    nodes = [card for card in cards if "overlay_node" in card.raw]
    links = [
        (a, b, lanes)
        for a, b, lanes in item.kind.links or ()
        if a.placed not in item.absent and b.placed not in item.absent
    ]
    if not nodes and not links:
        return None
    told = {card.placed: card.raw.get("overlay_node") for card in nodes}
    for first, second, _ in links:
        told.setdefault(first.placed)
        told.setdefault(second.placed)
    return Overlay(
        host=item.host.name,
        host_uuid=item.host.uuid,
        vcenter_uuid=vcenter_uuid,
        created=created,
        source="inventory file",
        devices=tuple(
            OverlayDevice(device.address, device.ids, told[device.address])
            for device in item.host.pci_devices
            if device.address in told
        ),
        links=tuple(sorted(_overlay_link(a.placed, b.placed, lanes) for a, b, lanes in links)),
    )


def _overlay_link(a: PciAddress, b: PciAddress, lanes: int) -> OverlayLink:
    return OverlayLink(min(a, b), max(a, b), lanes)


def group_sets(item: SiteHost) -> list[GroupSets]:
    """Return which cards may form each device group of a host."""
    return [
        GroupSets(
            item.host.moid,
            name,
            tuple(members for members in sets if not item.absent.intersection(members)),
        )
        for name, sets in sorted(item.kind.group_sets.items())
    ]


def esxcli_nodes(item: SiteHost) -> list[tuple[str, PciAddress, int | None]]:
    """Return the nodes of devices that esxcli tells otherwise than vCenter, by host and address."""
    found = []
    for card in item.kind.tree.cards:
        if card.placed in item.absent:
            continue
        told = card.raw.get("esxcli_node", card.node)
        node = None if told is None or told == "unknown" else int(told)
        if node != item.host.node_of(card.placed):
            found.append((item.host.moid, card.placed, node))
    return found


def option_text(value: Any) -> str:
    """Return an option's value as the API gives it: text, booleans in capitals."""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    return str(value)
