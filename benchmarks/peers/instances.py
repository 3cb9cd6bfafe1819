"""The instances that all are given, by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from benchmarks import sites
from benchmarks.cluster import cluster_problem
from benchmarks.fleet import Variant, fleet_problem
from vplacer.constraints.state import Problem
from vplacer.inventory.site_load import load_site_text
from vplacer.jobs.fixtures import fixture_path


def _example(name: str) -> Problem:
    """An example site with its request, less its rules, which not every peer can be told."""
    site = load_site_text(fixture_path("sites", name).read_text(encoding="utf-8"), f"{name}.yaml")
    data = sites.document("requests", name)
    data.pop("rules", None)
    return sites.problem(site.inventory, site.overlays, sites.site_text(data))


SMALL: Final[dict[str, Callable[[], Problem]]] = {
    "4 hosts, example a100pcie": lambda: _example("a100pcie"),
    "3 hosts of eight nodes, example subnuma": lambda: _example("subnuma"),
    "8 hosts of seven families, half filled, 13 shapes": lambda: fleet_problem(
        Variant(hosts=8, fill=0.5, shapes=13)
    ),
    "12 hosts of seven families, half filled, 13 shapes": lambda: fleet_problem(
        Variant(hosts=12, fill=0.5, shapes=13)
    ),
}
CLUSTER: Final[dict[str, Callable[[], Problem]]] = {
    f"96 hosts, 400 VMs, {name}": lambda name=name: cluster_problem(name)  # type: ignore[misc]
    for name in ("empty", "20 % filled", "50 % filled")
}
MIXED: Final[dict[str, Callable[[], Problem]]] = {
    "96 hosts of seven families, half filled, 426 VMs of 40 shapes": lambda: fleet_problem(
        Variant(hosts=96, fill=0.5, shapes=40)
    ),
}
INSTANCES: Final = {**SMALL, **CLUSTER, **MIXED}
