"""How near two devices are: the levels a request may ask for, and what is known of a pair.

Policies read these values. The words of ``nvidia-smi topo -m`` are derived from them for printing
only: they cannot express "same socket, other node" (sub-NUMA clustering, NPS).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Level(StrEnum):
    """Nearness a request may ask for, from the nearest to "anywhere on the host".

    ``SWITCH`` and all that follow it are nested: what satisfies one satisfies the next. ``NVLINK``
    stands apart: two cards joined by NVLink may well sit on different sockets.
    """

    NVLINK = "nvlink"
    SWITCH = "switch"
    ROOT = "root"
    NUMA = "numa"
    SOCKET = "socket"
    ANY = "any"

    @property
    def rank(self) -> int:
        """Position in the order of the request vocabulary; 0 is the nearest."""
        return _RANKS[self]


LEVELS: tuple[Level, ...] = tuple(Level)
"""All levels, the nearest first."""

_RANKS = {level: rank for rank, level in enumerate(LEVELS)}


class NumaRelation(StrEnum):
    """How two NUMA nodes, or the nodes of two devices, lie to each other."""

    SAME_NODE = "same_node"
    SAME_SOCKET = "same_socket"
    OTHER_SOCKET = "other_socket"
    UNKNOWN = "unknown"


class PciePath(StrEnum):
    """The PCIe way between two functions, from the chain of parent bridges of each.

    SELF: one and the same function.
    PIX: one bridge or one switch between them. Both hang on the lowest bridge they share, directly or
        through one downstream port each; or they are functions of one device.
    PXB: they share a bridge below the host bridge, with more bridges on the way (cascaded switches).
    PHB: no shared bridge, but both chains end in root ports of one segment and bus. That such ports
        belong to one host bridge is an inference.
    NONE: the chains end in different root buses: the way leads over the CPU's interconnect.
    UNKNOWN: a chain is not told to its end, and no shared bridge was met before.
    """

    SELF = "self"
    PIX = "pix"
    PXB = "pxb"
    PHB = "phb"
    NONE = "none"
    UNKNOWN = "unknown"


_SHARED_SWITCH = frozenset({PciePath.SELF, PciePath.PIX, PciePath.PXB})
_SHARED_ROOT = _SHARED_SWITCH | {PciePath.PHB}


@dataclass(frozen=True, slots=True)
class Relation:
    """What is known of a pair of devices.

    ``nvlink`` is the number of NVLinks between them; 0 = proved to be none, None = unknown.
    """

    pcie: PciePath
    numa: NumaRelation
    nvlink: int | None

    def word(self) -> str:
        """Return the word of ``nvidia-smi topo -m``: X, NV#, PIX, PXB, PHB, NODE, SYS; "?" = unknown.

        With ``nvlink`` unknown the word is that of the PCIe way; see `open_word`.
        """
        if self.pcie is PciePath.SELF:
            return "X"
        if self.nvlink is not None and self.nvlink > 0:
            return f"NV{self.nvlink}"
        if self.pcie in _SHARED_ROOT:
            return self.pcie.name
        if self.numa in (NumaRelation.SAME_SOCKET, NumaRelation.OTHER_SOCKET):
            return "SYS"
        if self.pcie is PciePath.NONE and self.numa is NumaRelation.SAME_NODE:
            return "NODE"
        return "?"

    def open_word(self) -> str:
        """Return the word, with a question mark where an NVLink may join the two: "NODE?"."""
        word = self.word()
        return f"{word}?" if self.nvlink_open and word != "?" else word

    @property
    def nvlink_open(self) -> bool:
        """Whether there may be an NVLink that nobody has told of."""
        return self.nvlink is None and self.pcie is not PciePath.SELF

    def satisfies(self, level: Level) -> bool | None:
        """Return whether the pair is at least as near as ``level``; None = not known.

        A shared switch or host bridge lies on one NUMA node, so it satisfies ``NUMA`` and ``SOCKET``
        too, even where the node of the two is not told. Devices of different nodes share neither.
        """
        match level:
            case Level.NVLINK:
                return None if self.nvlink_open else self.pcie is PciePath.SELF or bool(self.nvlink)
            case Level.SWITCH:
                return self._shares(_SHARED_SWITCH)
            case Level.ROOT:
                return self._shares(_SHARED_ROOT)
            case Level.NUMA:
                return self._within(NumaRelation.SAME_NODE)
            case Level.SOCKET:
                return self._within(NumaRelation.SAME_NODE, NumaRelation.SAME_SOCKET)
            case Level.ANY:
                return True

    def _shares(self, paths: frozenset[PciePath]) -> bool | None:
        if self.pcie in paths:
            return True
        if self.pcie is PciePath.UNKNOWN and self.numa in (NumaRelation.SAME_NODE, NumaRelation.UNKNOWN):
            return None
        return False

    def _within(self, *relations: NumaRelation) -> bool | None:
        if self.pcie in _SHARED_ROOT or self.numa in relations:
            return True
        return None if self.numa is NumaRelation.UNKNOWN else False

    @property
    def nearest(self) -> Level:
        """The nearest level, NVLink aside, that is known to be satisfied; ``ANY`` if none is."""
        for level in (Level.SWITCH, Level.ROOT, Level.NUMA, Level.SOCKET):
            if self.satisfies(level):
                return level
        return Level.ANY


UNKNOWN_RELATION = Relation(PciePath.UNKNOWN, NumaRelation.UNKNOWN, None)
"""Nothing is known of the pair."""
