"""What VMs hold of a host's cards, as the judge and the solver ask for it.

The answer is `vplacer.topology.device_use`'s; here it is computed once a problem, for the VMs that stay
where they are.
"""

from __future__ import annotations

from collections.abc import Iterable

from vplacer.constraints.cards import devices_of_host
from vplacer.constraints.state import Problem, of_one_host
from vplacer.inventory.host import Host
from vplacer.inventory.vm import Vm
from vplacer.topology.assignable import AssignableDevice, allowed_by, assignable_devices, offers
from vplacer.topology.claims import PASSTHROUGH, VF, VGPU, Claim, HostCards, host_cards, narrowed
from vplacer.topology.device_use import HostUse, foreign_claims, use_beside
from vplacer.topology.vm_claims import claims_of_vm

__all__ = [
    "PASSTHROUGH",
    "VF",
    "VGPU",
    "AssignableDevice",
    "Claim",
    "HostUse",
    "allowed_by",
    "assignable_devices",
    "cards_of_host",
    "devices_of_host",
    "foreign_holdings",
    "holdings_on",
    "host_use",
    "offers",
    "vm_holdings",
]


def vm_holdings(problem: Problem, vm: str) -> tuple[Claim, ...]:
    """Return what a VM holds on the host it is registered on, computed once a problem.

    A VM that does not run holds nothing, except what the host still says it holds.
    """
    return problem.derive_fact(_vm_holdings, vm)


def foreign_holdings(problem: Problem, host: str) -> tuple[Claim, ...]:
    """Return what VMs hold on a host that it names and that are not registered on it."""
    return problem.derive_fact(_foreign_holdings, host)


def host_use(problem: Problem, host: Host, standing_vms: Iterable[Vm]) -> HostUse:
    """Say which cards of a host are left beside what the standing VMs and foreign ones hold."""
    return use_beside(devices_of_host(problem, host.moid), narrowed(holdings_on(problem, host, standing_vms)))


def cards_of_host(problem: Problem, host: Host) -> HostCards:
    """Return a host's cards; for a host as it might be (not the inventory's own) they are not kept."""
    if host is problem.inventory.host_by_moid.get(host.moid):
        return problem.derive_fact(_cards, host.moid)
    return host_cards(host, problem.topologies[host.moid])


def holdings_on(problem: Problem, host: Host, standing_vms: Iterable[Vm]) -> tuple[Claim, ...]:
    """Return what standing VMs and foreign ones hold on a host, which may be a host as it might be."""
    standing = tuple(standing_vms)
    if host is problem.inventory.host_by_moid.get(host.moid):
        own = [claim for vm in standing for claim in vm_holdings(problem, vm.moid)]
        return (*own, *foreign_holdings(problem, host.moid))
    cards = cards_of_host(problem, host)
    here = (vm.moid for vm in problem.inventory.vms_by_host.get(host.moid, ()))
    own = [claim for vm in standing for claim in claims_of_vm(vm, cards)]
    return (*own, *foreign_claims(cards, here))


@of_one_host
def _cards(problem: Problem, moid: str) -> HostCards:
    host = problem.inventory.host_by_moid[moid]
    return host_cards(host, problem.topologies[moid], devices_of_host(problem, moid))


@of_one_host
def _vm_holdings(problem: Problem, moid: str) -> tuple[Claim, ...]:
    vm = problem.inventory.vm_by_moid[moid]
    if vm.host is None or vm.host not in problem.topologies:
        return ()
    return claims_of_vm(vm, problem.derive_fact(_cards, vm.host))


@of_one_host
def _foreign_holdings(problem: Problem, moid: str) -> tuple[Claim, ...]:
    here = (vm.moid for vm in problem.inventory.vms_by_host.get(moid, ()))
    return foreign_claims(problem.derive_fact(_cards, moid), here)
