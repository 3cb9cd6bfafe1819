"""Devices that are reset together are not split over two VMs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from vplacer.constraints.holdings import PASSTHROUGH
from vplacer.constraints.registry import host_check
from vplacer.constraints.state import Confidence, State, Violation
from vplacer.constraints.steering import use_of
from vplacer.inventory.pci import PciAddress
from vplacer.request.demand import BoundBy

ID = "ownership-group"


def on_host(state: State, host: str) -> Iterable[Violation]:
    """Name groups of dependent devices with more than one owner, of which a placement is one.

    Such a group leaves the hypervisor as a whole (vSphere API: HostPciPassthruInfo.dependentDevice,
    which may be a bridge shared by several devices).
    """
    groups = state.problem.topologies[host].ownership_groups
    placements = state.placements_by_host.get(host, ())
    if not groups or not placements:
        return
    owners: dict[PciAddress, set[str]] = defaultdict(set)
    for address, holdings in use_of(state, host).held.items():
        owners[address].update(h.vm for h in holdings if h.kind == PASSTHROUGH)
    chosen: dict[PciAddress, bool] = {}
    for placement in placements:
        for assignment in placement.devices:
            owners[assignment.address].add(placement.demand)
            chosen[assignment.address] = assignment.bound_by is BoundBy.STATIC
    for group in groups:
        vms = set().union(*(owners[address] for address in group if address in owners))
        placed = [address for address in group if address in chosen]
        if len(vms) < 2 or not placed:
            continue
        names = " and ".join(str(address) for address in group)
        sure = Confidence.PROVED if all(chosen[address] for address in placed) else Confidence.LIKELY
        demand = next(p.demand for p in placements if any(a.address in group for a in p.devices))
        text = f"{names} are reset together and would be split over {', '.join(sorted(vms))}"
        yield Violation(ID, demand, text, sure, host)


CHECK = host_check(ID, "Dependent devices together", on_host)
