"""Files and topology of large sites: 96 hosts, and 2,500 hosts of four kinds with 10,000 VMs."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks import sites
from benchmarks.measure import Cost, Report, main, repeated, timed, times
from vplacer.inventory.site import Site
from vplacer.inventory.site_load import load_site_text
from vplacer.inventory.snapshot import load_snapshot, save_snapshot
from vplacer.inventory.vcenter import Inventory
from vplacer.topology.build import build_host_topology, build_topologies
from vplacer.topology.graph import vcenter_graph

LARGE = 2_500


def measure(quick: bool) -> Report:
    report = Report("Large sites")
    runs = 1 if quick else 5
    large_text = sites.large_site_text(LARGE // 10 if quick else LARGE)
    large, loading = timed(lambda: load_site_text(large_text))
    big = sites.big_site()
    inventories = {sites.BIG: (big, big.inventory), "large": (large, sites.large_inventory(large))}
    report.table(
        "Inventory YAML of the large site, loaded",
        [{"hosts": len(large.inventory.hosts), "VMs in it": len(large.inventory.vms), **times([loading])}],
    )
    rows = []
    for name, (_, inventory) in inventories.items():
        rows += _snapshots(name, inventory, runs, report)
    report.table("Snapshots", rows, "load: read, verified by its fingerprints, decoded.")
    rows = []
    for name, (site, inventory) in inventories.items():
        rows += _topologies(name, site, inventory, runs)
    report.table("Topology", rows)
    return report


def _size(name: str, inventory: Inventory) -> dict[str, Any]:
    return {"site": name, "hosts": len(inventory.hosts), "VMs": len(inventory.vms)}


def _snapshots(name: str, inventory: Inventory, runs: int, report: Report) -> list[dict[str, Any]]:
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for suffix in (".json", ".json.gz"):
            path = Path(folder) / f"snapshot{suffix}"
            _, saving = repeated(lambda path=path: save_snapshot(inventory, path), runs)  # type: ignore[misc]
            read, reading = repeated(lambda path=path: load_snapshot(path), runs)  # type: ignore[misc]
            report.check(f"{name}{suffix}: read as it was written", read == inventory)
            megabytes = path.stat().st_size / 1e6
            rows += [
                _row(name, inventory, f"save {suffix}", saving, {"MB": megabytes}),
                _row(name, inventory, f"load {suffix}", reading, {"MB": megabytes}),
            ]
    return rows


def _topologies(name: str, site: Site, inventory: Inventory, runs: int) -> list[dict[str, Any]]:
    overlays = {overlay.host: (overlay,) for overlay in site.overlays}

    def one_by_one() -> None:
        for host in inventory.hosts:
            build_host_topology(host, overlays.get(host.name, ()))

    topologies, shared = repeated(lambda: build_topologies(inventory, site.overlays), runs)
    _, alone = repeated(one_by_one, 1, warm_up=False)
    graph, graphing = repeated(lambda: vcenter_graph(inventory, topologies), 1, warm_up=False)
    different = {"different": len({id(topology) for topology in topologies.values()})}
    return [
        _row(name, inventory, "build, equal hosts share", shared, different),
        _row(name, inventory, "build each host by itself", alone, {"different": len(inventory.hosts)}),
        _row(
            name,
            inventory,
            f"networkx graph of all: {graph.number_of_nodes()} nodes, {graph.number_of_edges()} edges",
            graphing,
            different,
        ),
    ]


def _row(
    name: str, inventory: Inventory, what: str, costs: list[Cost], more: dict[str, Any]
) -> dict[str, Any]:
    return {**_size(name, inventory), "what": what, **more, **times(costs)}


if __name__ == "__main__":
    sys.exit(main(measure))
