"""What can be varied of the fleet and of what is asked of it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Variant:
    """One instance. Shares are of 1.

    ``fill``: of GPUs and cores taken by running VMs. ``movable``: of the running VMs that may move.
    ``floating``: of the running VMs without numa.nodeAffinity. ``hint``: of the shapes asked for that float.
    ``asked``: GPUs asked for, beside those that are free. ``gangs``: of four members each.
    """

    seed: int = 1
    hosts: int = 2_500
    fill: float = 0.85
    shapes: int = 150
    movable: float = 0.0
    floating: float = 0.0
    hint: float = 0.0
    eight_nodes: bool = False
    asked: float = 1.2
    gangs: int = 0
