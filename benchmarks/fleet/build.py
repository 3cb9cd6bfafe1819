"""Builds the fleet: hosts, running VMs, the request, and the problem that the solver takes."""

from __future__ import annotations

import hashlib
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import yaml

from benchmarks.fleet.families import counts, site
from benchmarks.fleet.request import request
from benchmarks.fleet.running import Filler, Running, layout
from benchmarks.fleet.variants import Variant
from benchmarks.fleet.vms import Shares, with_vms
from vplacer.constraints.ownership import reason_left_alone
from vplacer.constraints.state import Problem
from vplacer.inventory.overlay import Overlay
from vplacer.inventory.site_load import load_site_text
from vplacer.request.load import parse_request
from vplacer.request.resolve import resolve
from vplacer.topology.build import build_topologies

POOLS = {
    "hgx": "H100-80",
    "quad": "A30",
    "pairs": "A100-80",
    "groups": "group",
    "vgpu": "L4",
    "vgpu2": "L4",
    "nps8": "H100-80",
    "nps4": "A30",
    "nps16": "A100-80",
}
"""The pool of shapes that a family serves."""


@dataclass(frozen=True, slots=True)
class Fleet:
    """An instance with what is worth knowing of it. ``states``: distinct hosts, at least.

    ``overlays`` and ``request``: what of the problem is not in its inventory, as files would have it.
    """

    problem: Problem
    overlays: tuple[Overlay, ...]
    request: str
    running: tuple[Running, ...]
    states: int
    gpus: int
    gpus_free: float
    gpus_asked: float


def fleet(variant: Variant) -> Fleet:
    """Build an instance; the same variant gives the same one."""
    wanted = counts(variant.hosts, eight_nodes=variant.eight_nodes)
    data = site(variant.hosts, eight_nodes=variant.eight_nodes)
    loaded = load_site_text(yaml.safe_dump(data, sort_keys=False, width=1000), "fleet.yaml")
    topologies = build_topologies(loaded.inventory, loaded.overlays)
    fillers: list[Filler] = []
    first = 0
    for family, count in wanted.items():
        host = loaded.inventory.hosts[first]
        cards = layout(family, host, topologies[host.moid])
        filler = Filler(cards, first, count, random.Random(f"{family} {variant.seed}"))
        filler.fill(variant.fill)
        fillers.append(filler)
        first += count
    running = tuple(vm for filler in fillers for vm in filler.found)
    shares = Shares(variant.floating, variant.movable)
    inventory = with_vms(loaded.inventory, running, shares, variant.seed)
    free: Counter[str] = Counter()
    for filler in fillers:
        if filler.cards.family in POOLS:
            all_of_them = len(filler.cards.gpus) * len(filler.rooms)
            free[POOLS[filler.cards.family]] += all_of_them - filler.gpus_used
    text = yaml.safe_dump(request(variant, inventory, free), sort_keys=False, width=1000)
    asked = parse_request(text, "fleet-request.yaml")
    resolved = resolve(asked, inventory, topologies, owner_reason=lambda vm: reason_left_alone(vm, inventory))
    return Fleet(
        Problem(inventory, topologies, resolved),
        loaded.overlays,
        text,
        running,
        _distinct(fillers),
        sum(len(filler.cards.gpus) * len(filler.rooms) for filler in fillers),
        sum(free.values()),
        sum(d.weight_milli for d in resolved.demands if d.vm is None and d.gpus) / 1000,
    )


def instance_sha256(made: Fleet) -> str:
    """Return a sum over hosts, VMs and demands: equal instances have equal ones."""
    found = hashlib.sha256()
    for item in (*made.problem.inventory.hosts, *made.problem.inventory.vms, *made.problem.request.demands):
        found.update(repr(item).encode())
    return found.hexdigest()


def _distinct(fillers: Sequence[Filler]) -> int:
    """Count hosts that differ in what is left of them, whatever the order of switches and cards."""
    found = set()
    for filler in fillers:
        for room in filler.rooms:
            nodes = []
            for node, switches in enumerate(filler.cards.switches):
                cards = sorted(
                    (
                        sorted((a in room.taken, *room.slices.get(a, (0, 0))) for a in gpus),
                        sorted(a in room.taken for a in nics),
                    )
                    for gpus, nics in switches
                )
                nodes.append((room.cores[node], room.memory[node], repr(cards)))
            found.add((filler.cards.family, *sorted(nodes)))
    return len(found)
