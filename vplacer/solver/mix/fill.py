"""Bins as they are filled: exact room, and the insertion of what is left over."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from vplacer.solver.mix.shape import FULL, Bin, Demand, Pattern, Seat, Shape


class Filled:
    """One bin and what is in it, in exact units."""

    def __init__(self, item: Bin) -> None:
        self.bin = item
        self.cores, self.memory = item.cores, item.memory
        self.shares = [FULL] * item.devices
        self.seats: list[Seat] = []

    def fits(self, shape: Shape) -> bool:
        """Whether one more VM of this shape has room."""
        if shape.cores > self.cores or shape.memory > self.memory:
            return False
        return sum(share >= shape.share for share in self.shares) >= shape.devices if shape.devices else True

    def fullest(self, shape: Shape) -> tuple[int, ...]:
        """Return the devices with the least left that will do."""
        free = sorted((share, index) for index, share in enumerate(self.shares) if share >= shape.share)
        return tuple(index for _, index in free[: shape.devices]) if shape.devices else ()

    def seat(self, index: int, shape: Shape, devices: Sequence[int]) -> None:
        """Put a VM in; it must fit."""
        self.cores -= shape.cores
        self.memory -= shape.memory
        for device in devices:
            self.shares[device] -= shape.share
        if min(self.cores, self.memory, *self.shares, 0) < 0:
            raise AssertionError(f"a pattern does not fit its bin: {self.bin}, {self.seats}")
        self.seats.append(Seat(index, tuple(devices)))


def fill(item: Bin, pattern: Pattern, demands: Sequence[Demand], wanted: dict[int, int]) -> Filled:
    """Fill a bin by its pattern with what is still wanted, and count that down."""
    filled = Filled(item)
    first = 0
    for group in pattern.groups:
        size = demands[group[0]].shape.devices
        devices = tuple(range(first, first + size))
        first += size
        for index in group:
            if wanted[index]:
                wanted[index] -= 1
                filled.seat(index, demands[index].shape, devices)
    for index in pattern.rest:
        if wanted[index]:
            wanted[index] -= 1
            filled.seat(index, demands[index].shape, ())
    return filled


def insert(filled: Sequence[Filled], demands: Sequence[Demand], wanted: Mapping[int, int]) -> None:
    """Insert what is still wanted wherever it fits exactly: the most devices first, into the tightest bin."""
    order = sorted(
        (index for index, number in wanted.items() if number),
        key=lambda index: (-demands[index].shape.shares, -demands[index].shape.cores, index),
    )
    for index in order:
        demand = demands[index]
        for _ in range(wanted[index]):
            room = [
                (_left(item, demand.shape), number)
                for number, item in enumerate(filled)
                if item.fits(demand.shape) and demand.goes_into(item.bin.kind)
            ]
            if not room:
                break
            best = filled[min(room)[1]]
            best.seat(index, demand.shape, best.fullest(demand.shape))


def _left(item: Filled, shape: Shape) -> tuple[int, int]:
    """What a bin would have left, so that the least is the best: on the device, or on all; then cores."""
    if not shape.devices:
        return sum(item.shares), item.cores - shape.cores
    fullest = item.shares[item.fullest(shape)[0]]
    return (fullest - shape.share if shape.share < FULL else 0), item.cores - shape.cores
