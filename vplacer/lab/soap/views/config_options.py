"""EnvironmentBrowser: hardware versions and their limits on each host."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pyVmomi import vim

from vplacer.inventory.host import HardwareLimits, Host
from vplacer.inventory.vm import Vm
from vplacer.lab.soap.views.world import ComputeUnit, World
from vplacer.lab.soap.wire.typetable import Ref

_DEVICE = vim.vm.device
_OPTION = _DEVICE.VirtualPCIPassthroughOption
_DEFAULT_GUEST = "otherGuest64"
_FIRST_DYNAMIC, _FIRST_DVX = 17, 20


class ConfigOptions:
    """The answers of one environment browser.

    Only limits that the host's own descriptors told are offered: those from a table are no answer of
    the host. A limit that is not known is sent as 0, since the members are required.
    """

    def __init__(self, world: World, unit: ComputeUnit) -> None:
        self._unit = unit
        self._guests = _guest_ids(world.inventory.vms)

    def descriptors(self) -> list[Any]:
        """Answer QueryConfigOptionDescriptor: each version with the hosts that have it."""
        hosts: dict[int, list[Host]] = {}
        for host in self._unit.hosts:
            for limits in _told(host):
                hosts.setdefault(limits.version, []).append(host)
        newest = max(hosts, default=None)
        return [
            vim.vm.ConfigOptionDescriptor(
                key=f"vmx-{version}",
                description=f"Hardware version {version}",
                host=[vim.HostSystem(host.moid) for host in hosts[version]],
                createSupported=True,
                defaultConfigOption=version == newest,
                runSupported=True,
                upgradeSupported=True,
            )
            for version in sorted(hosts)
        ]

    def option(self, key: str | None, host: Ref, guest_ids: Iterable[str] = ()) -> Any:
        """Answer QueryConfigOption(Ex); None where the version is not to be had there.

        Without a host, the narrowest limits of the hosts that have the version.
        """
        wanted = [h for h in self._unit.hosts if host is None or h.moid == host._moId]
        offers = {h.moid: {limits.version: limits for limits in _told(h)} for h in wanted}
        versions = {version for offer in offers.values() for version in offer}
        if key is None:
            version = max(versions, default=0)
        else:
            version = next((v for v in versions if f"vmx-{v}" == key), 0)
        found = [offer[version] for offer in offers.values() if version in offer]
        if not found:
            return None
        asked = [g for g in guest_ids if g in self._guests] or list(self._guests)
        return _config_option(_narrowest(found), asked)


def _told(host: Host) -> list[HardwareLimits]:
    return [limits for limits in host.limits if limits.source == "descriptor"]


def _guest_ids(vms: Iterable[Vm]) -> tuple[str, ...]:
    found = {vm.guest_id for vm in vms if vm.guest_id}
    return tuple(sorted(found | {_DEFAULT_GUEST, "ubuntu64Guest"}))


_LIMITS = (
    "max_cpus",
    "max_memory_mib",
    "max_cores_per_socket",
    "max_passthrough",
    "max_vgpus",
    "max_numa_nodes",
    "max_device_groups",
)


def _narrowest(found: list[HardwareLimits]) -> HardwareLimits:
    members = {}
    for name in _LIMITS:
        known = [getattr(limits, name) for limits in found if getattr(limits, name) is not None]
        members[name] = min(known, default=None)
    return HardwareLimits(version=found[0].version, source="descriptor", **members)


def _config_option(limits: HardwareLimits, guest_ids: list[str]) -> Any:
    return vim.vm.ConfigOption(
        version=f"vmx-{limits.version}",
        description=f"Hardware version {limits.version}",
        guestOSDescriptor=[_guest(guest, limits) for guest in guest_ids],
        guestOSDefaultIndex=0,
        hardwareOptions=_hardware(limits),
        capabilities=vim.vm.Capability(),
        datastore=vim.vm.DatastoreOption(),
        supportedMonitorType=["release"],
    )


def _int(low: int, high: int | None, default: int | None = None) -> Any:
    return vim.option.IntOption(min=low, max=high or 0, defaultValue=low if default is None else default)


def _hardware(limits: HardwareLimits) -> Any:
    made = vim.vm.VirtualHardwareOption(
        hwVersion=limits.version,
        virtualDeviceOption=[_pci_controller(limits), _passthrough(limits)],
        deviceListReadonly=False,
        numCPU=list(range(1, (limits.max_cpus or 0) + 1)) or [0],
        numCoresPerSocket=_int(1, limits.max_cores_per_socket),
        numCpuReadonly=False,
        memoryMB=vim.option.LongOption(min=4, max=limits.max_memory_mib or 0, defaultValue=32),
        numPCIControllers=_int(1, 1),
        numIDEControllers=_int(0, 2),
        numUSBControllers=_int(0, 1),
        numUSBXHCIControllers=_int(0, 1),
        numSIOControllers=_int(1, 1),
        numPS2Controllers=_int(1, 1),
        resourceConfigOption=_resources(),
    )
    if limits.max_numa_nodes is not None:
        made.numNumaNodes = _int(0, limits.max_numa_nodes)
    if limits.max_device_groups is not None:
        made.numDeviceGroups = _int(0, limits.max_device_groups)
        made.deviceGroupTypes = [vim.vm.VirtualDeviceGroups.VendorDeviceGroup]
    return made


def _pci_controller(limits: HardwareLimits) -> Any:
    return _DEVICE.VirtualPCIControllerOption(
        type=_DEVICE.VirtualPCIController,
        deprecated=False,
        plugAndPlay=False,
        hotRemoveSupported=False,
        devices=_int(0, 0),
        numSCSIControllers=_int(0, 4),
        numEthernetCards=_int(0, 10),
        numVideoCards=_int(1, 1),
        numSoundCards=_int(0, 1),
        numVmiRoms=_int(0, 0),
        numVmciDevices=_int(1, 1),
        # How many DirectPath devices a VM may have.
        numPCIPassthroughDevices=_int(0, limits.max_passthrough),
        numSasSCSIControllers=_int(0, 4),
        numVmxnet3EthernetCards=_int(0, 10),
        numParaVirtualSCSIControllers=_int(0, 4),
        numSATAControllers=_int(0, 4),
        numNVMEControllers=_int(0, 4),
    )


def _passthrough(limits: HardwareLimits) -> Any:
    auto = vim.option.BoolOption(supported=False, defaultValue=False)
    kinds: list[Any] = [
        _OPTION.DeviceBackingOption(type=_backing("DeviceBackingInfo"), autoDetectAvailable=auto)
    ]
    if limits.max_vgpus is not None:
        kinds.append(
            _OPTION.VmiopBackingOption(
                type=_backing("VmiopBackingInfo"),
                vgpu=vim.option.StringOption(defaultValue=""),
                maxInstances=limits.max_vgpus,
            )
        )
    if limits.version >= _FIRST_DYNAMIC:
        kinds.append(
            _OPTION.DynamicBackingOption(type=_backing("DynamicBackingInfo"), autoDetectAvailable=auto)
        )
    if limits.version >= _FIRST_DVX:
        kinds.append(_OPTION.DvxBackingOption(type=_backing("DvxBackingInfo")))
    return _OPTION(
        type=_DEVICE.VirtualPCIPassthrough,
        controllerType=_DEVICE.VirtualPCIController,
        backingOption=kinds,
        defaultBackingOptionIndex=0,
        deprecated=False,
        plugAndPlay=False,
        hotRemoveSupported=False,
        numaSupported=limits.version >= _FIRST_DVX,
    )


def _backing(name: str) -> Any:
    return getattr(_DEVICE.VirtualPCIPassthrough, name)


def _resources() -> Any:
    shares = vim.SharesOption(sharesOption=_int(0, 1_000_000), defaultLevel="normal")
    allocation = vim.ResourceAllocationOption(sharesOption=shares)
    return vim.ResourceConfigOption(cpuAllocationOption=allocation, memoryAllocationOption=allocation)


def _guest(guest_id: str, limits: HardwareLimits) -> Any:
    scsi, nic = _DEVICE.ParaVirtualSCSIController, _DEVICE.VirtualVmxnet3
    memory = min(limits.max_memory_mib or 0, (1 << 31) - 1)
    return vim.vm.GuestOsDescriptor(
        id=guest_id,
        family="linuxGuest",
        fullName=guest_id,
        supportedMaxCPUs=limits.max_cpus or 0,
        numSupportedPhysicalSockets=limits.max_cpus or 0,
        numSupportedCoresPerSocket=limits.max_cores_per_socket or 0,
        supportedMinMemMB=32,
        supportedMaxMemMB=memory,
        recommendedMemMB=1024,
        recommendedColorDepth=1,
        supportedDiskControllerList=[scsi],
        recommendedSCSIController=scsi,
        recommendedDiskController=scsi,
        supportedNumDisks=60,
        recommendedDiskSizeMB=16384,
        recommendedCdromController=_DEVICE.VirtualAHCIController,
        supportedEthernetCard=[nic],
        recommendedEthernetCard=nic,
        supportedFirmware=["bios", "efi"],
        recommendedFirmware="efi",
        supportLevel="supported",
        supportedForCreate=True,
        vRAMSizeInKB=_int(4096, 262144),
        numSupportedFloppyDevices=0,
    )
