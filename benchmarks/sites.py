"""Sites and problems to measure with: the example of 96 hosts as it is, filled, and made larger."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import yaml

from benchmarks.fill import fill
from vplacer.constraints.ownership import reason_left_alone
from vplacer.constraints.state import Problem
from vplacer.inventory.overlay import Overlay
from vplacer.inventory.site import Site
from vplacer.inventory.site_load import load_site_text
from vplacer.inventory.vcenter import Inventory
from vplacer.jobs.fixtures import fixture_path
from vplacer.request.load import parse_request
from vplacer.request.resolve import resolve
from vplacer.topology.build import build_topologies

BIG = "big96"
LARGE_KINDS = {"a30-pairs": 1000, "l40s": 700, "a100-pairs": 400, "cpu": 400}
LARGE_VMS = 10_000
PCI_DEVICES = 122
ENOUGH = 0.3
"""Share of the cores to fill so that 2,500 hosts hold more than `LARGE_VMS` VMs."""


def document(kind: str, name: str = BIG) -> dict[str, Any]:
    """Return an example file (``kind`` sites or requests) as plain data."""
    text = fixture_path("sites" if kind == "sites" else "requests", name).read_text(encoding="utf-8")
    data: dict[str, Any] = yaml.safe_load(text)
    return data


def site_text(data: dict[str, Any]) -> str:
    return yaml.safe_dump(data, sort_keys=False, width=1000)


def big_site() -> Site:
    return load_site_text(fixture_path("sites", BIG).read_text(encoding="utf-8"), f"{BIG}.yaml")


def filled(site: Site, *, share: float, seed: int) -> Inventory:
    """Return the site's inventory with about ``share`` of each host's cores taken."""
    topologies = build_topologies(site.inventory, site.overlays)
    return fill(site.inventory, topologies, share=share, seed=seed)


def large_site_text(hosts: int) -> str:
    """Return an inventory YAML of so many hosts of the four kinds of `BIG`, a VM each, and a template."""
    data = document("sites")
    total = sum(LARGE_KINDS.values())
    counts = {kind: count * hosts // total for kind, count in LARGE_KINDS.items()}
    counts["cpu"] += hosts - sum(counts.values())
    data["clusters"] = [
        {
            "name": "large",
            "drs": "manual",
            "hosts": [
                {"kind": kind, "count": count, "name": f"{kind}-{{n:04}}"} for kind, count in counts.items()
            ],
        }
    ]
    data["vms"] = [{"name": "agent-{host}", "per_host": 1, "on": "*", "cpus": 4, "memory_gib": 16}]
    return site_text(data)


def large_inventory(site: Site) -> Inventory:
    """Return a large site filled with VMs, four a host."""
    wanted = LARGE_VMS * len(site.inventory.hosts) // sum(LARGE_KINDS.values())
    inventory = filled(site, share=ENOUGH, seed=1)
    if len(inventory.vms) < wanted:
        raise SystemExit(f"only {len(inventory.vms)} VMs, not {wanted}: raise ENOUGH")
    return replace(inventory, vms=inventory.vms[:wanted])


def devices_site_text(hosts: int) -> str:
    """Return an inventory YAML of hosts with `PCI_DEVICES` PCI functions each, bridges included."""
    devices: list[dict[str, Any]] = [
        {"gpu": "L40S", "count": 4, "node": 0},
        {"gpu": "L40S", "count": 4, "node": 1},
        {"nic": "CX6-DX", "count": 2, "node": 0, "ports": 2},
        {"nic": "CX6-DX", "count": 2, "node": 1, "ports": 2, "vfs": 19},
        {"nic": "X710", "ports": 4, "node": 0},
        {"storage": "nvme", "count": 5, "node": 0},
    ]
    kind = {"cpu": {"packages": 2, "cores": 48}, "memory_gib": 1024, "devices": devices}
    return site_text(
        {
            "format_version": 1,
            "host_kinds": {"full": kind},
            "clusters": [{"name": "c", "hosts": [{"kind": "full", "count": hosts, "name": "esx{n:03}"}]}],
            "vms": [{"name": "vm-{host}-{n}", "per_host": 4, "on": "*", "cpus": 4, "memory_gib": 16}],
        }
    )


def request_text(factor: float = 1.0) -> str:
    """Return the request for `BIG` with the count of every entry multiplied."""
    data = document("requests")
    for entry in data["vms"]:
        entry["count"] = round(entry["count"] * factor)
    return site_text(data)


def problem(inventory: Inventory, overlays: tuple[Overlay, ...], request: str) -> Problem:
    """Match a request with an inventory, as `vplacer plan` does."""
    topologies = build_topologies(inventory, overlays)
    resolved = resolve(
        parse_request(request, "request.yaml"),
        inventory,
        topologies,
        owner_reason=lambda vm: reason_left_alone(vm, inventory),
        include_managed=frozenset(),
    )
    return Problem(inventory, topologies, resolved)


def without(asked: Problem, left_out: tuple[str, ...]) -> Problem:
    """Return the problem without some demands."""
    demands = tuple(d for d in asked.request.demands if d.id not in left_out)
    return Problem(asked.inventory, asked.topologies, replace(asked.request, demands=demands))
