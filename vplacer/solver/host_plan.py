"""What is chosen on one host, as plain data: the answer of a host model."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class HostPlan:
    """Chosen options of one host.

    ``chosen``: (class, option number, count). ``stays`` and ``as_is``: class indices. ``vgpus``:
    (cell, profile, count), those of VMs that keep their place included.
    """

    chosen: tuple[tuple[int, int, int], ...]
    stays: tuple[int, ...]
    as_is: tuple[int, ...]
    vgpus: tuple[tuple[int, str, int], ...]

    def seats(self) -> dict[int, int]:
        """VMs placed per class, stays included."""
        found: dict[int, int] = {}
        for index, _, count in self.chosen:
            found[index] = found.get(index, 0) + count
        for index in self.stays:
            found[index] = found.get(index, 0) + 1
        return found
