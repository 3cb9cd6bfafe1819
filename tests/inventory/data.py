"""Where the case files of these tests are, and small makers of inventory values."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from vplacer.inventory.host import PciDevice, Sriov
from vplacer.inventory.pci import PciAddress, PciIds

CASES = Path(__file__).parent / "cases"


def cases(name: str) -> list[dict[str, Any]]:
    """Return the cases of ``cases/NAME.yaml``."""
    loaded: list[dict[str, Any]] = yaml.safe_load((CASES / f"{name}.yaml").read_text())
    assert loaded
    return loaded


def ids(text: str) -> PciIds:
    """Return ids written as vendor:device or vendor:device:subvendor:subdevice."""
    return PciIds(*(int(part, 16) for part in text.split(":")))


def device(
    address: str,
    id_text: str,
    class_id: int,
    *,
    parent: str | None = None,
    vfs: int | None = None,
) -> PciDevice:
    """Return a PCI device; ``vfs`` makes it a physical function that has so many now."""
    return PciDevice(
        address=PciAddress.parse(address),
        ids=ids(id_text),
        class_id=class_id,
        vendor_name="",
        device_name="",
        parent_bridge=None if parent is None else PciAddress.parse(parent),
        sriov=None if vfs is None else Sriov(True, vfs > 0, vfs > 0, vfs, vfs, 64),
    )
