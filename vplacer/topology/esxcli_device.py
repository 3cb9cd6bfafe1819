"""One device as ``esxcli hardware pci list`` tells it, whether as text or through the API.

Traps that the format holds, with what shows them:

- Parent and dependent device are written in decimal (``PCI 0:174:0:0`` is 0000:ae:00.0), everything else in
  hexadecimal; the dependent device may be another function of the card (public listings of ESXi hosts).
- A device below none is told as empty or as ``PCI 0:0:0:0``.
- A NUMA node or slot that is not known is 4294967295 or -1 (vbondzio/sowasvonunsupported ``pci2numa.sh``).
- Fields come and go with the build, and in another case: old listings have no NUMA node at all.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from vplacer.inventory.pci import PciAddress, PciIds

_UNKNOWN: Final = frozenset({-1, 0xFFFFFFFF})
_NUMBER: Final = re.compile(r"-?[0-9]{1,10}|0[xX][0-9a-fA-F]{1,8}")
_PRINTED: Final = {
    "vendorid": "Vendor ID",
    "deviceid": "Device ID",
    "subvendorid": "SubVendor ID",
    "subdeviceid": "SubDevice ID",
    "deviceclass": "Device Class",
    "numanode": "NUMA Node",
    "physicalslot": "Physical Slot",
    "parentdevice": "Parent Device",
    "dependentdevice": "Dependent Device",
}
"""Names of fields as esxcli prints them as text."""
_LONGEST_ID: Final = len("0x0000ffff")
_NOT_TOLD: Final = frozenset({"", "n/a", "unknown"})
_NO_DEVICE: Final = _NOT_TOLD | {"pci 0:0:0:0"}


@dataclass(frozen=True, slots=True)
class EsxcliDevice:
    """One device.

    ids: vendor, device, subsystem vendor, subsystem device, each in the readings that its text allows: a
        number without ``0x`` may have been printed in either base. Empty = not told.
    class_id: 16 bits, None = not told.
    numa_node, physical_slot: None = not told, or told as unknown.
    parent, dependent: None = not told, or told in a form that is in ``unread``.
    vmkernel_name: "vmnic4" and the like; None = it has none.
    """

    address: PciAddress
    ids: tuple[frozenset[int], frozenset[int], frozenset[int], frozenset[int]]
    class_id: int | None
    numa_node: int | None
    physical_slot: int | None
    parent: PciAddress | None
    dependent: PciAddress | None
    vmkernel_name: str | None
    unread: tuple[str, ...] = ()

    @property
    def plain_ids(self) -> PciIds | None:
        """The ids, numbers without ``0x`` taken as decimal (as ``--formatter=json`` prints them)."""
        # The same digits are never more in decimal than in hexadecimal.
        vendor, device, sub_vendor, sub_device = (min(item, default=None) for item in self.ids)
        if vendor is None or device is None:
            return None
        if sub_vendor is None or sub_device is None:
            return PciIds(vendor, device)
        return PciIds(vendor, device, sub_vendor, sub_device)


def read_device(fields: Mapping[str, str]) -> EsxcliDevice:
    """Read the fields of one device; of their names the letters count, without case.

    Raises:
        ValueError: there is no address, or a value is not of its kind; the message names the field.
    """
    known = {_bare(name): text.strip() for name, text in fields.items()}
    if not known.get("address"):
        raise ValueError("the device has no address")
    parent, dependent = (_other_device(known, name) for name in ("parentdevice", "dependentdevice"))
    first, second, third, fourth = (
        _readings(known, name) for name in ("vendorid", "deviceid", "subvendorid", "subdeviceid")
    )
    return EsxcliDevice(
        address=PciAddress.parse(known["address"]),
        ids=(first, second, third, fourth),
        class_id=min(_readings(known, "deviceclass"), default=None),
        numa_node=_known_number(known, "numanode"),
        physical_slot=_known_number(known, "physicalslot"),
        parent=parent[0],
        dependent=dependent[0],
        vmkernel_name=known.get("vmkernelname") or None,
        unread=(*parent[1], *dependent[1]),
    )


def _bare(name: str) -> str:
    return re.sub(r"[^a-z]", "", name.lower())


def _known_number(fields: Mapping[str, str], name: str) -> int | None:
    text = fields.get(name, "")
    if text.lower() in _NOT_TOLD:
        return None
    if _NUMBER.fullmatch(text) is None:
        raise ValueError(f"{_PRINTED[name]}: '{text[:40]}' is no number")
    value = int(text, 16 if text[:2].lower() == "0x" else 10)
    if value in _UNKNOWN:
        return None
    if value < 0:
        raise ValueError(f"{_PRINTED[name]}: {value} is no number from 0")
    return value


def _readings(fields: Mapping[str, str], name: str) -> frozenset[int]:
    """Return the values an id may have: hexadecimal with ``0x``, else either base; signed ones unsigned.

    An id has 16 bits, so a reading with more is none.
    """
    text = fields.get(name, "")
    if not text:
        return frozenset()
    bases = (16,) if text[:2].lower() == "0x" else (10,) if text.startswith("-") else (10, 16)
    found = set()
    for base in bases:
        with contextlib.suppress(ValueError):
            value = int(text[:_LONGEST_ID], base)
            if len(text) <= _LONGEST_ID and -0x8000 <= value <= 0xFFFF:
                found.add(value & 0xFFFF)
    if not found:
        raise ValueError(f"{_PRINTED[name]}: '{text[:40]}' is no number of 16 bits")
    return frozenset(found)


def _other_device(fields: Mapping[str, str], name: str) -> tuple[PciAddress | None, tuple[str, ...]]:
    """Return an address, and what cannot be read as one: it takes nothing from the rest."""
    text = fields.get(name, "")
    if text.lower() in _NO_DEVICE:
        return None, ()
    try:
        return PciAddress.parse(text), ()
    except ValueError as problem:
        return None, (f"{_PRINTED[name]}: {problem}",)
