"""From patterns to plans of hosts: which option of which class, how often, and which card each vGPU is on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from vplacer.errors import InternalError
from vplacer.inventory.pci import PciAddress
from vplacer.solver.classes import DemandClass
from vplacer.solver.host_model import HostTask
from vplacer.solver.host_plan import HostPlan
from vplacer.solver.host_state import HostState
from vplacer.solver.tables.cards import card_choices
from vplacer.solver.tables.items import Item
from vplacer.solver.vgpu_patterns import card_patterns


@dataclass(frozen=True, slots=True)
class HostSeats:
    """What one host takes: (item, option number of its leading class, count)."""

    position: int
    seats: tuple[tuple[int, int, int], ...]


def deal(
    hosts: Sequence[HostSeats], items: Sequence[Item], classes: Sequence[DemandClass]
) -> dict[int, list[tuple[int, int, int]]]:
    """Give the seats of items to their classes, the highest priority first.

    Seats beyond what is asked for stay empty, those of the last hosts first.

    Returns:
        (class, option number, count) by host position.
    """
    waiting = {
        item.index: [[index, classes[index].count] for index in item.classes or (item.lead,)]
        for item in items
    }
    dealt: dict[int, list[tuple[int, int, int]]] = {}
    for host in sorted(hosts, key=lambda h: h.position):
        mine: Counter[tuple[int, int]] = Counter()
        for item, option, count in host.seats:
            left = count
            for entry in waiting[item]:
                taken = min(left, entry[1])
                if taken:
                    mine[entry[0], option] += taken
                    entry[1] -= taken
                    left -= taken
        dealt[host.position] = [(index, option, count) for (index, option), count in sorted(mine.items())]
    return dealt


def host_plan(chosen: Sequence[tuple[int, int, int]], task: HostTask) -> HostPlan:
    """Return the plan of a host on which no VM may be changed; ``chosen``: (class, option number, count)."""
    return HostPlan(tuple(sorted(chosen)), (), (), seat_vgpus(task.state, vgpus_needed(chosen, task)))


def vgpus_needed(chosen: Sequence[tuple[int, int, int]], task: HostTask) -> dict[str, int]:
    """Return the vGPUs per profile of (class, option number, count) of a host."""
    needs: Counter[str] = Counter()
    for index, number, count in chosen:
        for use in task.options[index][number].uses:
            if use.resource == "vgpu":
                needs[use.profile or ""] += use.count * count
    return dict(needs)


def seat_vgpus(state: HostState, needs: dict[str, int]) -> tuple[tuple[int, str, int], ...]:
    """Seat vGPUs on the cards of a host: (cell, profile, count)."""
    names = tuple(sorted(name for name, count in needs.items() if count))
    if not names:
        return ()
    held: dict[PciAddress, tuple[str, ...]] = dict(state.vgpu_held)
    cards = [
        (cell.index, card_patterns(state.host, cell.card, held.get(cell.addresses[0], ()), names))
        for cell in state.cells
        if cell.card.kind == "gpu" and cell.card.vgpu
    ]
    wanted = tuple(needs[name] for name in names)
    found = _one_profile_a_card(cards, wanted) or _together(cards, wanted)
    if found is None:
        raise InternalError("vGPUs were counted that no card takes", obj=state.host.name)
    return tuple(
        (cell, name, count)
        for cell, pattern in found
        for name, count in zip(names, pattern, strict=True)
        if count
    )


Cards = Sequence[tuple[int, list[tuple[int, ...]]]]
"""Cell and patterns of each card."""

Seated = tuple[tuple[int, tuple[int, ...]], ...]
"""Cell and vGPUs per profile of each card that gets any."""


def _one_profile_a_card(cards: Cards, wanted: tuple[int, ...]) -> Seated | None:
    """Seat vGPUs on cards of one profile each, first on those that have no choice; None if some are left."""
    choices = [(cell, card_choices(tuple(patterns))) for cell, patterns in cards]
    found: dict[int, tuple[int, ...]] = {}
    left = list(wanted)
    for cell, gives in sorted(choices, key=lambda c: sum(map(bool, c[1] or ())) > 1):
        profile = next((n for n, most in enumerate(gives or ()) if most and left[n]), None)
        if gives is not None and profile is not None:
            count = min(left[profile], gives[profile])
            left[profile] -= count
            found[cell] = tuple(count if n == profile else 0 for n in range(len(wanted)))
    return None if any(left) else tuple(sorted(found.items()))


def _together(cards: Cards, wanted: tuple[int, ...]) -> Seated | None:
    """Seat vGPUs by trying the patterns of each card in turn; None if they do not fit."""
    reached: dict[tuple[int, ...], Seated] = {(0,) * len(wanted): ()}
    for cell, patterns in cards:
        then = dict(reached)
        for counts, way in reached.items():
            for pattern in patterns:
                total = tuple(a + b for a, b in zip(counts, pattern, strict=True))
                if any(pattern) and all(a <= b for a, b in zip(total, wanted, strict=True)):
                    then.setdefault(total, (*way, (cell, pattern)))
        reached = then
        if wanted in reached:
            break
    return reached.get(wanted)
