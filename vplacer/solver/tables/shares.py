"""Ways to share out the worth of a VM over the nodes that its parts are on.

Who has the cards of one node but no cores on the other gains nothing, if all the worth is with the cores; and
the other way round. No way is the best for all hosts, so several are tried.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

Share = Callable[[Sequence[int], Sequence[int], Sequence[int]], tuple[float, ...]]
"""From cores, devices and those of them that are GPUs of each node to the weight of each."""


def shared_out(value: int, weights: Sequence[float]) -> tuple[int, ...]:
    """Share out a value, rounded up: together the shares are never less than it."""
    whole = sum(weights)
    return tuple(-int(-value * weight // whole) if weight else 0 for weight in weights)


def _by_cores(cores: Sequence[int], devices: Sequence[int], gpus: Sequence[int]) -> tuple[float, ...]:  # noqa: ARG001
    return tuple(map(float, cores if any(cores) else devices))


def by_devices(cores: Sequence[int], devices: Sequence[int], gpus: Sequence[int]) -> tuple[float, ...]:  # noqa: ARG001
    """Weights by devices; by cores where there are none."""
    return tuple(map(float, devices if any(devices) else cores))


def _by_gpus(cores: Sequence[int], devices: Sequence[int], gpus: Sequence[int]) -> tuple[float, ...]:
    """NICs are seldom what is short: who has one but no GPU gains nothing."""
    return tuple(map(float, gpus)) if any(gpus) else by_devices(cores, devices, gpus)


def _spanning_by_cores(
    cores: Sequence[int], devices: Sequence[int], gpus: Sequence[int]
) -> tuple[float, ...]:
    """By GPUs, but with the cores where GPUs of several nodes are taken: parts of them alone gain nothing."""
    several = sum(count > 0 for count in gpus) > 1
    return (_by_cores if several else _by_gpus)(cores, devices, gpus)


def _spanning_on(number: int) -> Share:
    """By GPUs, but with those of one node where GPUs of several are taken."""

    def share(cores: Sequence[int], devices: Sequence[int], gpus: Sequence[int]) -> tuple[float, ...]:
        if sum(count > 0 for count in gpus) < 2 or number >= len(gpus) or not gpus[number]:
            return _by_gpus(cores, devices, gpus)
        return tuple(float(n == number) for n in range(len(gpus)))

    return share


WAYS: Final[tuple[Share, ...]] = (
    _by_cores,
    _by_gpus,
    _spanning_by_cores,
    _spanning_on(0),
    _spanning_on(1),
)
