"""After power-on: do the VMs have what was promised?

The judge tells who holds which card, esxtop where vCPUs and memory are. What a plan left to luck is
noted, not held against anybody.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from vplacer.apply.outcome import ProblemKind
from vplacer.apply.tell import Teller
from vplacer.apply.world import World
from vplacer.errors import VSphereError
from vplacer.inventory.device_kind import DeviceKind
from vplacer.inventory.overlay import Overlay
from vplacer.inventory.pci import PciAddress
from vplacer.inventory.vcenter import Inventory
from vplacer.inventory.vm import Vm
from vplacer.plan.model import Plan, VmPlan
from vplacer.topology.build import build_topologies
from vplacer.topology.claims import host_cards
from vplacer.topology.host_topology import HostTopology
from vplacer.topology.levels import NumaRelation
from vplacer.topology.vm_claims import claims_of_vm

_KINDS = {"gpu": DeviceKind.GPU, "nic": DeviceKind.NIC}
_HINT = "look at the VM's devices; power it off and plan again to place it anew"


def verify_places(
    plan: Plan, world: World, tell: Teller, vms: Iterable[str], base: Inventory, overlays: Sequence[Overlay]
) -> None:
    """Compare where the cards, vCPUs and memory of VMs that were switched on are with what was promised.

    Args:
        vms: ids in the plan.
        base: an earlier reading of the same vCenter; hosts and VMs are read anew.
        overlays: what is known of the hosts besides.
    """
    wanted = set(vms)
    plans = {(item.vm or item.demand): item for item in plan.vms if (item.vm or item.demand) in wanted}
    if not plans:
        return
    now = world.vms(plans)
    hosts = {host.moid: host for host in world.hosts(sorted({vm.host for vm in now.values() if vm.host}))}
    fresh = {vm.moid: vm for vm in now.values()}
    others = tuple(vm for vm in base.vms if vm.moid not in fresh)
    inventory = replace(base, hosts=tuple(hosts.values()), vms=(*others, *fresh.values()))
    topologies = build_topologies(inventory, overlays)
    for vm_id, item in plans.items():
        vm = now.get(vm_id)
        if vm is None or vm.host not in hosts or not vm.is_on:
            continue
        topology = topologies[vm.host]
        cards = host_cards(hosts[vm.host], topology)
        held = {claim.address for claim in claims_of_vm(vm, cards) if claim.address is not None}
        _verify_cards(item, vm_id, topology, held, tell)
    _verify_homes(plans, now, world, tell)


def _verify_cards(
    item: VmPlan, vm_id: str, topology: HostTopology, held: set[PciAddress], tell: Teller
) -> None:
    nodes = ", ".join(map(str, item.nodes))
    for ask in ("gpu", "nic"):
        asks = [entry for entry in item.asks if entry.ask == ask]
        mine = [card.address for card in topology.of_kind(_KINDS[ask]) if card.address in held]
        if not asks or not item.nodes or not mine:
            continue
        where = {address: topology.cpu_node_for(address) for address in mine}
        astray = ", ".join(
            f"{address} on pNUMA {node}"
            for address, node in where.items()
            if node is not None and node not in item.nodes
        )
        promised = all(entry.fixed and entry.numa is NumaRelation.SAME_NODE for entry in asks)
        if astray and promised:
            what = f"promised on pNUMA {nodes}, got {astray}"
            tell.trouble(ProblemKind.VERIFICATION, what, vm=vm_id, hint=_HINT)
        elif astray and not all(entry.fixed for entry in asks):
            tell.note("luck", f"{item.name}: nothing promised it pNUMA {nodes}, and it got {astray}")
        unknown = [str(address) for address, node in where.items() if node is None]
        if unknown and promised:
            tell.note("not_verified", f"{item.name}: nothing tells the node of {', '.join(unknown)}")


def _verify_homes(plans: dict[str, VmPlan], now: dict[str, Vm], world: World, tell: Teller) -> None:
    bound = {vm_id: item for vm_id, item in plans.items() if item.nodes and vm_id in now}
    hosts = sorted({host for vm_id in bound if (host := now[vm_id].host) is not None})
    if not hosts:
        return
    try:
        homes = dict(world.patiently(lambda: world.port.measure(hosts)))
    except VSphereError as error:
        tell.note("not_measured", f"NUMA homes were not measured: {error.what}")
        return
    for vm_id, item in bound.items():
        home = homes.get(now[vm_id].moid)
        if home is None or not home.nodes or set(home.nodes) <= set(item.nodes):
            continue
        nodes, found = ", ".join(map(str, item.nodes)), ", ".join(map(str, home.nodes))
        what = f"bound to pNUMA {nodes}, and measured on pNUMA {found}"
        tell.trouble(ProblemKind.VERIFICATION, what, vm=vm_id, hint="measure again in a few minutes")
