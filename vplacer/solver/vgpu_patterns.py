"""Which sets of vGPUs a card takes beside those it holds, as the table the host model uses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping
from functools import lru_cache

from vplacer.constraints.holdings import AssignableDevice
from vplacer.constraints.matching import takes_profile
from vplacer.inventory.host import GpuMode, Host
from vplacer.inventory.pci import PciAddress
from vplacer.solver.cells import Cell
from vplacer.solver.host_state import HostState
from vplacer.topology.vgpu_room import ProfileShape, all_fit, profile_shape


def card_patterns(
    host: Host, card: AssignableDevice, held: tuple[str, ...], names: tuple[str, ...]
) -> list[tuple[int, ...]]:
    """Return every count vector over ``names`` that certainly fits the card, zeros included.

    A card that holds a profile the host does not describe takes nothing more.
    """
    shapes = tuple(profile_shape(host, n) if takes_profile(host, card, n) else None for n in names)
    held_shapes = tuple(profile_shape(host, name) for name in held)
    if any(shape is None for shape in held_shapes):
        return [(0,) * len(names)]
    return list(_patterns(card, tuple(s for s in held_shapes if s is not None), shapes))


def vgpu_rooms(state: HostState, profile: str) -> dict[int, int]:
    """Return how many vGPUs of a profile each card still takes beside those of untouchable VMs, by cell."""
    return {
        cell.index: max(pattern[0] for pattern in patterns)
        for cell, patterns in patterns_of_cells(state, (profile,))
    }


def patterns_of_cells(
    state: HostState, names: tuple[str, ...]
) -> Iterator[tuple[Cell, list[tuple[int, ...]]]]:
    """Yield each cell of a host with `card_patterns` beside the vGPUs of untouchable VMs.

    Cards that are alike and hold the same have the same list.
    """
    held: dict[PciAddress, tuple[str, ...]] = dict(state.vgpu_held)
    known: dict[Hashable, list[tuple[int, ...]]] = {}
    for cell in state.cells:
        card, here = cell.card, held.get(cell.addresses[0], ())
        key = (card.kind, card.vgpu, card.ids, card.mode, card.may_be_mig, card.framebuffer_mib, here)
        if key not in known:
            known[key] = card_patterns(state.host, card, here, names)
        yield cell, known[key]


def why_no_vgpu(state: HostState, profile: str, have: int, count: int) -> str:
    """Say what the cards of a host lack for some vGPUs of a profile: what they hold, and what is free."""
    shape = profile_shape(state.host, profile)
    held = dict(state.vgpu_held)
    cards = []
    for cell in state.cells:
        profiles = held.get(cell.addresses[0], ())
        if shape is None or not profiles or not takes_profile(state.host, cell.card, profile):
            continue
        shapes = [profile_shape(state.host, name) for name in profiles]
        taken = sum(item.framebuffer_mib for item in shapes if item is not None)
        free = max(0, (cell.card.framebuffer_mib or 0) - taken) // 1024
        names = ", ".join(f"{number} x {name}" for name, number in sorted(Counter(profiles).items()))
        why = ""
        if free * 1024 >= shape.framebuffer_mib:
            same_size = cell.card.mode is GpuMode.SAME_SIZE
            other_size = any(item is None or item.framebuffer_mib != shape.framebuffer_mib for item in shapes)
            why = (", one size a card" if other_size else "") if same_size else ", not surely in one place"
        cards.append(f"{cell.addresses[0].short} holds {names}; {free} GiB free{why}")
    told = f"room for {have} vGPUs of {profile}, {count} needed"
    return f"{told} ({'; '.join(cards[:2])})" if cards else told


def all_vgpus_fit(state: HostState, needs: Mapping[str, int]) -> bool:
    """Whether vGPUs of several profiles, of one VM, fit the cards of a host together."""
    names = tuple(sorted(needs))
    wanted = tuple(needs[name] for name in names)
    reached = {(0,) * len(names)}
    for cell, patterns in patterns_of_cells(state, names):
        if cell.card.kind != "gpu" or not cell.card.vgpu:
            continue
        reached = {
            tuple(min(want, a + b) for want, a, b in zip(wanted, counts, pattern, strict=True))
            for counts in reached
            for pattern in patterns
        }
    return wanted in reached


@lru_cache(maxsize=2048)
def _patterns(
    card: AssignableDevice, held: tuple[ProfileShape, ...], shapes: tuple[ProfileShape | None, ...]
) -> tuple[tuple[int, ...], ...]:
    found: list[tuple[int, ...]] = []

    def grow(position: int, counts: tuple[int, ...], chosen: tuple[ProfileShape, ...]) -> None:
        if position == len(shapes):
            found.append(counts)
            return
        shape = shapes[position]
        number = 0
        more: tuple[ProfileShape, ...] = chosen
        while True:
            grow(position + 1, (*counts, number), more)
            if shape is None:
                return
            number += 1
            more = (*more, shape)
            if not all_fit(card, held, more):
                return

    grow(0, (), ())
    return tuple(sorted(set(found)))
