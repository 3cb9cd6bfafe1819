"""One device as ``esxcli hardware pci list`` tells it, whether as text or through the API.

Traps that the format holds, with what shows them:

- Parent and dependent device are written in decimal (``PCI 0:174:0:0`` is 0000:ae:00.0), everything else in
  hexadecimal; the dependent device may be another function of the card (public listings of ESXi hosts).
- A NUMA node or slot that is not known is 4294967295 or -1 (vbondzio/sowasvonunsupported ``pci2numa.sh``).
- Fields come and go with the build, and in another case: old listings have no NUMA node at all.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from vplacer.inventory.pci import PciAddress

_UNKNOWN: Final = frozenset({-1, 0xFFFFFFFF})
_NUMBER: Final = re.compile(r"-?\d+|0[xX][0-9a-fA-F]+")


@dataclass(frozen=True, slots=True)
class EsxcliDevice:
    """One device.

    ids: vendor, device, subsystem vendor, subsystem device, each in the readings that its text allows: a
        number without ``0x`` may have been printed in either base. Empty = not told.
    numa_node, physical_slot: None = not told, or told as unknown.
    parent, dependent: None = not told.
    vmkernel_name: "vmnic4" and the like; None = it has none.
    """

    address: PciAddress
    ids: tuple[frozenset[int], frozenset[int], frozenset[int], frozenset[int]]
    numa_node: int | None
    physical_slot: int | None
    parent: PciAddress | None
    dependent: PciAddress | None
    vmkernel_name: str | None


def read_device(fields: Mapping[str, str]) -> EsxcliDevice:
    """Read the fields of one device; their names count without case and blanks.

    Raises:
        ValueError: there is no address, or a value is not of its kind; the message names the field.
    """
    known = {_bare(name): text.strip() for name, text in fields.items()}
    if not known.get("address"):
        raise ValueError("the device has no address")
    first, second, third, fourth = (
        _readings(known, name) for name in ("vendorid", "deviceid", "subvendorid", "subdeviceid")
    )
    return EsxcliDevice(
        address=PciAddress.parse(known["address"]),
        ids=(first, second, third, fourth),
        numa_node=_known_number(known, "numanode"),
        physical_slot=_known_number(known, "physicalslot"),
        parent=_other_device(known, "parentdevice"),
        dependent=_other_device(known, "dependentdevice"),
        vmkernel_name=known.get("vmkernelname") or None,
    )


def _bare(name: str) -> str:
    return re.sub(r"[\s_]", "", name).lower()


def _known_number(fields: Mapping[str, str], name: str) -> int | None:
    text = fields.get(name, "")
    if not text:
        return None
    if _NUMBER.fullmatch(text) is None:
        raise ValueError(f"{name} is '{text}', not a number")
    value = int(text, 16 if text[:2].lower() == "0x" else 10)
    if value in _UNKNOWN:
        return None
    if value < 0:
        raise ValueError(f"{name} is {value}")
    return value


def _readings(fields: Mapping[str, str], name: str) -> frozenset[int]:
    """Return the values an id may have: hexadecimal with ``0x``, else either base; signed ones unsigned."""
    text = fields.get(name, "")
    found = set()
    if text.startswith("-"):
        bases: tuple[int, ...] = (10,)
    else:
        bases = (16,) if text[:2].lower() == "0x" else (10, 16)
    for base in bases:
        try:
            found.add(int(text, base) & 0xFFFF)
        except ValueError:
            continue
    if text and not found:
        raise ValueError(f"{name} is '{text}', not a number")
    return frozenset(found)


def _other_device(fields: Mapping[str, str], name: str) -> PciAddress | None:
    """Return an address; one that cannot be read says nothing, and takes nothing from the rest."""
    try:
        return PciAddress.parse(fields.get(name, ""))
    except ValueError:
        return None
