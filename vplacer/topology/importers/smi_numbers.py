"""Which card each GPU number of a matrix is.

The matrix does not tell, and a guess makes a wrong pair: it takes the query of the same machine, the
addresses, or the word of the user that the numbers follow the addresses. In a guest the addresses are the
guest's: numbers are mapped to the VM's cards only where the mapping is determined or does not matter.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from vplacer.errors import UsageError
from vplacer.inventory.device_kind import DeviceKind, device_kind, virtual_functions
from vplacer.inventory.gpu_models import NVIDIA
from vplacer.inventory.host import Host, PciDevice
from vplacer.inventory.pci import PciAddress
from vplacer.inventory.vm import DynamicBacking, StaticBacking, VgpuBacking, Vm
from vplacer.topology.build import build_host_topology
from vplacer.topology.claims import Source, host_cards
from vplacer.topology.device_use import device_use
from vplacer.topology.importers.facts import QueryFile, ReadOptions
from vplacer.topology.importers.smi_matrix import SmiMatrix, SmiRow
from vplacer.topology.importers.smi_query import COMMAND, parse_query

_WAYS = "give one of --query-gpu, --gpu and --order pci"
_TAKEN_IN = "if it was printed in a VM, name the VM: --taken-in VM"


@dataclass(frozen=True, slots=True)
class Numbering:
    """The card of each label ("GPU0"), and in words how that is known."""

    cards: Mapping[str, PciDevice]
    how: str


def number_gpus(matrix: SmiMatrix, host: Host, options: ReadOptions) -> Numbering:
    """Return the card of each GPU of a matrix.

    Raises:
        UsageError: that cannot be told, contradicts itself, or the matrix is not of this host.
        FileFormatError: the query's output does not parse.
    """
    rows = matrix.gpu_rows
    ways = [bool(options.gpus), options.query is not None, options.order_pci]
    if sum(ways) > 1:
        raise UsageError("the GPUs' addresses are told in several ways", why=_WAYS)
    cards = _host_gpus(host)
    if options.taken_in is not None:
        return _in_guest(matrix, host, options, options.taken_in)
    if options.gpus:
        return _agreed(rows, Numbering(_given(rows, options.gpus, cards, host), "addresses given (--gpu)"))
    if options.query is not None:
        return _agreed(rows, _from_query(rows, options.query, cards, host))
    if all(row.address is not None for row in rows):
        told = [row.address for row in rows if row.address is not None]
        return Numbering(_given(rows, told, cards, host), "addresses from the matrix")
    if options.order_pci:
        if len(cards) != len(rows):
            raise UsageError(
                f"the matrix has {len(rows)} GPUs, the host has {len(cards)} of NVIDIA",
                obj=host.name,
                hint=f"{_TAKEN_IN}; else give the address of each GPU (--gpu)",
            )
        return Numbering(
            dict(zip((row.label for row in rows), (cards[a] for a in sorted(cards)), strict=True)),
            "GPUs numbered in the order of PCI addresses (--order pci), not checked",
        )
    raise UsageError(
        "a matrix does not tell the PCI address of GPU0, GPU1, ...",
        hint=f"on the same machine run: {COMMAND} > gpus.csv, and add --query-gpu gpus.csv; or give --gpu "
        "ADDRESS for each GPU in their order, or --order pci to trust that they are numbered by PCI address; "
        f"{_TAKEN_IN}",
    )


def guest_signs(matrix: SmiMatrix, numbering: Numbering, host: Host) -> str | None:
    """Say why a matrix cannot have been printed on this host but looks like a guest's; None = it may be."""
    cpus = [int(n) for row in matrix.gpu_rows for n in re.findall(r"[0-9]+", row.cpu_affinity or "")]
    if cpus and host.thread_count and max(cpus) >= host.thread_count:
        return f"it names CPU {max(cpus)}, and the host has {host.thread_count} threads"
    told = {row.numa_node for row in matrix.gpu_rows}
    with_cores = {node.id for node in host.numa_nodes if node.core_count > 0}
    if len(told) != 1 or None in told or len(with_cores) < 2 or len(matrix.gpu_rows) < 2:
        return None
    homes = [host.node_of(card.address) for card in numbering.cards.values()]
    nodes = {node for node in homes if node is not None and node in with_cores}
    if len(nodes) > 1:
        listed = ", ".join(map(str, sorted(nodes)))
        return f"it has all GPUs on NUMA node {told.pop()}, and vCenter has them on {listed}"
    pairs = combinations([row.label for row in matrix.gpu_rows], 2)
    words = {word for a, b in pairs if not (word := matrix.word(a, b)).startswith("NV")}
    if words and words <= {"SYS", "SOC"}:
        return f"it has all GPUs on NUMA node {told.pop()}, and says SYS (across nodes) between them"
    return None


def refuse_guest(matrix: SmiMatrix, numbering: Numbering, host: Host) -> None:
    """Refuse a matrix that was evidently printed in a guest.

    Raises:
        UsageError: it was.
    """
    why = guest_signs(matrix, numbering, host)
    if why is not None:
        raise UsageError(
            "the matrix is not of this host, or of a VM on it", obj=host.name, why=why, hint=_TAKEN_IN
        )


def _host_gpus(host: Host) -> dict[PciAddress, PciDevice]:
    virtual = virtual_functions(host)
    return {
        device.address: device
        for device in host.pci_devices
        if device_kind(device) is DeviceKind.GPU
        and device.ids.vendor == NVIDIA
        and device.address not in virtual
    }


def _given(
    rows: Sequence[SmiRow], told: Sequence[PciAddress], cards: Mapping[PciAddress, PciDevice], host: Host
) -> dict[str, PciDevice]:
    if len(told) != len(rows) or len(set(told)) != len(told):
        raise UsageError(
            f"the matrix has {len(rows)} GPUs, {len(set(told))} addresses are given", obj=host.name
        )
    for address in told:
        if address not in cards:
            raise UsageError(f"{address} is not an NVIDIA GPU of this host", obj=host.name, hint=_TAKEN_IN)
    return {row.label: cards[address] for row, address in zip(rows, told, strict=True)}


def _agreed(rows: Sequence[SmiRow], numbering: Numbering) -> Numbering:
    """Refuse addresses that are not those which the matrix itself tells."""
    for row in rows:
        card = numbering.cards[row.label]
        if row.address is not None and row.address != card.address:
            raise UsageError(
                f"{row.label} is {row.address} in the matrix (line {row.line}), and {card.address} is given"
            )
    return numbering


def _from_query(
    rows: Sequence[SmiRow], query: QueryFile, cards: Mapping[PciAddress, PciDevice], host: Host
) -> Numbering:
    table = parse_query(query.text, query.path)
    numbers = [int(row.label.removeprefix("GPU")) for row in rows]
    if sorted(table) != sorted(numbers):
        raise UsageError(
            f"the query lists GPU {_listed(table)}, the matrix GPU {_listed(numbers)}",
            obj=query.path,
            hint="take both on the same machine at the same time",
        )
    told = [table[number] for number in numbers]
    return Numbering(_given(rows, told, cards, host), "addresses from nvidia-smi --query-gpu")


def _listed(numbers: Sequence[int] | Mapping[int, object]) -> str:
    return " ".join(map(str, sorted(numbers)))


def _in_guest(matrix: SmiMatrix, host: Host, options: ReadOptions, vm: Vm) -> Numbering:
    rows = matrix.gpu_rows
    if options.order_pci:
        raise UsageError(
            "--order pci does not go with --taken-in: a guest has addresses of its own",
            obj=vm.name,
            hint="give the cards' addresses on the host with --gpu, in the guest's order",
        )
    if vm.host != host.moid:
        raise UsageError("the VM is not on this host", obj=vm.name, why=f"the host is {host.name}")
    if options.query is not None:
        table = parse_query(options.query.text, options.query.path)
        if len(table) != len(rows):
            raise UsageError(
                f"the query lists {len(table)} GPUs, the matrix {len(rows)}", obj=options.query.path
            )
    held = _cards_of(vm, host, options)
    if options.gpus:
        cards = _given(rows, options.gpus, held, host)
        return Numbering(cards, f"taken in the VM {vm.name}, addresses given (--gpu)")
    if len(held) != len(rows):
        raise UsageError(
            f"the matrix has {len(rows)} GPUs, of the VM's cards {len(held)} are known",
            obj=vm.name,
            why="before API 9.1 vCenter does not tell which card a Dynamic DirectPath device has",
            hint="give the cards' addresses on the host with --gpu, in the guest's order",
        )
    words = {_lanes(matrix.word(a.label, b.label)) for a, b in combinations(rows, 2)}
    if len(words) > 1:
        raise UsageError(
            "it cannot be told which card each GPU number of the guest is",
            obj=vm.name,
            why="the guest numbers its GPUs by addresses of its own, and pairs differ in their links",
            hint="give the cards' addresses on the host with --gpu, in the guest's order",
        )
    how = "one GPU" if len(rows) == 1 else "all pairs are alike, so their order does not matter"
    cards = dict(zip((row.label for row in rows), (held[a] for a in sorted(held)), strict=True))
    return Numbering(cards, f"taken in the VM {vm.name}, {how}")


def _lanes(word: str) -> str:
    """What a guest's word says: NVLinks; the PCIe way in a guest is virtual."""
    return word if word.startswith("NV") else "-"


def _cards_of(vm: Vm, host: Host, options: ReadOptions) -> dict[PciAddress, PciDevice]:
    """Return the NVIDIA GPUs of the host that are known to be the VM's.

    With addresses given, all GPUs of the host: where vCenter does not tell the cards, the user does.
    """
    backings = [device.backing for device in vm.devices]
    if any(isinstance(backing, VgpuBacking) for backing in backings):
        raise UsageError("the VM has vGPUs: they are parts of cards that vCenter does not tell", obj=vm.name)
    if not any(isinstance(backing, StaticBacking | DynamicBacking) for backing in backings):
        raise UsageError("the VM has no passthrough device", obj=vm.name)
    cards = _host_gpus(host)
    if options.gpus:
        return cards
    use = device_use(host_cards(host, build_host_topology(host)), options.vms)
    own = {
        claim.address
        for claim in use.claims
        if claim.vm == vm.moid and (claim.certain or Source.ASSIGNED_ID in claim.sources)
    }
    return {address: card for address, card in cards.items() if address in own}
