"""HostSystem.config and what hangs on it: passthrough, graphics, NICs, the host's own resources."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from pyVmomi import vim

from vplacer.inventory.host import ConnectionState, DeviceBinding, Host, Passthrough, Pnic, Sriov
from vplacer.inventory.pci import PciAddress
from vplacer.lab.soap.views.world import World
from vplacer.lab.soap.wire.typetable import Ref, share

_MIB = 1024 * 1024


def product(host: Host) -> Any:
    """Return ``AboutInfo`` of the host's own software."""
    version, build = host.version or "", host.build or ""
    return vim.AboutInfo(
        name="VMware ESXi",
        fullName=f"VMware ESXi {version} build-{build}",
        vendor="VMware, Inc.",
        version=version,
        build=build,
        osType="vmnix-x86",
        productLineId="embeddedEsx",
        apiType="HostAgent",
        apiVersion=host.api_version or "",
        licenseProductName="VMware ESX Server",
        licenseProductVersion=version.partition(".")[0],
    )


def config(world: World, host: Host) -> Any:
    """Return ``HostConfigInfo``; None where vCenter has no connection to the host."""
    if host.connection is not ConnectionState.CONNECTED:
        return None
    active = host.hyperthreading_active
    info = vim.host.ConfigInfo(
        host=world.ref(host.moid),
        product=product(host),
        pciPassthruInfo=passthrough(host),
        graphicsInfo=graphics_info(world, host),
        graphicsConfig=graphics_config(host),
        sharedPassthruGpuTypes=list(host.vgpu_types),
        sharedGpuCapabilities=gpu_capabilities(host),
        assignableHardwareBinding=bindings(world, host),
        network=_network(host),
        option=[vim.option.OptionValue(key=key, value=value) for key, value in host.options],
        systemResources=system_resources(host),
        featureCapability=_features(host.cpu_features),
        maskedFeatureCapability=_features(host.cpu_features_visible),
    )
    if host.capability.assignable_hardware:
        info.assignableHardwareConfig = vim.host.AssignableHardwareConfig()
    if active is not None:
        info.hyperThread = vim.host.CpuSchedulerSystem.HyperThreadScheduleInfo(
            available=active, active=active, config=active
        )
    return info


def _features(keys: tuple[str, ...] | None) -> list[Any]:
    """Return ``HostFeatureCapability`` of what there is; 64-bit mode is always there."""
    if keys is None:
        return []
    return [
        vim.host.FeatureCapability(key=key, featureName=key, value="1") for key in sorted(("cpuid.lm", *keys))
    ]


def passthrough(host: Host) -> list[Any]:
    """Return ``HostPciPassthruInfo`` of each device; a NIC that can be split up has ``HostSriovInfo``."""
    return [
        _passthrough(device.address, device.passthrough, device.sriov)
        for device in host.pci_devices
        if device.passthrough is not None or device.sriov is not None
    ]


@lru_cache(maxsize=65536)
def _passthrough(address: PciAddress, state: Passthrough | None, sriov: Sriov | None) -> Any:
    # Hosts of one kind have equal devices: one object serves them all.
    dependent = state.dependent if state else None
    members: dict[str, Any] = {
        "id": str(address),
        "dependentDevice": "" if dependent is None else str(dependent),
        "passthruEnabled": state is not None and state.enabled,
        "passthruCapable": state is not None and state.capable,
        "passthruActive": state is not None and state.active,
        "hardwareLabel": state.label if state else None,
    }
    if state is not None and state.mode is not None:
        members["directPathState"] = vim.host.PciPassthruInfo.DirectPathState(mode=state.mode)
    if sriov is None:
        return share(vim.host.PciPassthruInfo(**members))
    return share(
        vim.host.SriovInfo(
            **members,
            sriovEnabled=sriov.enabled,
            sriovCapable=sriov.capable,
            sriovActive=sriov.active,
            numVirtualFunctionRequested=sriov.vf_requested,
            numVirtualFunction=sriov.vf_present,
            maxVirtualFunctionSupported=sriov.vf_max,
        )
    )


def graphics_info(world: World, host: Host) -> list[Any]:
    """Return ``HostGraphicsInfo`` of each card."""
    return [
        vim.host.GraphicsInfo(
            deviceName=device.device_name,
            vendorName=device.vendor_name,
            pciId=str(device.address),
            graphicsType=device.graphics.type,
            vgpuMode=device.graphics.mode.value,
            memorySizeInKB=device.graphics.memory_kib or 0,
            vm=[_holder(world, vm) for vm in device.graphics.vms],
        )
        for device in host.pci_devices
        if device.graphics is not None
    ]


def graphics_config(host: Host) -> Any:
    """Return ``HostGraphicsConfig``, or None where the host tells no default type."""
    if host.default_graphics_type is None:
        return None
    return vim.host.GraphicsConfig(
        hostDefaultGraphicsType=host.default_graphics_type,
        sharedPassthruAssignmentPolicy=host.assignment_policy or "",
        deviceType=[
            vim.host.GraphicsConfig.DeviceType(
                deviceId=str(device.address), graphicsType=device.graphics.type
            )
            for device in host.pci_devices
            if device.graphics is not None
        ],
    )


def gpu_capabilities(host: Host) -> list[Any]:
    """Return ``HostSharedGpuCapabilities`` of the profiles that say whether they can migrate."""
    return [
        vim.host.SharedGpuCapabilities(
            vgpu=profile.name,
            diskSnapshotSupported=profile.migratable,
            memorySnapshotSupported=profile.migratable,
            suspendSupported=profile.migratable,
            migrateSupported=profile.migratable,
        )
        for profile in host.vgpu_profiles
        if profile.migratable is not None
    ]


def bindings(world: World, host: Host) -> list[Any]:
    """Return ``HostAssignableHardwareBinding`` of the devices in use."""
    return [_binding(world, binding) for binding in host.bindings]


def _holder(world: World, vm: str) -> Ref:
    """Return the reference of a VM that holds a card; a host names VMs that the account cannot see too."""
    return world.ref(vm) or vim.VirtualMachine(vm)


def _binding(world: World, binding: DeviceBinding) -> Any:
    return vim.host.AssignableHardwareBinding(
        instanceId=binding.instance_id,
        vm=_holder(world, binding.vm),
        pciId=None if binding.address is None else str(binding.address),
        deviceKey=binding.device_key,
    )


def system_resources(host: Host) -> Any:
    """Return ``HostSystemResourceInfo``: the tree of what the host keeps for itself; None = not known.

    Memory in MiB. VMs live below ``host/user``.
    """
    if host.system_memory_mib is None:
        return None
    memory_mib = (host.memory_bytes or 0) // _MIB
    return _resource_group(
        "host",
        memory_mib,
        [_resource_group("host/system", host.system_memory_mib), _resource_group("host/user", 0)],
    )


def _resource_group(key: str, reservation_mib: int, children: Sequence[Any] = ()) -> Any:
    return vim.host.SystemResourceInfo(
        key=key,
        config=vim.ResourceConfigSpec(
            cpuAllocation=_allocation(0), memoryAllocation=_allocation(reservation_mib)
        ),
        child=list(children),
    )


def _allocation(reservation: int) -> Any:
    return vim.ResourceAllocationInfo(
        reservation=reservation,
        expandableReservation=True,
        limit=-1,
        shares=vim.SharesInfo(level="normal", shares=1000),
    )


def _network(host: Host) -> Any:
    rdma = [nic for nic in host.pnics if nic.rdma]
    return vim.host.NetworkInfo(
        pnic=[_pnic(nic) for nic in host.pnics],
        rdmaDevice=[_rdma_device(nic, number) for number, nic in enumerate(rdma)],
    )


def _pnic_key(nic: Pnic) -> str:
    return f"key-vim.host.PhysicalNic-{nic.device}"


def _pnic(nic: Pnic) -> Any:
    speed = None
    if nic.link_mbps is not None:
        speed = vim.host.PhysicalNic.LinkSpeedDuplex(speedMb=nic.link_mbps, duplex=True)
    return vim.host.PhysicalNic(
        key=_pnic_key(nic),
        device=nic.device,
        pci="" if nic.address is None else str(nic.address),
        linkSpeed=speed,
        spec=vim.host.PhysicalNic.Specification(ip=vim.host.IpConfig(dhcp=False), linkSpeed=speed),
        wakeOnLanSupported=False,
        mac=nic.mac or "",
    )


def _rdma_device(nic: Pnic, number: int) -> Any:
    kind: Any = vim.host.RdmaDevice
    return kind(
        key=f"key-vim.host.RdmaDevice-vmrdma{number}",
        device=f"vmrdma{number}",
        backing=kind.PnicBacking(pairedUplink=_pnic_key(nic)),
        connectionInfo=kind.ConnectionInfo(
            state="active" if nic.link_mbps else "down", mtu=4096, speedInMbps=nic.link_mbps or 0
        ),
        capability=kind.Capability(roceV1Capable=True, roceV2Capable=True, iWarpCapable=False),
    )
