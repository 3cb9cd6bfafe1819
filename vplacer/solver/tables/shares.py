"""Ways to share out the worth of a VM over the nodes that its parts are on.

Who has the cards of one node but no cores on the other gains nothing, if all the worth is with the cores; and
the other way round. No way is the best for all hosts, so several are tried.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

Share = Callable[[Sequence[int], Sequence[int]], tuple[float, ...]]
"""From cores and devices of each node to the weight of each."""


def shared_out(value: int, weights: Sequence[float]) -> tuple[int, ...]:
    """Share out a value, rounded up: together the shares are never less than it."""
    whole = sum(weights)
    return tuple(-int(-value * weight // whole) if weight else 0 for weight in weights)


def _by_cores(cores: Sequence[int], devices: Sequence[int]) -> tuple[float, ...]:
    return tuple(map(float, cores if any(cores) else devices))


def _by_devices(cores: Sequence[int], devices: Sequence[int]) -> tuple[float, ...]:
    return tuple(map(float, devices if any(devices) else cores))


def _leaning(number: int, factor: float) -> Share:
    """By devices, but one node counts more."""

    def share(cores: Sequence[int], devices: Sequence[int]) -> tuple[float, ...]:
        weights = _by_devices(cores, devices)
        return tuple(factor * weight if n == number else weight for n, weight in enumerate(weights))

    return share


LEANING: Final = 3.0

WAYS: Final[tuple[Share, ...]] = (_by_cores, _by_devices, _leaning(0, LEANING), _leaning(1, LEANING))
