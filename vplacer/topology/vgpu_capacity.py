"""Free vGPU capacity of a host's cards: what each card holds, and how much of each profile surely still fits.

The card's mode of now decides, not what the card could be switched to.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from vplacer.inventory.host import GpuMode, Host
from vplacer.inventory.pci import PciAddress
from vplacer.topology.assignable import AssignableDevice, offers
from vplacer.topology.claims import PASSTHROUGH, VGPU, Claim
from vplacer.topology.device_use import HostUse
from vplacer.topology.vgpu_room import (
    MIG,
    TIME_SLICED,
    ProfileShape,
    profile_shape,
    room_for,
    why_mode_refuses,
)

_MIB_PER_GIB = 1024


@dataclass(frozen=True, slots=True)
class HeldVgpu:
    """A vGPU on a card. ``vm``: a moid. ``profile`` None = not known. ``sure`` False = it may be another."""

    vm: str
    profile: str | None
    sure: bool


@dataclass(frozen=True, slots=True)
class ProfileRoom:
    """How many vGPUs of a profile certainly still fit a card; ``why`` it is 0, else None."""

    profile: str
    more: int
    why: str | None


@dataclass(frozen=True, slots=True)
class CardCapacity:
    """One vGPU card.

    ``memory_mib`` and ``free_mib``: framebuffer, None = not known, as beside a vGPU of unknown size.
    ``unplaceable_mib``: of the free framebuffer, what no single profile the host offers can surely fill: it
    lies at offsets where none may start, or the mode keeps it for one size.
    """

    address: PciAddress
    mode: GpuMode
    memory_mib: int | None
    free_mib: int | None
    unplaceable_mib: int | None
    held: tuple[HeldVgpu, ...]
    rooms: tuple[ProfileRoom, ...]


def vgpu_capacity(host: Host, use: HostUse) -> tuple[CardCapacity, ...]:
    """Return the capacity of every card of a host that is set up for vGPU, by address.

    ``use``: who holds what on the host, by `vplacer.topology.device_use`. A vGPU whose card is not known
    counts on every card it may be on.
    """
    return tuple(
        _capacity(host, device, use) for address, device in sorted(use.devices.items()) if device.vgpu
    )


def held_shapes(
    host: Host, device: AssignableDevice | None, claims: Iterable[Claim]
) -> tuple[ProfileShape, ...]:
    """Return the shapes of the vGPUs among the claims on a card.

    A profile the host does not describe counts as the whole card; so does one that is not known.
    """
    shapes, unknown = [], 0
    for claim in claims:
        if claim.kind != VGPU:
            continue
        if claim.profile is None:
            unknown += 1
            continue
        shape = profile_shape(host, claim.profile)
        if shape is None:
            whole = device.framebuffer_mib if device is not None else None
            shape = ProfileShape(claim.profile, whole or 0, "unknown", 1)
        shapes.append(shape)
    return (*shapes, *(ProfileShape("?", 0, "unknown", 1) for _ in range(unknown)))


def _capacity(host: Host, device: AssignableDevice, use: HostUse) -> CardCapacity:
    here = use.held.get(device.address, ())
    maybe = tuple(c for c in use.uncertain if device.address in c.candidates)
    claims = (*here, *maybe)
    whole = next((claim for claim in claims if claim.kind == PASSTHROUGH), None)
    shapes = held_shapes(host, device, claims)
    rooms = tuple(
        _room(device, shape, shapes, whole)
        for name in _profiles(host, device)
        if (shape := profile_shape(host, name)) is not None
    )
    held = tuple(HeldVgpu(c.vm, c.profile, c in here) for c in claims if c.kind == VGPU)
    memory = device.framebuffer_mib
    free = None if memory is None or whole in maybe else _free(memory, shapes, whole)
    return CardCapacity(
        device.address, device.mode, memory, free, _unplaceable(host, free, rooms), held, rooms
    )


def _profiles(host: Host, device: AssignableDevice) -> list[str]:
    names = {profile.name for profile in host.vgpu_profiles} | set(host.vgpu_types)
    found = [name for name in names if offers(host, device, name)]
    return sorted(found, key=lambda name: (-_size(host, name), name))


def _size(host: Host, name: str) -> int:
    shape = profile_shape(host, name)
    return shape.framebuffer_mib if shape is not None else 0


def _free(memory: int, shapes: tuple[ProfileShape, ...], whole: Claim | None) -> int | None:
    """Framebuffer that is left; None where a vGPU is there whose size is not known."""
    if whole is not None:
        return 0
    if any(shape.sharing == "unknown" for shape in shapes):
        return None
    return max(0, memory - sum(shape.framebuffer_mib for shape in shapes))


def _unplaceable(host: Host, free: int | None, rooms: tuple[ProfileRoom, ...]) -> int | None:
    if free is None:
        return None
    most = max((room.more * _size(host, room.profile) for room in rooms), default=0)
    return max(0, free - most)


def _room(
    device: AssignableDevice, shape: ProfileShape, held: tuple[ProfileShape, ...], whole: Claim | None
) -> ProfileRoom:
    if why_mode_refuses(device, shape) is not None:
        if device.may_be_mig:
            return ProfileRoom(shape.name, 0, "whether the card is in MIG mode is not told")
        if shape.sharing == MIG:
            return ProfileRoom(shape.name, 0, f"needs MIG mode, the card is in mode {device.mode.value}")
        return ProfileRoom(shape.name, 0, "time-sliced, and the card is in MIG mode")
    if whole is not None:
        return ProfileRoom(shape.name, 0, "the whole card is held, or may be")
    more = room_for(device, shape, held)
    return ProfileRoom(shape.name, more, None if more else _why_none(device, shape, held))


def _why_none(device: AssignableDevice, shape: ProfileShape, held: tuple[ProfileShape, ...]) -> str:
    """Say why nothing more of a profile fits for sure, where the mode alone does not refuse it."""
    if any(other.sharing == "unknown" for other in held):
        return "what the card holds is not known"
    free = None if device.framebuffer_mib is None else _free(device.framebuffer_mib, held, None)
    if device.mode is not GpuMode.MIXED_SIZE and shape.sharing == TIME_SLICED:
        other = next((o for o in held if o.framebuffer_mib != shape.framebuffer_mib), None)
        if other is not None:
            return f"one size a card: it holds {_gib(other.framebuffer_mib)}"
        if any(o.name != shape.name for o in held) and not shape.types_mix:
            return "one type a card before ESXi 8.0 U1"
    if shape.media and any(other.media for other in held):
        return "a card has one instance with media extensions"
    if free is not None and free >= shape.framebuffer_mib:
        return f"{_gib(free)} are free, at offsets where it surely does not fit"
    if not held:
        return "the card is too small"
    return "full" if not free else f"only {_gib(free)} are free"


def _gib(mib: int) -> str:
    return f"{mib / _MIB_PER_GIB:g} GiB"
