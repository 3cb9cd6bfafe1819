"""Device lines of a host kind: one line is one card or `count` equal ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from vplacer.inventory.gpu_facts import GpuModel
from vplacer.inventory.gpu_models import gpu_by_name, gpu_candidates
from vplacer.inventory.nic_models import NicModel, nic_by_name, nic_models
from vplacer.inventory.nvswitch_models import nvswitch_models
from vplacer.inventory.pci import PciAddress, PciIds
from vplacer.inventory.yaml_marks import Document, Pointer

_KINDS: Final = ("gpu", "nic", "nvswitch", "storage", "pci")


@dataclass
class Card:
    """One card, or one port of a network card, while the tree of a host kind is built.

    Cards of one ``slot`` share a port of the bridge above. ``function`` is the port's number.
    """

    name: str
    kind: str
    pointer: Pointer
    raw: dict[str, Any]
    what: _Identity
    node: int | None
    slot: str
    function: int = 0
    address: PciAddress | None = None
    parent: PciAddress | None = None

    @property
    def gpu(self) -> GpuModel | None:
        """Its model, of a GPU."""
        return self.what.gpu

    @property
    def nic(self) -> NicModel | None:
        """Its model, of a network card."""
        return self.what.nic

    @property
    def given_address(self) -> PciAddress | None:
        """The address the file gives."""
        text = self.raw.get("address")
        if text is None:
            return None
        base = PciAddress.parse(str(text))
        return PciAddress(base.segment, base.bus, base.device, base.function + self.function)

    @property
    def placed(self) -> PciAddress:
        """The address, once the tree is built."""
        assert self.address is not None
        return self.address

    @property
    def path(self) -> tuple[str, ...]:
        """Names of the switches above it, outermost first."""
        switch = self.raw.get("switch")
        return tuple(str(switch).split("/")) if switch else ()


def expand_lines(document: Document, pointer: Pointer, raw: list[dict[str, Any]], nodes: int) -> list[Card]:
    """Return the cards of validated device lines, named, in order; their addresses are not given yet.

    Raises:
        FileFormatError: unknown model or node, a name used twice.
    """
    cards: list[Card] = []
    counters = dict.fromkeys(_KINDS, 0)
    seen: set[str] = set()
    for index, line in enumerate(raw):
        place = (*pointer, index)
        kinds = [kind for kind in _KINDS if kind in line]
        if len(kinds) != 1:
            raise document.error(place, f"a device is exactly one of {', '.join(_KINDS)}")
        kind = kinds[0]
        count = int(line.get("count", 1))
        if count > 1 and "address" in line:
            raise document.error((*place, "address"), "one address cannot serve several devices")
        what = _identity(document, place, line, kind)
        node = _card_node(document, place, line, nodes)
        ports = _ports(document, place, line)
        for number in range(count):
            slot = _slot(line, f"{index}/{number}")
            for port in range(ports):
                name = _card_name(line, kind, counters, number * ports + port, count * ports)
                if name in seen:
                    raise document.error((*place, "name"), f"two devices are called '{name}'")
                seen.add(name)
                cards.append(Card(name, kind, place, line, what, node, slot, port))
    return cards


def _ports(document: Document, place: Pointer, line: dict[str, Any]) -> int:
    ports = int(line.get("ports", 1))
    if ports > 1 and "nic" not in line:
        raise document.error((*place, "ports"), "only a network card has ports")
    if "address" in line and PciAddress.parse(str(line["address"])).function + ports > 8:
        raise document.error((*place, "ports"), "a device has at most eight functions")
    return ports


def _slot(line: dict[str, Any], default: str) -> str:
    """Return what tells slots apart: the bus where the file gives it, so that functions of a card meet."""
    if "address" not in line:
        return default
    address = PciAddress.parse(str(line["address"]))
    return f"bus {address.segment:04x}:{address.bus:02x}"


def _card_name(line: dict[str, Any], kind: str, counters: dict[str, int], number: int, count: int) -> str:
    if "name" in line:
        return f"{line['name']}{number}" if count > 1 else str(line["name"])
    counters[kind] += 1
    return f"{kind}{counters[kind] - 1}"


@dataclass(frozen=True, slots=True)
class _Identity:
    """What a line says a device is."""

    ids: PciIds
    class_id: int
    vendor_name: str
    device_name: str
    gpu: GpuModel | None = None
    nic: NicModel | None = None


def _identity(document: Document, place: Pointer, line: dict[str, Any], kind: str) -> _Identity:
    if kind == "gpu":
        gpu = find_gpu(document, (*place, "gpu"), str(line["gpu"]))
        return _Identity(gpu.ids, gpu.class_id, gpu.vendor_name, gpu.device_name, gpu=gpu)
    if kind == "nic":
        nic = find_nic(document, (*place, "nic"), str(line["nic"]))
        return _Identity(nic.ids, nic.class_id, nic.vendor_name, nic.device_name, nic=nic)
    if kind == "nvswitch":
        known = {item.name: item for item in nvswitch_models()}
        model = known.get(str(line["nvswitch"]).upper())
        if model is None:
            raise document.error((*place, "nvswitch"), f"no such NVSwitch: {', '.join(known)} are known")
        return _Identity(model.ids[0], 0x0680, "NVIDIA Corporation", model.device_name)
    if kind == "storage":
        if line["storage"] != "nvme":
            raise document.error((*place, "storage"), "no such storage controller: nvme is known")
        return _NVME
    other = line["pci"]
    ids = PciIds(*(int(part, 16) for part in str(other["ids"]).split(":")))
    return _Identity(
        ids, int(other["class"]), str(other.get("vendor_name", "")), str(other.get("device_name", ""))
    )


_NVME: Final = _Identity(
    PciIds(0x144D, 0xA824), 0x0108, "Samsung Electronics Co Ltd", "NVMe SSD Controller PM173X"
)


def _card_node(document: Document, place: Pointer, line: dict[str, Any], nodes: int) -> int | None:
    node = line.get("node")
    if node is None:
        if nodes == 1:
            return 0
        raise document.error(place, f"the key 'node' is missing: this host has {nodes} nodes")
    if node == "unknown":
        return None
    if int(node) >= nodes:
        raise document.error((*place, "node"), f"there is no node {node}: this host has {nodes}, from 0")
    return int(node)


def find_gpu(document: Document, place: Pointer, name: str) -> GpuModel:
    """Return the GPU model of a name, or raise an error at its place that names candidates."""
    model = gpu_by_name(name)
    if model is None:
        close = gpu_candidates(name)
        hint = (
            f"did you mean {', '.join(close)}?" if close else "give its ids: pci: {ids: ..., class: 0x0302}"
        )
        raise document.error(place, f"no GPU model is called '{name}'", hint=hint)
    return model


def find_nic(document: Document, place: Pointer, name: str) -> NicModel:
    """Return the NIC model of a name, or raise an error at its place."""
    model = nic_by_name(name)
    if model is None:
        known = ", ".join(nic.name for nic in nic_models())
        raise document.error(place, f"no NIC model is called '{name}'", hint=f"known: {known}")
    return model
