"""What was measured on a host: where its VMs are now, and how much memory each NUMA node has left.

A measurement is true at its time and no longer: ESXi moves VMs between nodes at will. So it is part of
an overlay with a date, never of a snapshot, and no decision rests on it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

ESXTOP: Final = "esxtop"
"""The source of overlays that hold measurements."""
NOT_MEASURED: Final = "not-measured"
"""Kind of the finding that a host's VMs could not be measured; its text is the reason."""
ESXCLI_SILENT: Final = "esxcli-silent"
"""Kind of the finding that a host's esxcli told no node of its devices; its text is the reason."""
ESXCLI: Final = "esxcli hardware pci list"
"""The source of overlays that hold what a host's esxcli told."""
ESXCLI_DIFFERS: Final = "esxcli-differs"
"""Kind of the finding that esxcli told of a device what cannot be, or what vCenter contradicts."""


@dataclass(frozen=True, slots=True)
class Spread:
    """A number over several samples: the middle one (of two, the lower), the lowest and the highest."""

    median: int
    low: int
    high: int

    @classmethod
    def of(cls, values: Iterable[int | None]) -> Spread | None:
        """Return the spread of the values that are known; None = none is."""
        known = sorted(value for value in values if value is not None)
        return cls(known[(len(known) - 1) // 2], known[0], known[-1]) if known else None


@dataclass(frozen=True, slots=True)
class MeasuredHome:
    """Where a running VM was.

    nodes: its home nodes (pNUMA ids) in the last sample; empty = not told, or not in a form that is
        understood.
    at: time of the last sample, ISO 8601 UTC.
    locality_percent: share of its memory that is on its home nodes (esxtop's N%L).
    local_mib, remote_mib: its memory on its home nodes, and elsewhere.
    migrations: times the NUMA scheduler has moved it since power-on (esxtop's NMIG).
    migrations_seen: how many of them fell between the first and the last sample.
    earlier_nodes: nodes that it had in an earlier sample and not in the last.
    samples: how many there are.
    nodes_told: the host's own text for the home nodes, where it is not understood.
    """

    nodes: tuple[int, ...]
    at: str
    locality_percent: Spread | None = None
    local_mib: Spread | None = None
    remote_mib: Spread | None = None
    migrations: int | None = None
    migrations_seen: int | None = None
    earlier_nodes: tuple[int, ...] = ()
    samples: int = 1
    nodes_told: str | None = None


@dataclass(frozen=True, slots=True, order=True)
class NodeMemory:
    """Memory of one pNUMA node. ``free_mib`` over the samples; None = not told."""

    node: int
    total_mib: int | None
    free_mib: Spread | None
