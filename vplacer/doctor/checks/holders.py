"""Checks of what vCenter says about who holds which card.

Contradictions are those of `vplacer.topology.use_findings`, which `vplacer topology show` lists too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from vplacer.doctor.checks.common import count, described_hosts, differs, few, host_name, not_applicable, ok
from vplacer.doctor.marks import named
from vplacer.doctor.model import Finding
from vplacer.inventory.finding import Finding as UseFinding
from vplacer.inventory.host import Host
from vplacer.inventory.pci import PciAddress
from vplacer.inventory.vcenter import Inventory
from vplacer.topology.build import build_host_topology
from vplacer.topology.claims import Source, host_cards
from vplacer.topology.device_use import DeviceUse, device_use
from vplacer.topology.use_findings import use_findings

_BINDINGS_WITH_ADDRESS = (9, 1)
OF_BINDINGS = frozenset(
    {
        "assigned-id-differs-from-binding",
        "assigned-id-names-absent-device",
        "assigned-id-not-allowed",
        "binding-differs-from-vm",
        "binding-names-absent-device",
        "binding-without-device",
    }
)
OF_HOLDERS = frozenset(
    {
        "claim-outlives-power-off",
        "device-claimed-twice",
        "graphics-lists-off-vm",
        "holder-not-on-host",
        "holder-not-readable",
        "holder-not-visible",
        "vgpu-listed-without-profile",
    }
)


def bindings(inventory: Inventory) -> Finding:
    """Say whether bindings name their card, and whether they and assigned ids fit the VMs' devices."""
    found = [(host, binding) for host in described_hosts(inventory) for binding in host.bindings]
    wrong = list(_contradictions(inventory, OF_BINDINGS))
    if not found and not wrong:
        return not_applicable("no host tells of a binding")
    addressed = [binding for _, binding in found if binding.address is not None]
    readable = [(b, address) for host, b in found if (address := _address_on(host, b.instance_id))]
    told = [
        f"{len(addressed)} of {count(len(found), 'binding')} name their card (pciId)",
        f"{len(readable)} instance ids read as an address of the host",
    ]
    comparable = [(b, address) for b, address in readable if b.address is not None]
    agree = [b for b, address in comparable if b.address == address]
    if comparable:
        told.append(f"{len(agree)} of {len(comparable)} are the card the binding names")
    if wrong:
        return differs(
            f"bindings or assigned ids contradict the rest in {count(len(wrong), 'place')}",
            (*told, *few(wrong)),
            "every card that one of them names counts as held; report the versions of vCenter and ESXi",
        )
    if _spoken(inventory) >= _BINDINGS_WITH_ADDRESS and len(addressed) < len(found):
        lost = [f"{host_name(host)}, ESXi {host.version}" for host, b in found if b.address is None]
        return differs(
            "API 9.1 is spoken, and bindings name no card",
            (*told, *few(sorted(set(lost)))),
            "expected for hosts older than 9.1; report others",
        )
    if len(agree) < len(comparable):
        return differs(
            "instance ids read like addresses of other cards",
            told,
            "report this: before API 9.1 such an id is taken as the likely card",
        )
    return ok("bindings are as expected for this API version", *told)


def agreement(inventory: Inventory) -> Finding:
    """Say where the sources of who holds a card contradict each other, or the VMs."""
    wrong = list(_contradictions(inventory, OF_HOLDERS))
    ways: Counter[str] = Counter()
    several = 0
    for _, use, _ in _uses(inventory):
        ways.update(source for _, source in {(c.vm, source.value) for c in use.now for source in c.sources})
        several += sum(1 for claim in use.now if len({*claim.sources} - {Source.ELIMINATION}) > 1)
    evidence = [f"{count(number, 'VM')} by {way}" for way, number in sorted(ways.items())]
    if wrong:
        return differs(
            f"sources disagree on who holds a card in {count(len(wrong), 'place')}",
            (*evidence, *few(wrong)),
            "such cards count as held; `vplacer topology show HOST` tells all of them",
        )
    if not ways:
        return not_applicable("no VM is said to hold a card")
    if not several:
        return ok("holders are told, and each by one source only: nothing to compare", *evidence)
    return ok(f"sources agree on {count(several, 'card')} that several of them name", *evidence)


def _uses(inventory: Inventory) -> Iterator[tuple[Host, DeviceUse, tuple[UseFinding, ...]]]:
    """Yield who holds what on each host, and the findings about it, in which marks stand for VMs."""
    for host in described_hosts(inventory):
        topology = build_host_topology(host)
        cards = host_cards(host, topology)
        vms = inventory.vms_by_host.get(host.moid, ())
        use = device_use(cards, vms)
        yield host, use, use_findings(cards, use, topology, vms, inventory.vm_by_moid, name=_vm_name)


def _vm_name(moid: str) -> str:
    return named("vm", moid)


def _contradictions(inventory: Inventory, kinds: frozenset[str]) -> Iterator[str]:
    for host, _, findings in _uses(inventory):
        for finding in findings:
            if finding.kind in kinds:
                who = "" if finding.vm is None else f"{_vm_name(finding.vm)} on "
                yield f"{who}{host_name(host)}: {finding.text} ({finding.kind}, {finding.certainty})"


def _spoken(inventory: Inventory) -> tuple[int, ...]:
    return tuple(int(part) for part in inventory.about.api_version.split(".") if part.isdigit())


def _address_on(host: Host, text: str | None) -> PciAddress | None:
    try:
        address = PciAddress.parse(text or "")
    except ValueError:
        return None
    return address if host.device(address) is not None else None
