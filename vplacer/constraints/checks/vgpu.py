"""vGPUs fit their cards, in the mode each card is in now."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from itertools import product

from vplacer.constraints.costs import LESS_DEVICES
from vplacer.constraints.holdings import VGPU, HostUse
from vplacer.constraints.registry import Relaxation, host_check
from vplacer.constraints.state import Confidence, Problem, State, Violation
from vplacer.constraints.steering import ask_of, candidates, held_shapes, use_of
from vplacer.inventory.host import Host
from vplacer.inventory.pci import PciAddress
from vplacer.request.demand import Demand, GpuAsk
from vplacer.topology.vgpu_room import ProfileShape, all_fit, profile_shape, room_for, why_mode_refuses

ID = "vgpu"

_MOST_GUESSES = 64

_Need = tuple[str, PciAddress, ProfileShape, tuple[PciAddress, ...]]
"""Demand, witness card, shape and the cards the platform may choose."""


def on_host(state: State, host: str) -> Iterable[Violation]:
    """Seat the vGPUs of a host's placements on their witness cards beside those that stay.

    Where a standing VM's vGPU is on a card that cannot be named, the new ones must fit wherever it is.
    """
    needs = _needs(state, host)
    if not needs:
        return
    home = state.problem.inventory.host_by_moid[host]
    use = use_of(state, host)
    wrong = list(_witness_faults(home, use, needs))
    yield from (Violation(ID, demand, text, host=host) for demand, text in wrong)
    if not wrong and any(h.kind == VGPU for h in use.uncertain) and not _fits_any_guess(home, use, needs):
        text = "vGPUs of running VMs are on cards that cannot be named, and might leave too little room"
        yield Violation(ID, needs[0][0], text, Confidence.UNKNOWN, host)


def _needs(state: State, host: str) -> list[_Need]:
    home = state.problem.inventory.host_by_moid[host]
    found = []
    for placement in state.placements_by_host.get(host, ()):
        demand = state.problem.demand_by_id[placement.demand]
        for assignment in placement.devices:
            ask = ask_of(demand, assignment)
            if not isinstance(ask, GpuAsk) or ask.profile is None:
                continue
            shape = profile_shape(home, ask.profile)
            if shape is not None:
                open_cards = candidates(state, placement, assignment)
                found.append((demand.id, assignment.address, shape, open_cards))
    return found


def _witness_faults(host: Host, use: HostUse, needs: list[_Need]) -> Iterable[tuple[str, str]]:
    by_card: dict[PciAddress, list[_Need]] = defaultdict(list)
    for need in needs:
        by_card[need[1]].append(need)
    for address, mine in sorted(by_card.items()):
        device = use.devices.get(address)
        if device is None:
            continue
        refusal = next((why for need in mine if (why := why_mode_refuses(device, need[2]))), None)
        held = held_shapes(host, use, address)
        if refusal is not None:
            yield mine[0][0], f"{address}: {refusal}"
        elif not all_fit(device, held, [need[2] for need in mine]):
            names = ", ".join(sorted(need[2].name for need in mine))
            beside = ", ".join(sorted(shape.name for shape in held)) or "nothing"
            text = f"{address} ({device.mode.value}) does not surely take {names} beside {beside}"
            yield mine[-1][0], text


def _fits_any_guess(host: Host, use: HostUse, needs: list[_Need]) -> bool:
    """Try every card each unnamed vGPU may be on; too many guesses count as not fitting."""
    unnamed = [h for h in use.uncertain if h.kind == VGPU and h.candidates]
    guesses = 1
    for holding in unnamed:
        guesses *= len(holding.candidates)
        if guesses > _MOST_GUESSES:
            return False
    shapes = [profile_shape(host, holding.profile or "") for holding in unnamed]
    for cards in product(*(holding.candidates for holding in unnamed)):
        held: dict[PciAddress, tuple[ProfileShape, ...]] = {
            address: held_shapes(host, use, address) for address in use.devices
        }
        possible = True
        for card, shape in zip(cards, shapes, strict=True):
            guess = shape if shape is not None else ProfileShape("?", 0, "unknown", 1)
            if shape is not None and room_for(use.devices[card], shape, held[card]) < 1:
                possible = False  # it cannot be there
                break
            held[card] = (*held[card], guess)
        if possible and not _seat(use, held, needs):
            return False
    return True


def _seat(use: HostUse, held: Mapping[PciAddress, tuple[ProfileShape, ...]], needs: list[_Need]) -> bool:
    """Seat vGPUs first fit, the largest first; a failure may be the order's, and counts as one."""
    seated = dict(held)
    for _, _, shape, cards in sorted(needs, key=lambda n: (-n[2].framebuffer_mib, n[2].name, n[0])):
        for card in cards:
            if room_for(use.devices[card], shape, seated[card]) > 0:
                seated[card] = (*seated[card], shape)
                break
        else:
            return False
    return True


def relax(_problem: Problem, demand: Demand) -> tuple[Relaxation, ...]:
    """Fewer vGPUs would do."""
    return tuple(
        Relaxation(
            f"ask for {ask.count - 1} instead of {ask.count} vGPUs of {ask.profile}",
            LESS_DEVICES,
            demand.id,
            f"gpus[{index}].count",
            str(ask.count - 1),
        )
        for index, ask in enumerate(demand.gpus)
        if ask.profile is not None and ask.count > 1
    )


CHECK = host_check(ID, "vGPU room", on_host, relax)
