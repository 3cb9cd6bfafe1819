"""After power-on: do the VMs have what was promised?

The judge tells who holds which card, esxtop where vCPUs and memory are. What a plan left to luck is
noted, not held against anybody.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from vplacer.apply.outcome import ProblemKind
from vplacer.apply.tell import Teller
from vplacer.apply.world import World
from vplacer.errors import VSphereError
from vplacer.inventory.device_kind import DeviceKind, device_kind
from vplacer.inventory.host import Host
from vplacer.inventory.vcenter import Inventory
from vplacer.inventory.vm import Vm
from vplacer.plan.model import Plan, VmPlan
from vplacer.topology.build import build_topologies
from vplacer.topology.claims import host_cards
from vplacer.topology.levels import NumaRelation
from vplacer.topology.vm_claims import claims_of_vm

_KINDS = {"gpu": DeviceKind.GPU, "nic": DeviceKind.NIC}
_HINT = "look at the VM's devices; power it off and plan again to place it anew"


def verify_places(plan: Plan, world: World, tell: Teller, vms: Iterable[str], base: Inventory) -> None:
    """Compare where the cards, vCPUs and memory of VMs that were switched on are with what was promised.

    Args:
        vms: ids in the plan.
        base: an earlier reading of the same vCenter; hosts and VMs are read anew.
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
    topologies = build_topologies(inventory)
    for vm_id, item in plans.items():
        vm = now.get(vm_id)
        if vm is None or vm.host not in hosts or not vm.is_on:
            continue
        cards = host_cards(hosts[vm.host], topologies[vm.host])
        held = [claim.address for claim in claims_of_vm(vm, cards) if claim.address is not None]
        _verify_cards(item, vm_id, hosts[vm.host], held, tell)
    _verify_homes(plans, now, world, tell)


def _verify_cards(item: VmPlan, vm_id: str, host: Host, held: Iterable[object], tell: Teller) -> None:
    addresses = set(held)
    cards = [card for card in host.pci_devices if card.address in addresses]
    for ask in ("gpu", "nic"):
        asks = [entry for entry in item.asks if entry.ask == ask]
        mine = [card for card in cards if device_kind(card) is _KINDS[ask]]
        if not asks or not item.nodes or not mine:
            continue
        astray = [card for card in mine if host.node_of(card.address) not in item.nodes]
        if not astray:
            continue
        promised = all(entry.fixed and entry.numa is NumaRelation.SAME_NODE for entry in asks)
        where = ", ".join(f"{card.address} on pNUMA {_node(host.node_of(card.address))}" for card in astray)
        nodes = ", ".join(map(str, item.nodes))
        if promised:
            what = f"promised on pNUMA {nodes}, got {where}"
            tell.trouble(ProblemKind.VERIFICATION, what, vm=vm_id, hint=_HINT)
        elif any(entry.numa is NumaRelation.SAME_NODE or not entry.fixed for entry in asks):
            tell.note(
                "luck", f"{item.name}: not beside its vCPUs (pNUMA {nodes}), as nothing promised: {where}"
            )


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


def _node(node: int | None) -> str:
    return "?" if node is None else str(node)
