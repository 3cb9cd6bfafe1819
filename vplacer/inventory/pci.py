"""PCI addresses and ids: one canonical form, one parser for every spelling in the field.

Canonical form: ``ssss:bb:dd.f``, lower-case hexadecimal, the segment of four digits or more.

Spellings met:
    ``0000:3b:00.0``      vSphere (HostPciDevice.id), lspci, hwloc
    ``10001:80:05.0``     segments of five digits (Intel VMD domains)
    ``7f:1e.3``           without a segment: ESXi 5.x, vSphere's own doc comment
    ``00000000:07:00.0``  nvidia-smi (eight digits of segment)
    ``00000:101:00.0``    VMX files: five digits of segment, the bus in DECIMAL (govmomi #2248)
    ``pci 0:174:0:0``     esxcli "Parent Device": all decimal, a colon before the function
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Self

_HEX_RE = re.compile(
    r"^(?:(?P<segment>[0-9a-f]{4,8}):)?(?P<bus>[0-9a-f]{1,2}):(?P<device>[0-9a-f]{1,2})\.(?P<function>[0-7])$"
)
_VMX_RE = re.compile(r"^(?P<segment>[0-9]{5}):(?P<bus>[0-9]{3}):(?P<device>[0-9]{2})\.(?P<function>[0-7])$")
_ESXCLI_RE = re.compile(
    r"^(?:pci )?(?P<segment>[0-9]{1,10}):(?P<bus>[0-9]{1,4}):(?P<device>[0-9]{1,4}):(?P<function>[0-9])$"
)

_MAX_BUS = 0xFF
_MAX_DEVICE = 0x1F


@dataclass(frozen=True, order=True, slots=True)
class PciAddress:
    """One PCI function. Orders by segment, bus, device, function."""

    segment: int
    bus: int
    device: int
    function: int

    def __post_init__(self) -> None:
        if not (
            0 <= self.segment <= 0xFFFFFFFF
            and 0 <= self.bus <= _MAX_BUS
            and 0 <= self.device <= _MAX_DEVICE
            and 0 <= self.function <= 7
        ):
            raise ValueError(
                f"PCI address out of range: segment {self.segment}, bus {self.bus}, "
                f"device {self.device}, function {self.function}"
            )

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse a hexadecimal spelling, or esxcli's decimal ``pci s:b:d:f``.

        A VMX spelling is refused, because ``00000:010:00.0`` read as hexadecimal would silently
        name another device: use `parse_vmx` where the text is known to come from a VMX key.

        Raises:
            ValueError: the text is none of the spellings.
        """
        lowered = text.strip().lower()
        if _VMX_RE.match(lowered):
            raise ValueError(
                f"'{text}' is the decimal VMX spelling of a PCI address; a hexadecimal one is needed"
            )
        if match := _HEX_RE.match(lowered):
            return cls(
                int(match["segment"] or "0", 16),
                int(match["bus"], 16),
                int(match["device"], 16),
                int(match["function"], 16),
            )
        if match := _ESXCLI_RE.match(lowered):
            return cls(int(match["segment"]), int(match["bus"]), int(match["device"]), int(match["function"]))
        raise ValueError(f"'{text}' is not a PCI address (expected ssss:bb:dd.f)")

    @classmethod
    def parse_vmx(cls, text: str) -> Self:
        """Parse the value of a VMX key such as ``pciPassthru0.id``: decimal bus and device.

        Raises:
            ValueError: the text is not in the VMX spelling.
        """
        match = _VMX_RE.match(text.strip())
        if not match:
            raise ValueError(f"'{text}' is not a VMX PCI address (expected sssss:bbb:dd.f in decimal)")
        return cls(int(match["segment"]), int(match["bus"]), int(match["device"]), int(match["function"]))

    def vmx(self) -> str:
        """Return the VMX spelling."""
        return f"{self.segment:05d}:{self.bus:03d}:{self.device:02d}.{self.function}"

    @property
    def bus_key(self) -> tuple[int, int]:
        """Segment and bus: a bus number alone never names a bus."""
        return (self.segment, self.bus)

    @property
    def short(self) -> str:
        """``bb:dd.f`` in segment 0, else the full form: for humans beside a host name."""
        if self.segment == 0:
            return f"{self.bus:02x}:{self.device:02x}.{self.function}"
        return str(self)

    def __str__(self) -> str:
        return f"{self.segment:04x}:{self.bus:02x}:{self.device:02x}.{self.function}"


@dataclass(frozen=True, order=True, slots=True)
class PciIds:
    """Vendor, device and subsystem ids, unsigned 16 bit. A missing subsystem id is None, not 0."""

    vendor: int
    device: int
    sub_vendor: int | None = None
    sub_device: int | None = None

    @classmethod
    def from_signed(
        cls, vendor: int, device: int, sub_vendor: int | None = None, sub_device: int | None = None
    ) -> Self:
        """Build from xsd:short values, which arrive negative above 0x7fff (pyvmomi #986)."""
        return cls(
            unsigned16(vendor),
            unsigned16(device),
            None if sub_vendor is None else unsigned16(sub_vendor),
            None if sub_device is None else unsigned16(sub_device),
        )

    def __str__(self) -> str:
        return f"{self.vendor:04x}:{self.device:04x}"


def unsigned16(value: int) -> int:
    """Undo the sign of an xsd:short."""
    return value & 0xFFFF


def unsigned8(value: int) -> int:
    """Undo the sign of an xsd:byte."""
    return value & 0xFF


def signed16(value: int) -> int:
    """Give an unsigned id the sign vSphere expects in an xsd:short."""
    return value - 0x10000 if value > 0x7FFF else value


UNKNOWN_U32 = 0xFFFFFFFF
"""What ESXi prints for "no NUMA node" and "no slot": unknown, never a number."""


def known_index(value: int | None) -> int | None:
    """Return a NUMA node or slot number, or None where the source says it has none.

    ESXi tools print 4294967295 or -1 for "unknown".
    """
    if value is None or value < 0 or value >= UNKNOWN_U32:
        return None
    return value
