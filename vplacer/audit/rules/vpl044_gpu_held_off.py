"""A VM that does not run keeps a GPU for itself."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from vplacer.audit.model import Hit, Outcome, Rule, Severity
from vplacer.audit.subject import Subject
from vplacer.audit.words import counted, listed
from vplacer.inventory.device_kind import DeviceKind
from vplacer.inventory.finding import Certainty
from vplacer.inventory.host import Host
from vplacer.inventory.pci import PciAddress
from vplacer.inventory.vm import Vm, VmPower
from vplacer.topology.claims import PASSTHROUGH


def find(subject: Subject) -> Iterator[Outcome]:
    """Yield VMs that are off, or suspended, with static GPUs that nobody else has or wants."""
    for host in subject.inventory.hosts:
        later = subject.use(host).at_power_on
        if later:
            yield from _host(subject, host)


def _host(subject: Subject, host: Host) -> Iterator[Hit]:
    topology, use = subject.topologies[host.moid], subject.use(host)
    wanted: dict[PciAddress, set[str]] = {}
    for claim in use.at_power_on:
        card = topology.device(claim.address) if claim.address is not None else None
        if claim.kind == PASSTHROUGH and card is not None and card.kind is DeviceKind.GPU:
            wanted.setdefault(card.address, set()).add(claim.vm)
    kept: dict[str, list[PciAddress]] = {}
    for address, vms in wanted.items():
        if len(vms) == 1 and address not in use.use.held:
            kept.setdefault(next(iter(vms)), []).append(address)
    for moid, cards in kept.items():
        vm = subject.inventory.vm_by_moid.get(moid)
        if vm is not None and not vm.is_on:
            yield _hit(subject, vm, sorted(cards))


def _hit(subject: Subject, vm: Vm, cards: list[PciAddress]) -> Hit:
    days = days_off(subject, vm)
    since = "since when is not known" if days is None else f"for at least {counted(days, 'day')}"
    state = "suspended" if vm.power is VmPower.SUSPENDED else "powered off"
    long = days is not None and days >= subject.settings.off_days
    what = "GPU" if len(cards) == 1 else f"{len(cards)} GPUs"
    return Hit(
        f"it is {state} ({since}) and keeps {what} {listed(map(str, cards))} as static device: nobody else "
        "can have it without taking it from this VM",
        Certainty.PROVED,
        vm=vm.moid,
        host=vm.host,
        severity=Severity.WARNING if long else None,
        numbers=(("gpus", len(cards)), *((("days_off", days),) if days is not None else ())),
    )


def days_off(subject: Subject, vm: Vm) -> int | None:
    """Return for how many whole days a VM has been seen off, None = not known."""
    since = subject.off_since.get(vm.moid)
    if since is None:
        return None
    then, now = datetime.fromisoformat(since), datetime.fromisoformat(subject.inventory.taken_at)
    return max(0, (now - then).days)


RULE = Rule(
    id="VPL044",
    name="gpu-held-off",
    title="GPU kept by a VM that does not run",
    severity=Severity.NOTE,
    cause="A static DirectPath device belongs to its VM whether that runs or not. The card stands idle, "
    "and whoever gives it to another VM keeps the first from starting.",
    evidence="Static backings of VMs that are off or suspended, naming a GPU that no other VM holds or "
    "wants. For how long is known from earlier audits only (--history); a warning from 30 days on "
    "(--off-days). VMs with Dynamic DirectPath I/O or vGPUs keep nothing while they are off.",
    fix="Remove the device from the VM, or replace it by Dynamic DirectPath I/O, which takes a card at "
    "power-on.",
    sample="it is powered off (for at least 45 days) and keeps GPU 0000:3b:00.0 as static device: nobody "
    "else can have it without taking it from this VM",
    find=find,
)
