"""What is asked of the fleet: as YAML data of a request file."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping
from typing import Any, Final

from benchmarks.fleet.running import CPU_OVERCOMMIT
from benchmarks.fleet.shapes import Shape, shapes
from benchmarks.fleet.variants import Variant
from benchmarks.fleet.vms import MOVABLE
from vplacer.inventory.vcenter import Inventory

PRIORITIES: Final = {0: 5, 1: 3, 2: 2}
"""Priority and how often it is drawn."""

CPU_ONLY: Final = 0.2
"""VMs without GPUs, beside those with some."""

GANG_SIZE: Final = 4


def request(variant: Variant, inventory: Inventory, free: Mapping[str, float]) -> dict[str, Any]:
    """Return a request for ``variant.asked`` times the free GPUs of each model.

    Args:
        variant: what to ask for.
        inventory: where running VMs that may move carry a tag.
        free: free GPUs by pool of the shapes ("any" is served by all pools of whole GPUs).
    """
    chooser = random.Random(f"request {variant.seed}")
    kinds = shapes(variant.shapes, eight_nodes=variant.eight_nodes, hint=variant.hint, seed=variant.seed)
    drawn = _drawn(kinds, {pool: variant.asked * count for pool, count in free.items()}, chooser)
    entries = []
    for shape in kinds:
        for priority in PRIORITIES:
            count = drawn[shape.name, priority]
            if count:
                name = f"{shape.name}-p{priority}-{{n}}"
                entries.append({**shape.entry, "name": name, "count": count, "priority": priority})
    gangs, members = _gangs(variant)
    return {
        "version": 1,
        "partial": True,
        "cpu_overcommit": CPU_OVERCOMMIT,
        "vms": [*entries, *members, *_movable(inventory)],
        **({"gangs": gangs} if gangs else {}),
    }


def _drawn(
    kinds: tuple[Shape, ...], wanted: Mapping[str, float], chooser: random.Random
) -> Counter[tuple[str, int]]:
    """Return how many of each shape and priority; each shape is asked for at least once."""
    drawn: Counter[tuple[str, int]] = Counter()
    priorities = (list(PRIORITIES), list(PRIORITIES.values()))

    def draw(shape: Shape) -> float:
        drawn[shape.name, chooser.choices(*priorities)[0]] += 1
        return shape.gpus

    asked: Counter[str] = Counter()
    for shape in kinds:
        asked[shape.pool] += draw(shape)
    common = [shape for shape in kinds if shape.pool == "any"]
    for pool, count in wanted.items():
        own = [shape for shape in kinds if shape.pool == pool]
        choice = own + (common if pool not in ("L4", "group") else [])
        weights = [shape.frequency for shape in choice]
        while asked[pool] < count:
            asked[pool] += draw(chooser.choices(choice, weights)[0])
    plain = [shape for shape in kinds if shape.pool == "cpu"]
    for _ in range(round(CPU_ONLY * sum(drawn.values()))):
        draw(chooser.choices(plain, [shape.frequency for shape in plain])[0])
    return drawn


def _gangs(variant: Variant) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return gangs of VMs of a whole node's GPUs and NICs."""
    size = {"count": 1, "model": "H100-80"} if variant.eight_nodes else {"count": 4, "model": "H100-80"}
    nics = 1 if variant.eight_nodes else 2
    gangs, members = [], []
    for number in range(1, variant.gangs + 1):
        name = f"rank-{number:02}"
        gangs.append({"name": f"gang-{number:02}", "vms": f"{name}-*"})
        members.append(
            {
                "template": "gpu-template",
                "name": f"{name}-{{n}}",
                "count": GANG_SIZE,
                "cpus": 12 if variant.eight_nodes else 40,
                "memory": "128 GiB" if variant.eight_nodes else "512 GiB",
                "affinity": "pin",
                "policy": "required",
                "priority": 1,
                "gpus": size,
                "nics": {"count": nics, "near": "gpu", "at": "switch"},
            }
        )
    return gangs, members


def _movable(inventory: Inventory) -> list[dict[str, Any]]:
    tags = {tag for vm in inventory.vms for tag in vm.tags if tag.startswith(MOVABLE)}
    return [
        {
            "select": {"tag": tag},
            "may_move": True,
            "affinity": tag.removeprefix(f"{MOVABLE}-"),
            "policy": "none",
        }
        for tag in sorted(tags)
    ]
