"""Shapes, demands and bins: the values of a packing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

FULL = 1000
"""Shares of a whole device: thousandths."""


@dataclass(frozen=True, slots=True, order=True)
class Shape:
    """What one VM takes of a bin: cores and memory in units of the caller, and devices.

    ``share``: thousandths of each device, 0 without one. More than one device: whole ones only.
    """

    cores: int
    memory: int
    devices: int = 0
    share: int = 0

    def __post_init__(self) -> None:
        if min(self.cores, self.memory, self.devices, self.share) < 0 or self.share > FULL:
            raise ValueError(f"not a shape: {self}")
        if (self.share == 0) != (self.devices == 0) or (self.devices > 1 and self.share != FULL):
            raise ValueError(f"neither a part of one device nor whole devices: {self}")

    @property
    def shares(self) -> int:
        """Shares of all its devices."""
        return self.devices * self.share


@dataclass(frozen=True, slots=True)
class Demand:
    """How many VMs of a shape are wanted, what one is worth, and in which kinds of bin; None = in any."""

    shape: Shape
    wanted: int
    value: int
    kinds: frozenset[str] | None = None

    def goes_into(self, kind: str) -> bool:
        """Whether a bin of this kind will do."""
        return self.kinds is None or kind in self.kinds


@dataclass(frozen=True, slots=True, order=True)
class Bin:
    """An empty bin with equal devices of FULL shares each. ``kind``: what demands tell bins apart by."""

    kind: str
    cores: int
    memory: int
    devices: int


@dataclass(frozen=True, slots=True)
class Seat:
    """One VM in a bin: the demand's index, and its devices by their numbers in the bin."""

    demand: int
    devices: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Pattern:
    """What one bin holds: per group of devices the demands in it, and those without a device.

    A group is one device with one or several VMs, or the devices of one VM that takes several.
    """

    groups: tuple[tuple[int, ...], ...]
    rest: tuple[int, ...]

    def counts(self) -> Mapping[int, int]:
        """How often each demand occurs, by index, in ascending order."""
        found: dict[int, int] = {}
        for index in sorted((*(index for group in self.groups for index in group), *self.rest)):
            found[index] = found.get(index, 0) + 1
        return found
