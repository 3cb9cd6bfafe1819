"""Builds `Host` values for topology tests from a few words a device.

A host is a mapping:
    packages: 2                       # optional
    nodes: [{id: 0, package: 0, cores: 8, devices: ["0000:17:00.0"]}]
    pci: ["0000:16:00.0 bridge", "0000:17:00.0 A30 < 0000:16:00.0"]
    dependent: {"0000:17:00.0": "0000:17:00.1"}
    groups: [{name: ..., gpus: 2, profile: grid_a30-24c}]
    profiles: {grid_a30-24c: A30}
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vplacer.inventory.gpu_models import gpu_by_name
from vplacer.inventory.host import (
    ConnectionState,
    DeviceGroupType,
    GroupComponent,
    Host,
    HostCapability,
    HostPower,
    NumaNode,
    Passthrough,
    PciDevice,
    Pnic,
    Sriov,
    VgpuProfile,
)
from vplacer.inventory.overlay import Overlay, OverlayDevice, OverlayLink
from vplacer.inventory.pci import PciAddress, PciIds

_OTHERS = {
    "bridge": (PciIds(0x8086, 0x2030), 0x0604, "PCI Express Root Port"),
    "host-bridge": (PciIds(0x8086, 0x2020), 0x0600, "DMI3 Registers"),
    "nic": (PciIds(0x15B3, 0x101D), 0x0200, "MT2892 Family [ConnectX-6 Dx]"),
    "ib": (PciIds(0x15B3, 0x101B), 0x0207, "MT28908 Family [ConnectX-6]"),
    "vf": (PciIds(0x15B3, 0x101E), 0x0200, "ConnectX Family mlx5Gen Virtual Function"),
    "nvswitch": (PciIds(0x10DE, 0x1AF1), 0x0680, "GA100 [A100 NVSwitch]"),
    "hba": (PciIds(0x1000, 0x0097), 0x0107, "SAS3008 PCI-Express Fusion-MPT SAS-3"),
    "vga": (PciIds(0x1A03, 0x2000), 0x0300, "ASPEED Graphics Family"),
    "svga": (PciIds(0x15AD, 0x0405), 0x0300, "SVGA II Adapter"),
}


def address(text: str) -> PciAddress:
    """Parse an address; ``17:00.0`` is in segment 0."""
    return PciAddress.parse(text)


def make_host(spec: Mapping[str, Any], name: str = "esx1") -> Host:
    """Build a host."""
    nodes = tuple(_node(item) for item in spec.get("nodes", ()))
    dependents = {address(k): address(v) for k, v in spec.get("dependent", {}).items()}
    vfs = {address(k): int(v) for k, v in spec.get("vf_present", {}).items()}
    labels = {address(k): str(v) for k, v in spec.get("labels", {}).items()}
    devices = tuple(_device(line, dependents, vfs, labels) for line in spec["pci"])
    cores = sum(node.core_count for node in nodes)
    return Host(
        moid="host-1",
        name=name,
        datacenter=None,
        cluster=None,
        connection=ConnectionState.CONNECTED,
        power=HostPower.ON,
        in_maintenance=False,
        in_quarantine=False,
        version="8.0.3",
        api_version="8.0.3.0",
        build=None,
        vendor="Example",
        model="Server 1",
        uuid=spec.get("uuid", "11111111-2222-3333-4444-555555555555"),
        cpu_vendor=None,
        cpu_model=None,
        cpu_hz=None,
        package_count=spec.get("packages"),
        core_count=cores,
        thread_count=2 * cores,
        hyperthreading_active=True,
        memory_bytes=None,
        memory_tiering=None,
        system_memory_mib=None,
        numa_nodes=nodes,
        pci_devices=devices,
        pnics=tuple(
            Pnic(device=str(v), address=address(k), link_mbps=100_000)
            for k, v in spec.get("pnics", {}).items()
        ),
        vgpu_profiles=tuple(_profile(k, v) for k, v in spec.get("profiles", {}).items()),
        vgpu_types=(),
        device_groups=tuple(_group(item) for item in spec.get("groups", ())),
        bindings=(),
        default_graphics_type=None,
        assignment_policy=None,
        datastores=(),
        networks=(),
        limits=(),
        capability=HostCapability(),
        options=(),
        reboot_required=None,
    )


def make_overlay(spec: Mapping[str, Any], host: Host) -> Overlay:
    """Build an overlay: ``nodes`` {address: node}, ``links`` ["a b 4"], ``ids`` {address: "10de:20b7"}."""
    links = [line.split() for line in spec.get("links", ())]
    ends = (
        {end for a, b, _ in links for end in (address(a), address(b))} if spec.get("claim", True) else set()
    )
    nodes = {address(k): int(v) for k, v in spec.get("nodes", {}).items()}
    given = {address(k): _ids(v) for k, v in spec.get("ids", {}).items()}
    present = {device.address: device.ids for device in host.pci_devices}
    told = sorted({*ends, *nodes, *given})
    return Overlay(
        host=host.name,
        host_uuid=spec.get("uuid"),
        vcenter_uuid=None,
        created=spec.get("created", "2026-11-01T00:00:00Z"),
        source=spec.get("source", "test"),
        devices=tuple(OverlayDevice(a, given.get(a) or present[a], nodes.get(a)) for a in told),
        links=tuple(OverlayLink(address(a), address(b), int(lanes)) for a, b, lanes in links),
    )


def _ids(text: str) -> PciIds:
    return PciIds(*(int(part, 16) for part in text.split(":")))


def _node(item: Mapping[str, Any]) -> NumaNode:
    cores = int(item.get("cores", 8))
    first = int(item["id"]) * 8
    return NumaNode(
        id=int(item["id"]),
        package=item.get("package"),
        core_count=cores,
        thread_ids=tuple(range(first, first + cores)),
        memory_bytes=64 * 1024**3,
        devices=tuple(address(text) for text in item.get("devices", ())),
    )


def _device(
    line: str,
    dependents: Mapping[PciAddress, PciAddress],
    vfs: Mapping[PciAddress, int],
    labels: Mapping[PciAddress, str],
) -> PciDevice:
    front, _, parent = (part.strip() for part in line.partition("<"))
    text, kind = front.split()
    at = address(text)
    if kind in _OTHERS:
        ids, class_id, name = _OTHERS[kind]
    else:
        model = gpu_by_name(kind)
        assert model is not None, kind
        ids, class_id, name = model.ids, model.class_id, model.device_name
    passthrough = Passthrough(True, True, True, labels.get(at), dependents.get(at, at))
    return PciDevice(
        address=at,
        ids=ids,
        class_id=class_id,
        vendor_name="Vendor",
        device_name=name,
        parent_bridge=address(parent) if parent else None,
        passthrough=None if "bridge" in kind else passthrough,
        sriov=Sriov(True, True, True, vfs[at], vfs[at], 64) if at in vfs else None,
    )


def _profile(name: str, model_name: str) -> VgpuProfile:
    model = gpu_by_name(model_name)
    assert model is not None, model_name
    return VgpuProfile(name, model.vendor, model.device, model.memory_mib // 1024)


def _group(item: Mapping[str, Any]) -> DeviceGroupType:
    gpus = [
        GroupComponent("nvidiaVgpu", "NVIDIA", "GPU", False, index, item.get("profile"))
        for index in range(int(item.get("gpus", 0)))
    ]
    nics = [
        GroupComponent("sriovNic", "Mellanox", "NIC", True, len(gpus) + index)
        for index in range(int(item.get("nics", 0)))
    ]
    allowed = [
        GroupComponent("pciPassthru", "V", "D", False, 0, None, (_ids(text),))
        for text in item.get("passthrough", ())
    ]
    return DeviceGroupType(item["name"], "", (*gpus, *nics, *allowed))
