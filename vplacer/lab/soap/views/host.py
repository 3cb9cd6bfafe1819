"""HostSystem and the managers of one host."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from pyVmomi import vim

from vplacer.inventory.host import ConnectionState, Host, HostCapability, HostPower
from vplacer.lab.soap.store import Answer, Held, Lazy
from vplacer.lab.soap.views import host_config, host_hardware, host_offers
from vplacer.lab.soap.views.world import World, api_name
from vplacer.lab.soap.wire.typetable import Ref

_MHZ = 1_000_000
LARGEST_VM_MIB = 24 << 20
"""Memory of the largest VM that ESXi 8 runs, where the host's own descriptors tell nothing else."""
PASSTHRU_SYSTEM_PREFIX = "pciPassthruSystem-"
_UTC = vim.host.DateTimeSystem.TimeZone(key="UTC", name="UTC", description="UTC", gmtOffset=0)


@dataclass(frozen=True, slots=True)
class Seen:
    """A managed object to be added to the store."""

    ref: Ref
    props: Mapping[str, Held] = field(default_factory=dict)
    answers: Mapping[str, Answer] = field(default_factory=dict)


def host_objects(world: World, host: Host) -> Iterator[Seen]:
    """Yield the host and its managers."""
    unit = world.unit_of_host[host.moid]
    connected = host.connection is ConnectionState.CONNECTED
    healthy = "green" if connected else "red"
    yield Seen(
        world.ref(host.moid),
        {
            "name": api_name(host.name),
            "parent": unit.ref,
            "overallStatus": healthy,
            "configStatus": healthy,
            "runtime": runtime(host),
            "summary": Lazy(lambda: summary(world, host)),
            "hardware": Lazy(lambda: host_hardware.hardware(host)),
            "capability": Lazy(lambda: capability(host)) if connected else None,
            "config": Lazy(lambda: host_config.config(world, host)),
            "configManager": config_manager(host),
            "systemResources": Lazy(lambda: host_config.system_resources(host)),
            "vm": world.vms_at(host.moid),
            "datastore": world.refs(host.datastores),
            "network": world.refs(host.networks),
        },
    )
    yield from _managers(world, host)


def _managers(world: World, host: Host) -> Iterator[Seen]:
    offers = host_offers.HostOffers(world, host)
    yield Seen(
        graphics_manager(host),
        {
            "graphicsInfo": Lazy(lambda: host_config.graphics_info(world, host)),
            "graphicsConfig": Lazy(lambda: host_config.graphics_config(host)),
            "sharedPassthruGpuTypes": list(host.vgpu_types),
            "sharedGpuCapabilities": Lazy(lambda: host_config.gpu_capabilities(host)),
        },
        {
            "RetrieveVgpuDeviceInfo": offers.vgpu_devices,
            "RetrieveVgpuProfileInfo": offers.vgpu_profiles,
            "IsSharedGraphicsActive": lambda: host.default_graphics_type == "shared",
        },
    )
    if host.connection is ConnectionState.CONNECTED:
        yield Seen(time_system(host), {"dateTimeInfo": vim.host.DateTimeInfo(timeZone=_UTC)})
    yield Seen(passthru_system(host), {"pciPassthruInfo": Lazy(lambda: host_config.passthrough(host))})
    if host.capability.assignable_hardware:
        yield Seen(
            hardware_manager(host),
            {
                "binding": Lazy(lambda: host_config.bindings(world, host)),
                "config": vim.host.AssignableHardwareConfig(),
            },
            {
                "RetrieveDynamicPassthroughInfo": offers.dynamic_passthrough,
                "RetrieveVendorDeviceGroupInfo": offers.device_groups,
            },
        )


def graphics_manager(host: Host) -> Ref:
    """Return the reference of the host's graphics manager."""
    return vim.host.GraphicsManager(f"graphicsManager-{host.moid}")


def passthru_system(host: Host) -> Ref:
    """Return the reference of the host's passthrough system."""
    return vim.host.PciPassthruSystem(f"{PASSTHRU_SYSTEM_PREFIX}{host.moid}")


def time_system(host: Host) -> Ref:
    """Return the reference of the host's clock."""
    return vim.host.DateTimeSystem(f"dateTimeSystem-{host.moid}")


def hardware_manager(host: Host) -> Ref:
    """Return the reference of the host's assignable hardware manager."""
    return vim.host.AssignableHardwareManager(f"assignableHardwareManager-{host.moid}")


def config_manager(host: Host) -> Any:
    """Return ``HostConfigManager``: the managers there are."""
    managers = vim.host.ConfigManager(
        graphicsManager=graphics_manager(host), pciPassthruSystem=passthru_system(host)
    )
    if host.connection is ConnectionState.CONNECTED:
        managers.dateTimeSystem = time_system(host)
    if host.capability.assignable_hardware:
        managers.assignableHardwareManager = hardware_manager(host)
    return managers


def runtime(host: Host) -> Any:
    """Return ``HostRuntimeInfo``."""
    return vim.host.RuntimeInfo(
        connectionState=host.connection.value,
        powerState=host.power.value,
        standbyMode="in" if host.power is HostPower.STANDBY else "none",
        inMaintenanceMode=bool(host.in_maintenance),
        inQuarantineMode=host.in_quarantine,
    )


def capability(host: Host) -> Any:
    """Return ``HostCapability``; what the host did not say stays unset."""
    said: HostCapability = host.capability
    return vim.host.Capability(
        vmotionSupported=True,
        maintenanceModeSupported=True,
        assignableHardwareSupported=said.assignable_hardware,
        assignHwPciConfigSupported=said.assign_label,
        deviceRebindWithoutRebootSupported=said.rebind_without_reboot,
        maxSupportedSimultaneousThreads=said.max_simultaneous_threads,
        fptHotplugSupported=said.fpt_hotplug,
        maxSupportedVmMemory=max((limits.max_memory_mib or 0 for limits in host.limits), default=0)
        or LARGEST_VM_MIB,
    )


def summary(world: World, host: Host) -> Any:
    """Return ``HostListSummary``."""
    unit = world.unit_of_host[host.moid]
    return vim.host.Summary(
        host=world.ref(host.moid),
        hardware=_hardware_summary(host),
        runtime=runtime(host),
        config=vim.host.Summary.ConfigSummary(
            name=api_name(host.name),
            port=443,
            product=host_config.product(host),
            vmotionEnabled=True,
            faultToleranceEnabled=False,
        ),
        quickStats=vim.host.Summary.QuickStats(overallCpuUsage=0, overallMemoryUsage=0),
        overallStatus="green" if host.connection is ConnectionState.CONNECTED else "red",
        rebootRequired=bool(host.reboot_required),
        currentEVCModeKey=unit.cluster.evc_mode if unit.cluster else None,
    )


def _hardware_summary(host: Host) -> Any:
    if host.core_count is None and host.memory_bytes is None:
        return None
    return vim.host.Summary.HardwareSummary(
        vendor=host.vendor or "",
        model=host.model or "",
        uuid=host.uuid or "",
        memorySize=host.memory_bytes or 0,
        cpuModel=host.cpu_model or "",
        cpuMhz=(host.cpu_hz or 0) // _MHZ,
        numCpuPkgs=host.package_count or 0,
        numCpuCores=host.core_count or 0,
        numCpuThreads=host.thread_count or 0,
        numNics=len(host.pnics),
        numHBAs=0,
    )
