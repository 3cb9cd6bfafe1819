"""Makes the host that an imported file describes: its functions, bridges and NUMA nodes."""

from __future__ import annotations

from dataclasses import replace

from tests.topology.hosts import make_host
from vplacer.inventory.host import Host, PciDevice
from vplacer.inventory.pci import PciIds
from vplacer.topology.importers.facts import DeviceFact, Facts

_IDS = {0x03: PciIds(0x10DE, 0x20B2), 0x12: PciIds(0x1002, 0x74A1), 0x02: PciIds(0x15B3, 0x101B)}


def host_of_facts(facts: Facts, *, nodes_known: bool = True) -> Host:
    """Return a host with the functions of a file; ``nodes_known``: vCenter lists them under their nodes."""
    told = sorted({fact.node for fact in facts.devices if fact.node is not None})
    host = make_host(
        {
            "nodes": [
                {
                    "id": node,
                    "package": node,
                    "devices": [str(f.address) for f in facts.devices if nodes_known and f.node == node],
                }
                for node in told
            ],
            "pci": [],
        }
    )
    return replace(host, pci_devices=tuple(_device(fact) for fact in facts.devices))


def _device(fact: DeviceFact) -> PciDevice:
    class_id, ids = fact.class_id, fact.ids
    if class_id is None:
        # A file without classes (g5.48xlarge) lists GPUs, and one NIC that counts as one here; what else
        # has none is an NVSwitch that hwloc could not read (DGX-2).
        class_id = 0x0302 if fact.needed else 0x0680
    if ids is None:
        ids = _IDS.get(
            class_id >> 8, PciIds(0x10DE, 0x1AC2) if class_id == 0x0680 else PciIds(0x8086, 0x2030)
        )
    return PciDevice(fact.address, ids, class_id, "Vendor", "Device", parent_bridge=fact.parent)
