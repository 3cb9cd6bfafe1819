"""Hardware labels of a host's cards."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from vplacer.errors import InventoryIncomplete
from vplacer.inventory.pci import PciAddress
from vplacer.port import LabelChange
from vplacer.vsphere.data_objects import make
from vplacer.vsphere.raw import Data, Notes
from vplacer.vsphere.read_address import read_address


def encode_labels(changes: Iterable[LabelChange], present: Iterable[Data], host: str) -> list[Any]:
    """Return what sets the labels of one host's cards and leaves everything else of them as it is.

    Args:
        changes: of this host.
        present: HostPciPassthruInfo of its devices, read just now.
        host: its name, for messages.

    Raises:
        InventoryIncomplete: the host does not list a card.
    """
    by_address: dict[PciAddress, Data] = {}
    for info in present:
        address = read_address(info.text("id"), Notes(), host)
        if address is not None:
            by_address[address] = info
    return [_config(change, by_address.get(change.address), host) for change in changes]


def _config(change: LabelChange, info: Data | None, host: str) -> Any:
    if info is None:
        raise InventoryIncomplete(
            f"the host does not list {change.address} among its devices for passthrough",
            obj=host,
            hint="read the host again: the card may have moved",
        )
    common: dict[str, object] = {
        "id": info.text("id"),
        "passthruEnabled": info.flag("passthruEnabled") is True,
        "hardwareLabel": change.after or "",
    }
    if info.is_a("HostSriovInfo") and info.flag("sriovEnabled") is True:
        return make(
            "HostSriovConfig",
            **common,
            sriovEnabled=True,
            numVirtualFunction=info.number("numVirtualFunctionRequested") or 0,
        )
    return make("HostPciPassthruConfig", **common)
