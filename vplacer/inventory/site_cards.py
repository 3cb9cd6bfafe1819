"""Which card backs which device of a running VM, host by host, while a site is loaded.

Where the file does not say (`holds`), the first card that fits is taken, by address: whole free cards for
passthrough, room in framebuffer and mode for a vGPU, a free set for a device group.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from vplacer.inventory.host import GpuMode, Host, PciDevice, VgpuProfile
from vplacer.inventory.pci import PciAddress, PciIds

_KIB_PER_GIB = 1024 * 1024


class NoCard(Exception):
    """No card fits; the text says why."""


@dataclass
class CardUse:
    """The use of one host's cards. ``whole``: card to VM name; ``slices``: card to vGPU profiles on it."""

    host: Host
    whole: dict[PciAddress, str] = field(default_factory=dict)
    slices: dict[PciAddress, list[tuple[str, VgpuProfile]]] = field(default_factory=dict)

    def device(self, address: PciAddress) -> PciDevice:
        """Return the device at an address of the host.

        Raises:
            NoCard: there is none.
        """
        device = self.host.device(address)
        if device is None:
            raise NoCard(f"{self.host.name} has no device at {address}")
        return device

    def take_static(self, address: PciAddress, vm: str) -> None:
        """Give a named card to a running VM."""
        device = self.device(address)
        if device.passthrough is None or not device.passthrough.active:
            raise NoCard(f"{address} of {self.host.name} is not active for passthrough, so the VM cannot run")
        self._take_whole(address, vm)

    def take_dynamic(
        self, wanted: PciIds, label: str | None, vm: str, address: PciAddress | None
    ) -> PciAddress:
        """Give a running VM a free card of the model, with the label if one is asked for."""
        if address is not None:
            device = self.device(address)
            if not _fits(device, wanted, label):
                wording = f" labelled '{label}'" if label else ""
                raise NoCard(f"{address} of {self.host.name} is no active {wanted}{wording}")
            self._take_whole(address, vm)
            return address
        for device in self.host.pci_devices:
            if _fits(device, wanted, label) and self.free(device.address):
                self._take_whole(device.address, vm)
                return device.address
        wording = f" labelled '{label}'" if label else ""
        raise NoCard(f"{self.host.name} has no free active {wanted}{wording}")

    def take_vgpu(self, profile_name: str, vm: str, address: PciAddress | None) -> PciAddress:
        """Give a running VM a vGPU on a card that has room for it in its mode."""
        profile = self._profile(profile_name)
        cards = [self.device(address)] if address is not None else list(self.host.pci_devices)
        for device in cards:
            if device.ids.vendor != profile.vendor or device.ids.device != profile.device:
                continue
            if self._has_room(device, profile):
                self.slices.setdefault(device.address, []).append((vm, profile))
                return device.address
        where = str(address) if address is not None else "any card"
        raise NoCard(f"{self.host.name} has no room for {profile_name} on {where}")

    def take_set(
        self,
        sets: tuple[tuple[PciAddress, ...], ...],
        profile_name: str | None,
        vm: str,
        wanted: tuple[PciAddress, ...] | None,
    ) -> tuple[PciAddress, ...]:
        """Give a running VM all cards of a device group: the set named, else the first free one."""
        choices = [wanted] if wanted is not None else list(sets)
        for members in choices:
            if wanted is not None and tuple(sorted(members)) not in {tuple(sorted(s)) for s in sets}:
                raise NoCard("these cards do not form such a group")
            if all(self.free(address) for address in members):
                for address in members:
                    if profile_name is None:
                        self._take_whole(address, vm)
                    else:
                        self.slices.setdefault(address, []).append((vm, self._profile(profile_name)))
                return members
        raise NoCard(f"{self.host.name} has no free set of cards for this group")

    def free(self, address: PciAddress) -> bool:
        """Whether nothing is on the card."""
        return address not in self.whole and not self.slices.get(address)

    def vms_on(self, address: PciAddress) -> tuple[str, ...]:
        """Names of the VMs with a vGPU on the card, each once."""
        return tuple(dict.fromkeys(vm for vm, _ in self.slices.get(address, [])))

    def _take_whole(self, address: PciAddress, vm: str) -> None:
        if not self.free(address):
            holder = self.whole.get(address) or ", ".join(self.vms_on(address))
            raise NoCard(f"{address} of {self.host.name} is held by the running VM {holder}")
        self.whole[address] = vm

    def _profile(self, name: str) -> VgpuProfile:
        for profile in self.host.vgpu_profiles:
            if profile.name == name:
                return profile
        raise NoCard(f"{self.host.name} has no vGPU profile '{name}'")

    def _has_room(self, device: PciDevice, profile: VgpuProfile) -> bool:
        graphics = device.graphics
        if graphics is None or graphics.type != "sharedDirect" or device.address in self.whole:
            return False
        if (profile.sharing == "mig") != (graphics.mode is GpuMode.MIG):
            return False
        here = [other for _, other in self.slices.get(device.address, [])]
        if graphics.mode is GpuMode.SAME_SIZE and any(
            other.framebuffer_gib != profile.framebuffer_gib for other in here
        ):
            return False
        used = sum(other.framebuffer_gib for other in here) + profile.framebuffer_gib
        return used * _KIB_PER_GIB <= (graphics.memory_kib or 0)


def _fits(device: PciDevice, wanted: PciIds, label: str | None) -> bool:
    if device.ids.vendor != wanted.vendor or device.ids.device != wanted.device:
        return False
    passthrough = device.passthrough
    if passthrough is None or not passthrough.active:
        return False
    return label is None or passthrough.label == label
