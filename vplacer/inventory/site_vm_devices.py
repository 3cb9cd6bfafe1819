"""Devices of described VMs: backings, keys, groups, and the cards running VMs hold."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Any, Final

from vplacer.inventory.gpu_models import gpu_by_name
from vplacer.inventory.host import DeviceGroupType
from vplacer.inventory.nic_models import nic_by_name
from vplacer.inventory.pci import PciAddress, PciIds
from vplacer.inventory.site_cards import CardUse, NoCard
from vplacer.inventory.site_hosts import SiteHost
from vplacer.inventory.site_names import stable_uuid
from vplacer.inventory.vm import (
    AllowedDevice,
    Backing,
    DvxBacking,
    DynamicBacking,
    NetworkBacking,
    SriovBacking,
    StaticBacking,
    UnknownBacking,
    VgpuBacking,
    VmDevice,
    VmDeviceGroup,
)
from vplacer.inventory.yaml_marks import Document, Pointer

_KINDS: Final = ("static", "dynamic", "vgpu", "group", "sriov", "dvx", "network", "unknown")
_IDS_RE: Final = re.compile(r"^[0-9a-fA-F]{4}:[0-9a-fA-F]{4}(:[0-9a-fA-F]{4}:[0-9a-fA-F]{4})?$")
_PCI_KEY: Final = 13000
_NIC_KEY: Final = 4000


@dataclass
class VmDevices:
    """The devices of one VM as they are made. ``held``: device key and card, of a running VM."""

    devices: list[VmDevice] = field(default_factory=list)
    groups: list[VmDeviceGroup] = field(default_factory=list)
    held: list[tuple[int, PciAddress]] = field(default_factory=list)
    networks: list[str] = field(default_factory=list)

    @property
    def has_pci(self) -> bool:
        """Whether a device needs the memory fully reserved."""
        return any(not isinstance(device.backing, NetworkBacking | UnknownBacking) for device in self.devices)


class DeviceMaker:
    """Makes the devices of VMs on one site."""

    def __init__(
        self, document: Document, site_name: str, networks: dict[str, str], uses: dict[str, CardUse]
    ) -> None:
        self.document = document
        self.site_name = site_name
        self.networks = networks
        self.uses = uses

    def make(
        self,
        lines: list[dict[str, Any]] | None,
        pointer: Pointer,
        item: SiteHost,
        vm_name: str,
        running: bool,
    ) -> VmDevices:
        """Make the devices of a VM; of a running one, take the cards.

        Raises:
            FileFormatError: a model, name, network or group does not resolve, or no card is free.
        """
        made = VmDevices()
        if lines is None:
            first = next(iter(self.networks.values()), None)
            lines = []
            self._add(made, NetworkBacking("vmxnet3", first), None)
            if first:
                made.networks.append(first)
        for index, line in enumerate(lines):
            spot = (*pointer, "devices", index)
            kind = self._kind(line, spot)
            for _ in range(int(line.get("count", 1))):
                try:
                    self._line(made, line, kind, spot, item, vm_name, running)
                except NoCard as reason:
                    raise self.document.error((*spot, kind), str(reason)) from None
        return made

    def _kind(self, line: dict[str, Any], spot: Pointer) -> str:
        kinds = [kind for kind in _KINDS if kind in line]
        if len(kinds) == 2 and kinds[0] in ("sriov", "group") and kinds[1] == "network":
            return kinds[0]
        if len(kinds) != 1:
            raise self.document.error(spot, f"a device is exactly one of {', '.join(_KINDS)}")
        allowed = {
            "static": {"ids", "device_id"},
            "dynamic": {"label", "holds"},
            "vgpu": {"holds"},
            "group": {"holds", "network"},
            "network": {"card"},
            "sriov": {"network"},
        }.get(kinds[0], set())
        for key in line:
            if key not in {kinds[0], "count", "numa_node"} | allowed:
                raise self.document.error((*spot, key), f"'{key}' does not go with '{kinds[0]}'")
        return kinds[0]

    def _line(
        self,
        made: VmDevices,
        line: dict[str, Any],
        kind: str,
        spot: Pointer,
        item: SiteHost,
        vm_name: str,
        running: bool,
    ) -> None:
        use = self.uses[item.host.moid]
        node = line.get("numa_node")
        holds = self._holds(line, spot, item)
        if kind == "group":
            self._group(made, line, spot, item, vm_name, running, holds)
            return
        if kind == "static":
            self._static(made, line, spot, item, vm_name, running)
            return
        if kind == "dynamic":
            self._dynamic(made, line, spot, use, vm_name, running, holds)
            return
        if kind == "vgpu":
            profile = str(line["vgpu"])
            migratable = next((p.migratable for p in use.host.vgpu_profiles if p.name == profile), None)
            key = self._add(made, VgpuBacking(profile, migratable), node)
            if running:
                made.held.append((key, use.take_vgpu(profile, vm_name, holds[0] if holds else None)))
            return
        self._add(made, self._other(made, line, kind, spot, item), node)

    def _static(
        self,
        made: VmDevices,
        line: dict[str, Any],
        spot: Pointer,
        item: SiteHost,
        vm_name: str,
        running: bool,
    ) -> None:
        """Name a card of the host; of a VM that is off, also one that is no longer what it was."""
        use = self.uses[item.host.moid]
        stale = next((key for key in ("ids", "device_id") if key in line), None)
        if running and stale is not None:
            raise self.document.error((*spot, stale), "a VM that runs holds the very card it names")
        if "ids" in line:
            backing = self._stale_static(str(line["static"]), str(line["ids"]), spot, item)
        else:
            address = self._address(str(line["static"]), (*spot, "static"), item)
            if running:
                use.take_static(address, vm_name)
            backing = _static(use, address)
        if "device_id" in line:
            backing = replace(backing, device_id=str(line["device_id"]))
        key = self._add(made, backing, line.get("numa_node"))
        if running:
            made.held.append((key, backing.address))

    def _stale_static(self, name: str, ids: str, spot: Pointer, item: SiteHost) -> StaticBacking:
        """Return what a VM stored of a card that was at an address; the host may have none there now."""
        address = item.address_of(name)
        if address is None:
            try:
                address = PciAddress.parse(name)
            except ValueError:
                raise self.document.error(
                    (*spot, "static"), f"'{name}' is no PCI address and no device of {item.host.name}"
                ) from None
        vendor, device = (int(part, 16) for part in ids.split(":")[:2])
        system_id = stable_uuid(self.site_name, "systemId", item.host.name)
        return StaticBacking(address, f"{device:04x}", vendor, system_id)

    def _dynamic(
        self,
        made: VmDevices,
        line: dict[str, Any],
        spot: Pointer,
        use: CardUse,
        vm_name: str,
        running: bool,
        holds: tuple[PciAddress, ...],
    ) -> None:
        ids = self._model(str(line["dynamic"]), (*spot, "dynamic"))
        label = line.get("label")
        address = use.take_dynamic(ids, label, vm_name, holds[0] if holds else None) if running else None
        allowed = (AllowedDevice(ids.vendor, ids.device, ids.sub_vendor, ids.sub_device),)
        assigned = None if address is None else stable_uuid("assigned", use.host.moid, str(address))
        key = self._add(made, DynamicBacking(allowed, label, assigned), line.get("numa_node"))
        if address is not None:
            made.held.append((key, address))

    def _other(
        self, made: VmDevices, line: dict[str, Any], kind: str, spot: Pointer, item: SiteHost
    ) -> Backing:
        if kind == "network":
            network = self._network(str(line["network"]), (*spot, "network"))
            made.networks.append(network)
            return NetworkBacking(str(line.get("card", "vmxnet3")), network)
        if kind == "sriov":
            name = str(line["sriov"])
            physical = None if name == "automatic" else self._address(name, (*spot, "sriov"), item)
            sriov_network = None
            if "network" in line:
                sriov_network = self._network(str(line["network"]), (*spot, "network"))
                made.networks.append(sriov_network)
            return SriovBacking(physical, None, sriov_network)
        if kind == "dvx":
            return DvxBacking(str(line["dvx"]))
        return UnknownBacking(str(line["unknown"]))

    def _group(
        self,
        made: VmDevices,
        line: dict[str, Any],
        spot: Pointer,
        item: SiteHost,
        vm_name: str,
        running: bool,
        holds: tuple[PciAddress, ...],
    ) -> None:
        name = str(line["group"])
        group = next((group for group in item.kind.groups if group.name == name), None)
        if group is None:
            known = ", ".join(group.name for group in item.kind.groups) or "none"
            raise self.document.error(
                (*spot, "group"), f"{item.host.name} offers no device group '{name}'", hint=f"known: {known}"
            )
        taken: list[PciAddress] = []
        if running:
            profile = next((part.profile for part in group.components if part.profile), None)
            use = self.uses[item.host.moid]
            sets = tuple(s for s in item.kind.group_sets[name] if not item.absent.intersection(s))
            taken = list(use.take_set(sets, profile, vm_name, holds or None))
        key = len(made.groups) + 1
        made.groups.append(VmDeviceGroup(key, name))
        self._group_members(made, group, key, line, spot, taken)

    def _group_members(
        self,
        made: VmDevices,
        group: DeviceGroupType,
        key: int,
        line: dict[str, Any],
        spot: Pointer,
        taken: list[PciAddress],
    ) -> None:
        for part in group.components:
            backing: Backing
            if part.kind == "nvidiaVgpu":
                backing = VgpuBacking(part.profile or "", True)
            elif part.kind == "pciPassthru":
                backing = DynamicBacking(tuple(AllowedDevice(ids.vendor, ids.device) for ids in part.allowed))
            else:
                network = line.get("network")
                backing = SriovBacking(
                    None, None, self._network(str(network), (*spot, "network")) if network else None
                )
            device_key = self._add(made, backing, line.get("numa_node"), key, part.sequence_id)
            if taken and part.kind in ("nvidiaVgpu", "pciPassthru"):
                made.held.append((device_key, taken.pop(0)))

    def _add(
        self,
        made: VmDevices,
        backing: Backing,
        numa_node: int | None,
        group: int | None = None,
        sequence: int | None = None,
    ) -> int:
        nic = isinstance(backing, NetworkBacking | SriovBacking)
        same = sum(isinstance(d.backing, NetworkBacking | SriovBacking) == nic for d in made.devices)
        key = (_NIC_KEY if nic else _PCI_KEY) + same
        label = f"Network adapter {same + 1}" if nic else f"PCI device {same}"
        made.devices.append(VmDevice(key, label, backing, numa_node, group, sequence))
        return key

    def _holds(self, line: dict[str, Any], spot: Pointer, item: SiteHost) -> tuple[PciAddress, ...]:
        names = line.get("holds", [])
        listed = [names] if isinstance(names, str) else names
        return tuple(self._address(str(name), (*spot, "holds"), item) for name in listed)

    def _address(self, name: str, spot: Pointer, item: SiteHost) -> PciAddress:
        address = item.address_of(name)
        if address is not None:
            return address
        try:
            address = PciAddress.parse(name)
        except ValueError:
            known = ", ".join(card.name for card in item.kind.tree.cards) or "none"
            raise self.document.error(
                spot, f"{item.host.name} has no device '{name}'", hint=f"known: {known}"
            ) from None
        if item.host.device(address) is None:
            raise self.document.error(spot, f"{item.host.name} has no device at {address}")
        return address

    def _network(self, name: str, spot: Pointer) -> str:
        if name not in self.networks:
            raise self.document.error(
                spot, f"there is no network '{name}'", hint=f"known: {', '.join(self.networks)}"
            )
        return self.networks[name]

    def _model(self, name: str, spot: Pointer) -> PciIds:
        gpu = gpu_by_name(name)
        if gpu is not None:
            return PciIds(gpu.vendor, gpu.device)
        nic = nic_by_name(name)
        if nic is not None:
            return nic.ids
        if _IDS_RE.match(name):
            return PciIds(*(int(part, 16) for part in name.split(":")))
        raise self.document.error(spot, f"'{name}' is no GPU or NIC model and no ids such as 10de:20b7")


def _static(use: CardUse, address: PciAddress) -> StaticBacking:
    device = use.device(address)
    return StaticBacking(
        address=address,
        device_id=f"{device.ids.device:04x}",
        vendor_id=device.ids.vendor,
        system_id=device.system_id or "",
        device_name=device.device_name,
    )
