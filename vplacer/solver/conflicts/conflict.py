"""A set of things that cannot all hold, as data."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ConflictPart:
    """One of the things that cannot all hold.

    ``kind``: "wish" (of the VMs without a place: ``field`` and ``value`` of the request), "rule" (likewise,
    of the whole request), "demands" (``count`` other VMs of the request, any of ``objects``), "vm" (a VM that
    runs there today), "running" (all of them), "host" (a host that takes no VMs now) or "admission" (HA
    admission control of a cluster). ``objects``: ids of what it is about. ``text`` says it to people.
    ``suffices``: giving up this alone makes room, though all else that is asked of these VMs holds and the
    site is else as it is; False = not found, None = not tried.
    """

    kind: str
    text: str
    field: str | None = None
    value: str | None = None
    objects: tuple[str, ...] = ()
    count: int | None = None
    suffices: bool | None = None


@dataclass(frozen=True, slots=True)
class Conflict:
    """Things that cannot all hold, whatever else is given up.

    ``wanted``: so many VMs of the kind without a place cannot all be placed while all of ``parts`` hold.
    ``minimal``: without any one of the parts, and of the VMs, the rest can hold; False = not shown.
    ``hosts_left_out``: so many kinds of host were not looked at.
    """

    wanted: int
    parts: tuple[ConflictPart, ...]
    minimal: bool
    hosts_left_out: int = 0
