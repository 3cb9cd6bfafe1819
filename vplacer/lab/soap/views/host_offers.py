"""What hosts offer to VMs: ConfigTarget, dynamic passthrough, vGPU profiles, vendor device groups."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from pyVmomi import vim, vmodl

from vplacer.inventory.host import (
    ConnectionState,
    DeviceGroupType,
    GroupComponent,
    Host,
    PciDevice,
    VgpuProfile,
)
from vplacer.inventory.vm import AllowedDevice, DynamicBacking
from vplacer.lab.soap.views.host_hardware import pci_device
from vplacer.lab.soap.views.vm_devices import dynamic_backing
from vplacer.lab.soap.views.world import World

_MIB = 1024 * 1024
_PASSTHROUGH = vim.vm.device.VirtualPCIPassthrough


class HostOffers:
    """The answers of one host."""

    def __init__(self, world: World, host: Host) -> None:
        self._world = world
        self._host = host

    def vgpu_devices(self) -> list[Any]:
        """Return ``VgpuDeviceInfo``: one row for each model of card that profiles are for."""
        return [_vgpu_device(rows) for rows in _by_model(self._host.vgpu_profiles)]

    def vgpu_profiles(self) -> list[Any]:
        """Return ``VgpuProfileInfo``."""
        return [_vgpu_profile(profile) for profile in self._host.vgpu_profiles]

    def dynamic_passthrough(self) -> list[Any]:
        """Return ``DynamicPassthroughInfo``: one row for each kind and label of active devices."""
        rows: dict[tuple[Any, ...], Any] = {}
        for device in self._host.pci_devices:
            state = device.passthrough
            if state is None or not state.active:
                continue
            key = (device.ids.vendor, device.ids.device, state.label)
            rows.setdefault(
                key,
                vim.vm.DynamicPassthroughInfo(
                    name=device.device_name,
                    vendorName=device.vendor_name,
                    deviceName=device.device_name,
                    customLabel=state.label,
                    vendorId=device.ids.vendor,
                    deviceId=device.ids.device,
                ),
            )
        return list(rows.values())

    def device_groups(self) -> list[Any]:
        """Return ``VendorDeviceGroupInfo`` with the template of each component."""
        return [_device_group(group) for group in self._host.device_groups]

    def config_target(self) -> Any:
        """Return ``ConfigTarget`` of the host.

        Raises:
            vmodl.fault.HostNotConnected: vCenter has no connection to it.
        """
        host = self._host
        if host.connection is not ConnectionState.CONNECTED:
            raise vmodl.fault.HostNotConnected(msg="The host is not connected.")
        memory_mib = (host.memory_bytes or 0) // _MIB
        return vim.vm.ConfigTarget(
            numCpus=host.thread_count or 0,
            numCpuCores=host.core_count or 0,
            numNumaNodes=len(host.numa_nodes),
            maxCpusPerHost=host.thread_count,
            smcPresent=False,
            maxMemMBOptimalPerf=memory_mib,
            supportedMaxMemMB=memory_mib,
            pciPassthrough=[
                _candidate(device) for device in host.pci_devices if device.system_id is not None
            ],
            sriov=[_sriov(device) for device in host.pci_devices if device.sriov and device.sriov.active],
            dynamicPassthrough=self.dynamic_passthrough(),
            sharedGpuPassthroughTypes=[_shared_type(name) for name in host.vgpu_types],
            vgpuDeviceInfo=self.vgpu_devices(),
            vgpuProfileInfo=self.vgpu_profiles(),
            vendorDeviceGroupInfo=self.device_groups(),
            maxSimultaneousThreads=host.capability.max_simultaneous_threads,
        )


def unit_target(world: World, hosts: Iterable[Host]) -> Any:
    """Return ``ConfigTarget`` of a whole compute resource: sums of CPUs, the union of devices.

    None for one without connected hosts (vSphere API: QueryConfigTarget).
    """
    targets = [
        HostOffers(world, host).config_target()
        for host in hosts
        if host.connection is ConnectionState.CONNECTED
    ]
    if not targets:
        return None
    whole = targets[0]
    for target in targets[1:]:
        for name in ("numCpus", "numCpuCores", "numNumaNodes"):
            setattr(whole, name, getattr(whole, name) + getattr(target, name))
        for name in ("maxCpusPerHost", "maxMemMBOptimalPerf", "supportedMaxMemMB"):
            setattr(whole, name, max(getattr(whole, name) or 0, getattr(target, name) or 0))
        for name, key in _UNION.items():
            rows = getattr(whole, name)
            known = {key(row) for row in rows}
            rows.extend(row for row in getattr(target, name) if key(row) not in known)
    return whole


def _by_name(row: Any) -> object:
    return row.name


# Lists of a ConfigTarget, and what makes two of their rows the same.
_UNION: dict[str, Callable[[Any], object]] = {
    "pciPassthrough": lambda row: (row.pciDevice.id, row.systemId),
    "sriov": lambda row: (row.pciDevice.id, row.systemId),
    "dynamicPassthrough": lambda row: (row.vendorId, row.deviceId, row.customLabel),
    "sharedGpuPassthroughTypes": lambda row: row.vgpu,
    "vgpuDeviceInfo": _by_name,
    "vgpuProfileInfo": _by_name,
    "vendorDeviceGroupInfo": _by_name,
}


def _shared_type(name: str) -> Any:
    return vim.vm.PciSharedGpuPassthroughInfo(vgpu=name)


def _candidate(device: PciDevice) -> Any:
    return vim.vm.PciPassthroughInfo(
        name=device.device_name, pciDevice=pci_device(device), systemId=device.system_id or ""
    )


def _sriov(device: PciDevice) -> Any:
    return vim.vm.SriovInfo(
        name=device.device_name,
        pciDevice=pci_device(device),
        systemId=device.system_id or "",
        virtualFunction=False,
    )


def _packed(vendor: int, device: int) -> int:
    """Pack ids as deviceVendorId does: the vendor in the low 16 bits, the device in the next."""
    return vendor | device << 16


def _by_model(profiles: Iterable[VgpuProfile]) -> list[list[VgpuProfile]]:
    models: dict[tuple[int, int], list[VgpuProfile]] = {}
    for profile in profiles:
        models.setdefault((profile.vendor, profile.device), []).append(profile)
    return list(models.values())


def _vgpu_device(profiles: list[VgpuProfile]) -> Any:
    first = profiles[0]
    name = f"{first.vendor:04x}:{first.device:04x}"
    return vim.vm.VgpuDeviceInfo(
        name=name,
        deviceName=name,
        deviceVendorId=_packed(first.vendor, first.device),
        maxFbSizeInGib=max(profile.framebuffer_gib for profile in profiles),
        timeSlicedCapable=any(profile.sharing == "timeSliced" for profile in profiles),
        migCapable=any(profile.sharing == "mig" for profile in profiles),
        computeProfileCapable=any(profile.profile_class == "compute" for profile in profiles),
        quadroProfileCapable=any(profile.profile_class == "quadro" for profile in profiles),
    )


def _vgpu_profile(profile: VgpuProfile) -> Any:
    return vim.vm.VgpuProfileInfo(
        name=profile.name,
        profileName=profile.name,
        deviceVendorId=_packed(profile.vendor, profile.device),
        fbSizeInGib=profile.framebuffer_gib,
        profileSharing=profile.sharing or "",
        profileClass=profile.profile_class or "",
    )


def _device_group(group: DeviceGroupType) -> Any:
    return vim.vm.VendorDeviceGroupInfo(
        name=group.name,
        deviceGroupName=group.name,
        deviceGroupDescription=group.description,
        componentDeviceInfo=[_component(part, -number) for number, part in enumerate(group.components, 1)],
    )


def _component(part: GroupComponent, key: int) -> Any:
    template = _template(part)
    template.key = key
    if part.sequence_id is not None:
        template.deviceGroupInfo = vim.vm.device.VirtualDevice.DeviceGroupInfo(
            groupInstanceKey=-1, sequenceId=part.sequence_id
        )
    return vim.vm.VendorDeviceGroupInfo.ComponentDeviceInfo(
        type=part.kind,
        vendorName=part.vendor_name,
        deviceName=part.device_name,
        isConfigurable=part.configurable,
        device=template,
    )


def _template(part: GroupComponent) -> Any:
    if part.kind == "sriovNic":
        return vim.vm.device.VirtualSriovEthernetCard()
    if part.kind == "nvidiaVgpu":
        return _PASSTHROUGH(backing=_PASSTHROUGH.VmiopBackingInfo(vgpu=part.profile or ""))
    if part.kind == "dvx":
        return _PASSTHROUGH(backing=_PASSTHROUGH.DvxBackingInfo(deviceClass=part.profile))
    allowed = tuple(
        AllowedDevice(ids.vendor, ids.device, ids.sub_vendor, ids.sub_device) for ids in part.allowed
    )
    return _PASSTHROUGH(backing=dynamic_backing(DynamicBacking(allowed)))
