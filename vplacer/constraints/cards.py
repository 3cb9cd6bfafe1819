"""The cards of a host, computed once a problem; hosts whose cards are alike share one tuple."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace

from vplacer.constraints.state import Problem, of_one_host
from vplacer.inventory.host import Graphics, Host
from vplacer.topology.assignable import AssignableDevice, assignable_devices
from vplacer.topology.host_topology import HostTopology


def devices_of_host(problem: Problem, host: str) -> tuple[AssignableDevice, ...]:
    """Return `assignable_devices` of a host, computed once a problem."""
    return problem.derive_fact(_all_devices, host)


@of_one_host
def _all_devices(problem: Problem, moid: str) -> tuple[AssignableDevice, ...]:
    host, topology = problem.inventory.host_by_moid[moid], problem.topologies[moid]
    known = problem.derive_fact(_known)
    key = _card_facts(host, topology)
    if key not in known:
        known[key] = assignable_devices(host, topology)
    return known[key]


def _known(_problem: Problem) -> dict[Hashable, tuple[AssignableDevice, ...]]:
    return {}


def _card_facts(host: Host, topology: HostTopology) -> Hashable:
    """All that `assignable_devices` looks at."""
    by_address = {device.address: device for device in host.pci_devices}
    pnics = {pnic.address: pnic for pnic in host.pnics if pnic.address is not None}
    facts: list[Hashable] = []
    for placed in (*topology.gpus, *topology.nics):
        device = by_address.get(placed.address)
        if device is None:
            facts.append(None)
            continue
        pnic = pnics.get(placed.address)
        link = (pnic.link_mbps, pnic.rdma) if pnic is not None else None
        facts.append((device.ids, device.passthrough, device.sriov, _without_users(device.graphics), link))
    return (id(topology), host.vgpu_types, host.vgpu_profiles, tuple(facts))


def _without_users(graphics: Graphics | None) -> Graphics | None:
    return replace(graphics, vms=()) if graphics is not None and graphics.vms else graphics
