"""The cards of a host, and how a VM may get each: whole, as a vGPU, or as a virtual function."""

from __future__ import annotations

import re
from dataclasses import dataclass

from vplacer.inventory.gpu_models import gpu_by_ids
from vplacer.inventory.host import GpuMode, Host, PciDevice, Pnic, VgpuProfile
from vplacer.inventory.nic_models import NicModel, nic_by_ids
from vplacer.inventory.pci import PciAddress, PciIds
from vplacer.inventory.vm import AllowedDevice
from vplacer.topology.host_topology import HostTopology

_SHARED_DIRECT = "sharedDirect"
_MIG_NAME = re.compile(r"-\d+-\d+[a-z]+$")

MIG_SHARING = "mig"
"""VgpuProfileInfo.profileSharing of instances of a card in MIG mode."""


@dataclass(frozen=True, slots=True)
class AssignableDevice:
    """A GPU or a physical NIC port, and how a VM may get it.

    ``kind``: "gpu" | "nic". ``model``: canonical name of the GPU or NIC tables, else the ids ("10de:1eb8").
    ``node`` and ``package``: where it sits, None = unknown. ``passthrough``: usable as a whole now.
    ``vgpu``: the vendor's host driver has it (graphics type sharedDirect). ``mode``: how it is cut up;
    hosts before ESXi 8.0 U3 do not tell, then it is what the profiles on offer say (`told_mode`), and
    ``may_be_mig`` where they do not say it either.
    ``sriov_free_vfs``: virtual functions present, whoever holds them (`HostUse.free_vfs` subtracts).
    ``link_mbps``: 0 = the link is down, None = not known; a port that is passed through has no link
    the host could tell of, and shows the speed of its model.
    ``unusable``: why no VM can get it in any way, else None.
    """

    address: PciAddress
    kind: str
    model: str
    ids: PciIds
    label: str | None
    node: int | None
    package: int | None
    passthrough: bool
    vgpu: bool
    mode: GpuMode
    framebuffer_mib: int | None
    sriov_free_vfs: int
    link_mbps: int | None
    rdma: bool | None
    unusable: str | None
    may_be_mig: bool = False


def assignable_devices(host: Host, topology: HostTopology) -> tuple[AssignableDevice, ...]:
    """Return the GPUs and physical NIC ports of a host, by address."""
    by_address = {device.address: device for device in host.pci_devices}
    pnics = {pnic.address: pnic for pnic in host.pnics if pnic.address is not None}
    found = []
    kinds = [*((device, "gpu") for device in topology.gpus), *((d, "nic") for d in topology.nics)]
    for placed, kind in sorted(kinds, key=lambda pair: pair[0].address):
        device = by_address.get(placed.address)
        if device is None:
            continue
        state, graphics, sriov = device.passthrough, device.graphics, device.sriov
        active = state is not None and state.active
        vgpu = graphics is not None and graphics.type == _SHARED_DIRECT
        vfs = sriov.vf_present if sriov is not None and sriov.active else 0
        pnic = pnics.get(device.address)
        nic = nic_by_ids(device.ids) if kind == "nic" else None
        gpu = gpu_by_ids(device.ids) if kind == "gpu" else None
        memory = gpu.memory_mib if gpu is not None else None
        if memory is None and graphics is not None and graphics.memory_kib is not None:
            memory = graphics.memory_kib // 1024
        mode, may_be_mig = told_mode(host, device)
        found.append(
            AssignableDevice(
                address=device.address,
                kind=kind,
                model=nic.name if nic is not None else (placed.model or str(device.ids)),
                ids=device.ids,
                label=(state.label or None) if state is not None else None,
                node=placed.node,
                package=placed.package,
                passthrough=active,
                vgpu=vgpu,
                mode=mode,
                framebuffer_mib=memory,
                sriov_free_vfs=vfs,
                link_mbps=_link(pnic, nic),
                rdma=_rdma(pnic, nic),
                unusable=_why_unusable(host, device.address) if not (active or vgpu or vfs) else None,
                may_be_mig=may_be_mig,
            )
        )
    return tuple(found)


def told_mode(host: Host, device: PciDevice) -> tuple[GpuMode, bool]:
    """Return how a card is cut up now, and whether that may be MIG although nothing says so.

    HostGraphicsInfo.vgpuMode tells since API 8.0.3, and mixed-size mode came with it. Before, the profiles
    that are possible now (HostConfigInfo.sharedPassthruGpuTypes) tell MIG from time-slicing, for cards that
    can be in either, and only where all of them are of one kind.
    """
    graphics = device.graphics
    if graphics is None or graphics.type != _SHARED_DIRECT or graphics.mode is not GpuMode.NONE:
        return (graphics.mode if graphics is not None else GpuMode.NONE), False
    model = gpu_by_ids(device.ids)
    if model is not None and model.mig_shape is None:
        return GpuMode.NONE, False
    described = {profile.name: profile for profile in host.vgpu_profiles}
    kinds = set()
    for name in host.vgpu_types:
        profile = described.get(name)
        if profile is None or (profile.vendor, profile.device) == (device.ids.vendor, device.ids.device):
            kinds.add(is_mig_profile(name, profile))
    if kinds == {True}:
        return GpuMode.MIG, False
    return GpuMode.NONE, len(kinds) == 2


def is_mig_profile(name: str, described: VgpuProfile | None) -> bool:
    """Whether a profile is an instance of a card in MIG mode: as described, else by its name ("-1-10c")."""
    if described is not None and described.sharing:
        return described.sharing == MIG_SHARING
    return _MIG_NAME.search(name) is not None


def _link(pnic: Pnic | None, nic: NicModel | None) -> int | None:
    if pnic is not None:
        return pnic.link_mbps or 0
    return nic.mbps if nic is not None else None


def _rdma(pnic: Pnic | None, nic: NicModel | None) -> bool | None:
    if pnic is not None and pnic.rdma is not None:
        return pnic.rdma
    return nic.rdma if nic is not None else None


def _why_unusable(host: Host, address: PciAddress) -> str:
    """Say why a card that is neither active, nor vGPU, nor cut in functions goes to no VM."""
    device = host.device(address)
    state = device.passthrough if device is not None else None
    if state is not None and state.enabled:
        return "needs reboot: passthrough is enabled but not active yet"
    if state is None or not state.capable:
        return "not capable of passthrough"
    if device is not None and device.graphics is not None and device.graphics.type != "direct":
        return f"passthrough is not enabled (graphics type {device.graphics.type})"
    return "passthrough is not enabled"


def allowed_by(allowed: tuple[AllowedDevice, ...], ids: PciIds) -> bool:
    """Whether a card is one of a Dynamic backing's alternatives; an empty list allows none."""
    return any(
        (want.vendor, want.device) == (ids.vendor, ids.device)
        and want.sub_vendor in (None, ids.sub_vendor)
        and want.sub_device in (None, ids.sub_device)
        for want in allowed
    )


def offers(host: Host, card: AssignableDevice, profile: str) -> bool:
    """Whether a profile belongs to a card's model.

    Where the host does not describe the profile, every vGPU card may be meant.
    """
    described = [p for p in host.vgpu_profiles if p.name == profile]
    if not described:
        return profile in host.vgpu_types
    return any((p.vendor, p.device) == (card.ids.vendor, card.ids.device) for p in described)
