"""A combination of changes with which all of a request finds a place, as data."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class GivenUp:
    """One change.

    ``kind``: "wish" (``field`` of ``demands`` becomes ``value``), "rule" (``field`` of the request becomes
    ``value``), "leave_out" (``demands`` are not placed), "move" (the running VM in ``objects`` goes to
    another host) or "host" (the host in ``objects`` takes VMs again). ``cost``: of all VMs it is about.
    """

    kind: str
    text: str
    cost: int
    demands: tuple[str, ...] = ()
    field: str | None = None
    value: str | None = None
    objects: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class WayOut:
    """Changes that together let in all that is not left out; solved with them applied, and judged.

    ``cheapest``: proved that no other combination of the changes that were considered costs less.
    """

    changes: tuple[GivenUp, ...]
    cost: int
    cheapest: bool
