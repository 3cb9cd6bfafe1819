"""Auditing a full vCenter from a snapshot: 2,500 hosts and 10,000 VMs, in every format.

Goal: 10 s and 1.5 GiB on two cores, for reading the snapshot, all rules and the report.
"""

from __future__ import annotations

import dataclasses
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.fleet.build import fleet
from benchmarks.fleet.variants import Variant
from benchmarks.measure import Report, main, repeated_command, times, vplacer
from vplacer.inventory.host import Host, PciDevice
from vplacer.inventory.snapshot import save_snapshot
from vplacer.inventory.vcenter import Inventory
from vplacer.inventory.vm import Vm
from vplacer.report.audit_formats import audit_format_names

HOSTS = 2_500
VMS_A_HOST = 4
DRIFTED = 50
"""Every so many-th VM that is bound to nodes is bound to others than it was placed on."""
GOAL_S = 10.0
GOAL_MIB = 1_536.0
GOAL_FORMAT = "json"


def measure(quick: bool) -> Report:
    report = Report("Auditing a full vCenter")
    inventory = instance(100 if quick else HOSTS)
    with tempfile.TemporaryDirectory() as folder:
        snapshot = Path(folder) / "site.json.gz"
        save_snapshot(inventory, snapshot)
        rows = [
            _row(report, name, snapshot, 1 if quick or name != GOAL_FORMAT else 3, goals=not quick)
            for name in audit_format_names()
        ]
    title = f"{len(inventory.hosts):,} hosts, {len(inventory.vms):,} VMs, from a snapshot"
    report.table(title, rows, "A process each: reading the snapshot, all rules, writing the report.")
    return report


def instance(hosts: int) -> Inventory:
    """Return the fleet of the solver's benchmarks with few VMs a host, those with devices first."""
    inventory = fleet(Variant(hosts=hosts)).problem.inventory
    kept: list[Vm] = []
    for host in inventory.hosts:
        vms = sorted(inventory.vms_by_host.get(host.moid, ()), key=lambda vm: not vm.devices)
        kept += vms[:VMS_A_HOST]
    nodes = {host.moid: len(host.numa_nodes) for host in inventory.hosts}
    drifted = [_drifted(vm, nodes[vm.host or ""]) if n % DRIFTED == 0 else vm for n, vm in enumerate(kept)]
    ids = frozenset(vm.moid for vm in kept)
    hosts_left = tuple(_without_others(host, ids) for host in inventory.hosts)
    return dataclasses.replace(inventory, hosts=hosts_left, vms=tuple(drifted))


def _without_others(host: Host, vms: frozenset[str]) -> Host:
    """Return a host that names no other VMs as holders of its cards."""
    return dataclasses.replace(
        host,
        bindings=tuple(binding for binding in host.bindings if binding.vm in vms),
        pci_devices=tuple(_device(device, vms) for device in host.pci_devices),
    )


def _device(device: PciDevice, vms: frozenset[str]) -> PciDevice:
    if device.graphics is None:
        return device
    users = tuple(vm for vm in device.graphics.vms if vm in vms)
    return dataclasses.replace(device, graphics=dataclasses.replace(device.graphics, vms=users))


def _drifted(vm: Vm, nodes: int) -> Vm:
    if not vm.node_affinity:
        return vm
    moved = ",".join(str((node + 1) % nodes) for node in vm.node_affinity)
    extra = tuple((key, moved if key == "numa.nodeAffinity" else value) for key, value in vm.extra_config)
    return dataclasses.replace(vm, extra_config=extra)


def _row(report: Report, name: str, snapshot: Path, runs: int, *, goals: bool) -> dict[str, Any]:
    out = snapshot.parent / f"audit.{name}"
    fail = ("--fail-on", "never", "--force", "--format", name, "-o", str(out))
    command = vplacer("audit", "--from", str(snapshot), *fail)
    _, costs = repeated_command(command, runs)
    first = out.read_bytes()
    repeated_command(command, 1)
    report.check(f"{name}: the same bytes from the same snapshot", out.read_bytes() == first)
    peak = max((cost.peak_mib for cost in costs if cost.peak_mib is not None), default=None)
    if goals and name == GOAL_FORMAT:
        report.goal("an audit of 2,500 hosts and 10,000 VMs: time", GOAL_S, costs)
        report.limit("an audit of 2,500 hosts and 10,000 VMs: memory", GOAL_MIB, peak, "MiB")
    return {"format": name, "report, KiB": len(first) / 1024, **times(costs)}


if __name__ == "__main__":
    sys.exit(main(measure))
