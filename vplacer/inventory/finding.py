"""A finding: something an admin should know about one object, and how sure it is.

A finding is never an error: what contradicts itself in an inventory is told, and reading goes on.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from vplacer.inventory.pci import PciAddress


class Certainty(StrEnum):
    """How far a fact or finding can be trusted, strongest first."""

    MEASURED = "measured"
    PROVED = "proved"
    LIKELY = "likely"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding.

    ``kind`` is a stable word such as "reboot-pending"; ``host`` and ``vm`` are managed object ids,
    None where the finding is not about one; ``text`` is a whole sentence without the names of host and
    VM, which a report adds.
    """

    kind: str
    text: str
    certainty: Certainty
    host: str | None = None
    vm: str | None = None
    address: PciAddress | None = None
