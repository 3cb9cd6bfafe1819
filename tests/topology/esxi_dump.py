"""The public dump of a nested ESXi 8.0.3 host: its PCI devices and NUMA nodes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from vplacer.inventory.host import PciDevice
from vplacer.inventory.pci import PciAddress, PciIds, unsigned16


def load_dump(test_data: Path) -> Any:
    file = test_data / "vcenter-dumps" / "pyvmomi_test_json_host_explode.json"
    return json.loads(file.read_text(encoding="utf-8"))


def numa_info(dump: Any) -> dict[str, Any]:
    info: dict[str, Any] = next(_find(dump, "numaInfo"))
    return info


def pci_devices(dump: Any) -> tuple[PciDevice, ...]:
    return tuple(
        PciDevice(
            PciAddress.parse(item["id"]),
            PciIds.from_signed(item["vendorId"], item["deviceId"]),
            unsigned16(item["classId"]),
            item["vendorName"],
            item["deviceName"],
            PciAddress.parse(item["parentBridge"]) if item["parentBridge"] else None,
        )
        for item in next(_find(dump, "pciDevice"))
    )


def _find(tree: Any, key: str) -> Iterator[Any]:
    """Find values by key anywhere in a document."""
    if isinstance(tree, dict):
        for name, value in tree.items():
            if name == key and value:
                yield value
            yield from _find(value, key)
    elif isinstance(tree, list):
        for item in tree:
            yield from _find(item, key)
