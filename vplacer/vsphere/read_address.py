"""PCI addresses in raw answers: one that cannot be read is unknown, and said so."""

from __future__ import annotations

from functools import lru_cache

from vplacer.inventory.pci import PciAddress
from vplacer.vsphere.raw import Notes


@lru_cache(maxsize=4096)
def _parse(text: str) -> PciAddress:
    """Parse a spelling; the same few hundred come again on every host of a kind."""
    return PciAddress.parse(text)


def read_address(text: str | None, notes: Notes, where: str) -> PciAddress | None:
    """Return an address, or None where there is none or it is in no known spelling.

    Args:
        text: as the API gives it (HostPciDevice.id and the like).
        notes: told of a spelling that is not known.
        where: the object and field, for the note.
    """
    if not text:
        return None
    try:
        return _parse(text)
    except ValueError:
        notes.add(f"{where}: '{text}' is not a PCI address and was left out")
        return None
