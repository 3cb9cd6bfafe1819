"""Who holds what on one host, as lines with the names of VMs: what the exporters print."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from vplacer.inventory.bound_by import BoundBy
from vplacer.inventory.finding import Certainty, Finding
from vplacer.inventory.host import Host
from vplacer.inventory.moids import moid_order
from vplacer.inventory.pci import PciAddress
from vplacer.inventory.vm import Vm
from vplacer.topology.claims import VF, VGPU, Claim, When, host_cards
from vplacer.topology.device_use import device_use
from vplacer.topology.host_topology import HostTopology
from vplacer.topology.use_findings import use_findings
from vplacer.topology.vgpu_capacity import CardCapacity, vgpu_capacity
from vplacer.topology.vm_places import HeldDevices

_HOW_ORDER = {"static": 0, "function": 1, "assigned": 2, "shared": 3}


@dataclass(frozen=True, slots=True)
class HolderLine:
    """A VM that holds a device, or will when it is switched on.

    ``how``: "static" = its configuration names the card, whether it runs or not; "assigned" = vSphere
    gave it the card for as long as it runs; "shared" = it uses the card as a vGPU; "function" = it has
    the card or one of its virtual functions for SR-IOV.
    """

    moid: str
    name: str
    how: str
    when: When = When.NOW
    certainty: Certainty = Certainty.PROVED


@dataclass(frozen=True, slots=True)
class TiedHolder:
    """A VM that holds ``address``, and so keeps from others what is reset together with that device."""

    address: PciAddress
    holder: HolderLine


@dataclass(frozen=True, slots=True)
class OpaqueHolder:
    """A VM that holds ``count`` devices, and vCenter does not tell which.

    Before API 9.1 it names an instance, not an address. ``label``: the hardware label asked for;
    ``profile``: of vGPUs.
    """

    moid: str
    name: str
    count: int
    label: str | None
    profile: str | None = None


@dataclass(frozen=True, slots=True)
class ClaimLine:
    """A claim with the name of its VM."""

    name: str
    claim: Claim


@dataclass(frozen=True, slots=True)
class FindingLine:
    """A finding with the name of its VM, None where it is about none."""

    name: str | None
    finding: Finding


@dataclass(frozen=True, slots=True)
class UseLines:
    """All that is printed of who holds what on a host."""

    claims: tuple[ClaimLine, ...]
    opaque: tuple[OpaqueHolder, ...]
    findings: tuple[FindingLine, ...]
    capacity: tuple[CardCapacity, ...]
    names: Mapping[str, str]

    def holders(self, address: PciAddress) -> tuple[HolderLine, ...]:
        """Return who holds a device, each VM once: what its configuration names before what runs now."""
        found: dict[str, HolderLine] = {}
        lines = [
            HolderLine(line.claim.vm, line.name, _how(line.claim), line.claim.when, line.claim.certainty)
            for line in self.claims
            if line.claim.address == address
            and (line.claim.when is When.NOW or line.claim.bound_by is BoundBy.STATIC)
        ]
        for line in sorted(lines, key=lambda h: (h.when is not When.NOW, _HOW_ORDER[h.how])):
            found.setdefault(line.moid, line)
        return tuple(found[moid] for moid in sorted(found, key=moid_order))

    def tied(self, address: PciAddress, groups: Iterable[tuple[PciAddress, ...]]) -> tuple[TiedHolder, ...]:
        """Return who holds devices that are reset together with one, and does not hold that one.

        ``groups``: `HostTopology.ownership_groups`. Only devices passed through as a whole count.
        """
        own = {holder.moid for holder in self.holders(address)}
        return tuple(
            TiedHolder(other, holder)
            for group in groups
            if address in group
            for other in group
            for holder in self.holders(other)
            if other != address and holder.moid not in own and holder.how in ("static", "assigned")
        )

    def held_by_vm(self, labels: Mapping[PciAddress, str]) -> dict[str, HeldDevices]:
        """Return what each VM holds, by its managed object id. ``labels``: of the devices that have one."""
        now: dict[str, list[str]] = {}
        later: dict[str, list[str]] = {}
        told = {line.claim.address for line in self.claims if line.claim.address is not None}
        for address in sorted(told, key=lambda item: (item not in labels, item)):
            for holder in self.holders(address):
                found = now if holder.when is When.NOW else later
                found.setdefault(holder.moid, []).append(labels.get(address, address.short))
        untold: Counter[str] = Counter()
        for held in self.opaque:
            untold[held.moid] += held.count
        unsettled = Counter(
            line.claim.vm
            for line in self.claims
            if line.claim.when is When.AT_POWER_ON and line.claim.address is None
        )
        return {
            vm: HeldDevices(tuple(now.get(vm, ())), tuple(later.get(vm, ())), untold[vm], unsettled[vm])
            for vm in (*now, *later, *untold, *unsettled)
        }

    def capacity_of(self, address: PciAddress) -> CardCapacity | None:
        """Return the vGPU capacity of a card, None where it is not set up for vGPU."""
        return next((card for card in self.capacity if card.address == address), None)


def describe_use(
    host: Host, topology: HostTopology, vms: Iterable[Vm], everywhere: Mapping[str, Vm] | None = None
) -> UseLines:
    """Say who holds what on a host.

    Args:
        host: the host.
        topology: of the host.
        vms: the VMs registered on it.
        everywhere: all VMs of the vCenter by managed object id, where they are known.
    """
    vms = tuple(vms)
    cards = host_cards(host, topology)
    use = device_use(cards, vms)
    names = {moid: vm.name for moid, vm in (everywhere or {}).items()} | {vm.moid: vm.name for vm in vms}
    return UseLines(
        claims=tuple(ClaimLine(names.get(claim.vm, claim.vm), claim) for claim in use.claims),
        opaque=_opaque(use.use.uncertain, names),
        findings=tuple(
            finding_line(finding, names) for finding in use_findings(cards, use, topology, vms, everywhere)
        ),
        capacity=vgpu_capacity(host, use.use),
        names=names,
    )


def finding_line(finding: Finding, names: Mapping[str, str]) -> FindingLine:
    """Return a finding with the name of its VM. ``names``: of VMs by managed object id."""
    return FindingLine(None if finding.vm is None else names.get(finding.vm, finding.vm), finding)


def _how(claim: Claim) -> str:
    if claim.kind == VF:
        return "function"
    if claim.kind == VGPU:
        return "shared"
    return "static" if claim.bound_by is BoundBy.STATIC else "assigned"


def _opaque(claims: Iterable[Claim], names: Mapping[str, str]) -> tuple[OpaqueHolder, ...]:
    counts: dict[tuple[str, str | None, str | None], int] = {}
    for claim in claims:
        key = (claim.vm, claim.label, claim.profile)
        counts[key] = counts.get(key, 0) + 1
    return tuple(
        OpaqueHolder(vm, names.get(vm, vm), count, label, profile)
        for (vm, label, profile), count in sorted(
            counts.items(), key=lambda item: (moid_order(item[0][0]), item[0][1] or "", item[0][2] or "")
        )
    )
