"""What checks share: getting at their facts, and short lists of examples."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from vplacer.doctor.marks import named
from vplacer.doctor.model import Evidence, Finding, Outcome
from vplacer.doctor.observed import Observed, Untold
from vplacer.inventory.device_kind import DeviceKind, device_kind, virtual_functions
from vplacer.inventory.host import ConnectionState, Host, PciDevice
from vplacer.inventory.vcenter import Inventory

SHOWN = 5
T = TypeVar("T")


def ok(text: str, *evidence: str) -> Finding:
    """Return: as relied on."""
    return Finding(Outcome.OK, text, evidence)


def differs(text: str, evidence: Iterable[str], advice: str) -> Finding:
    """Return: not as relied on."""
    return Finding(Outcome.DIFFERS, text, tuple(evidence), advice)


def not_applicable(text: str) -> Finding:
    """Return: the site has nothing that the check is about."""
    return Finding(Outcome.NOT_APPLICABLE, text)


def not_checked(untold: Untold) -> Finding:
    """Return: the facts were not read."""
    return Finding(Outcome.NOT_CHECKED, untold.why, failed=untold.failed)


def of_inventory(check: Callable[[Inventory], Finding]) -> Callable[[Evidence], Finding]:
    """Make a check of the inventory one of all evidence."""

    def run(evidence: Evidence) -> Finding:
        if isinstance(evidence.inventory, Untold):
            return not_checked(evidence.inventory)
        return check(evidence.inventory)

    return run


def of_observed(
    part: Callable[[Observed], T | Untold], check: Callable[[T, Evidence], Finding]
) -> Callable[[Evidence], Finding]:
    """Make a check of one part of what was observed one of all evidence."""

    def run(evidence: Evidence) -> Finding:
        if isinstance(evidence.observed, Untold):
            return not_checked(evidence.observed)
        facts = part(evidence.observed)
        if isinstance(facts, Untold):
            return not_checked(facts)
        return check(facts, evidence)

    return run


def few(items: Sequence[str]) -> tuple[str, ...]:
    """Return the first few of many, and how many more there are."""
    if len(items) <= SHOWN:
        return tuple(items)
    return (*items[:SHOWN], f"and {len(items) - SHOWN} more")


def count(number: int, word: str, plural: str | None = None) -> str:
    """Return a number with its word: "1 host", "2 hosts"."""
    return f"{number} {word}" if number == 1 else f"{number} {plural or word + 's'}"


def host_name(host: Host) -> str:
    """Return the mark of a host."""
    return named("host", host.moid)


def described_hosts(inventory: Inventory) -> list[Host]:
    """Return the connected hosts whose hardware is told."""
    return [h for h in inventory.hosts if h.connection is ConnectionState.CONNECTED and h.pci_devices]


def cards(host: Host) -> list[PciDevice]:
    """Return a host's physical GPUs and NICs."""
    virtual = virtual_functions(host)
    wanted = (DeviceKind.GPU, DeviceKind.NIC)
    return [d for d in host.pci_devices if d.address not in virtual and device_kind(d) in wanted]


def gpus(host: Host) -> list[PciDevice]:
    """Return a host's physical GPUs."""
    return [device for device in cards(host) if device_kind(device) is DeviceKind.GPU]
