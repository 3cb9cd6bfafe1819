"""Which VMs have GPUs, whole or in shares, whether they run or not, and which card each may be."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from vplacer.audit.subject import Subject
from vplacer.inventory.host import Host
from vplacer.inventory.pci import PciAddress
from vplacer.inventory.vm import Vm
from vplacer.topology.claims import Claim, When


def vms_with_gpus(subject: Subject) -> Iterator[tuple[Vm, Host, tuple[Claim, ...]]]:
    """Yield the VMs with GPUs, host by host, each with one claim a GPU or vGPU.

    What a VM that does not run has is what it will claim when it is switched on. A device that may be a
    GPU or another card counts as one.
    """
    for host in subject.inventory.hosts:
        found = gpu_claims(subject, host)
        if found:
            for vm in subject.inventory.vms_by_host.get(host.moid, ()):
                if vm.moid in found and vm.readable and not vm.template:
                    yield vm, host, found[vm.moid]


def gpu_claims(subject: Subject, host: Host) -> Mapping[str, tuple[Claim, ...]]:
    """Return the claims on GPUs of a host by the VMs registered on it."""
    return subject.derive(_gpu_claims, host.moid)


def cards_of(claim: Claim) -> tuple[PciAddress, ...]:
    """Return the cards a claim may be on."""
    return claim.candidates if claim.address is None else (claim.address,)


def _gpu_claims(subject: Subject, moid: str) -> dict[str, tuple[Claim, ...]]:
    gpus = {gpu.address for gpu in subject.topologies[moid].gpus}
    if not gpus:
        return {}
    host = subject.inventory.host_by_moid[moid]
    running = {vm.moid: vm.is_on for vm in subject.inventory.vms_by_host.get(moid, ())}
    use = subject.use(host)
    found: dict[str, list[Claim]] = {}
    for claim in (*use.now, *use.at_power_on):
        if running.get(claim.vm) is (claim.when is When.NOW) and not gpus.isdisjoint(cards_of(claim)):
            found.setdefault(claim.vm, []).append(claim)
    return {vm: tuple(claims) for vm, claims in found.items()}
