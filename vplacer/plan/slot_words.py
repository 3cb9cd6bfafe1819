"""What a plan says of the slot that a VM takes, or of what it does to slots instead."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from vplacer.solver.arrivals.follow import Arrival
from vplacer.solver.arrivals.kept import KeptSlot


def arrival_notes(
    name: str, shape: str | None, arrival: Arrival, slots: Sequence[KeptSlot], host: str
) -> tuple[str, ...]:
    """Return the notes of a plan that places one VM by slots.

    Args:
        name: the VM.
        shape: its shape in the mix; None = it is of none.
        arrival: where it goes.
        slots: the slots that were there before.
        host: the name of its host.
    """
    left = len(slots) - len(arrival.destroyed) - (arrival.slot is not None)
    kept = f"{left} of {_slots(len(slots))} kept"
    if arrival.slot is not None:
        mine = sum(slot.shape == arrival.slot.shape for slot in slots)
        told = f"{name} takes a slot of shape '{arrival.slot.shape}' on {host}; {kept}"
        return (f"{told}, {mine - 1} of {mine} of this shape",)
    why = _why(shape, slots)
    if not arrival.destroyed:
        return (f"{name} goes to room on {host} that no slot keeps: {why}; {kept}",)
    count = Counter(slot.shape for slot in arrival.destroyed)
    gone = ", ".join(f"{number} of shape '{lost}'" for lost, number in sorted(count.items()))
    return (
        f"{name} destroys {_slots(len(arrival.destroyed))} on {host} ({gone}), the least found: {why}, "
        f"and no other room; {kept}",
    )


def _why(shape: str | None, slots: Sequence[KeptSlot]) -> str:
    if shape is None:
        return "its shape is not in the mix"
    if any(slot.shape == shape for slot in slots):
        return f"it can take no slot of its shape '{shape}'"
    return f"no slot of its shape '{shape}' is left"


def _slots(number: int) -> str:
    return f"{number} slot" if number == 1 else f"{number} slots"
