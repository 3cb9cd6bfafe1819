"""Makes a host that nvidia-smi would describe by a given matrix: the PCI tree its words stand for."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from itertools import combinations

from tests.topology.hosts import make_host
from vplacer.inventory.host import Host
from vplacer.inventory.pci import PciAddress
from vplacer.topology.importers.smi_matrix import SmiMatrix, is_gpu

_MODELS = {"NV4": "A30", "NV12": "A100-80", "NV18": "H200-NVL"}


def components(labels: tuple[str, ...], joined: Callable[[str, str], bool]) -> dict[str, str]:
    """Map each label to the first label of its component."""
    leader = {label: label for label in labels}
    for a, b in combinations(labels, 2):
        if joined(a, b):
            keep, drop = sorted((leader[a], leader[b]), key=labels.index)
            leader = {label: keep if head == drop else head for label, head in leader.items()}
    return leader


def host_of(matrix: SmiMatrix) -> tuple[Host, dict[str, PciAddress]]:
    """Return a host whose PCI tree and nodes have the matrix's words, and the address of each label.

    A pair joined by NVLink has no PCIe word; they get ports of their own.
    """
    labels = matrix.labels
    switch = components(labels, lambda a, b: matrix.word(a, b) == "PIX")
    cascade = components(labels, lambda a, b: matrix.word(a, b) in ("PIX", "PXB"))
    bridge = components(labels, lambda a, b: matrix.word(a, b) in ("PIX", "PXB", "PHB"))
    node = components(labels, lambda a, b: matrix.word(a, b) in ("PIX", "PXB", "PHB", "NODE"))
    told = {row.label: row.numa_node for row in matrix.rows if row.numa_node is not None}
    lines: list[str] = []
    bus = iter(range(0x10, 0x100))
    made: dict[str, str] = {}

    def port(key: str, text: str) -> str:
        if key not in made:
            made[key] = text
            lines.append(text if "bridge" in text else f"{text} bridge")
        return made[key].split()[0]

    root_bus = {head: next(bus) for head in dict.fromkeys(bridge.values())}
    addresses: dict[str, str] = {}
    for label in labels:
        slot = list(dict.fromkeys(cascade.values())).index(cascade[label]) + 1
        root = port(f"root {cascade[label]}", f"{root_bus[bridge[label]]:02x}:{slot:02x}.0")
        outer = port(f"outer {cascade[label]}", f"{next(bus):02x}:00.0 bridge < {root}")
        leg = port(f"leg {switch[label]}", f"{next(bus):02x}:01.0 bridge < {outer}")
        inner = port(f"inner {switch[label]}", f"{next(bus):02x}:00.0 bridge < {leg}")
        down = port(f"down {label}", f"{next(bus):02x}:02.0 bridge < {inner}")
        addresses[label] = f"{next(bus):02x}:00.0"
        lines.append(f"{addresses[label]} {_kind(matrix, label)} < {down}")
    node_ids: dict[str, int] = {}
    for label in labels:
        if label in told:
            node_ids.setdefault(node[label], told[label])
    fresh = max([*told.values(), -1]) + 1
    for head in dict.fromkeys(node.values()):
        if head not in node_ids:
            node_ids[head] = fresh
            fresh += 1
    homes = {label: told.get(label, node_ids[node[label]]) for label in labels}
    host = make_host(
        {
            "nodes": [
                {"id": i, "package": i, "devices": [addresses[x] for x in labels if homes[x] == i]}
                for i in sorted(set(homes.values()))
            ],
            "pci": lines,
        }
    )
    # As many threads as the matrix names CPUs: a matrix with more is refused as another machine's.
    cpus = [int(n) for row in matrix.rows for n in re.findall(r"[0-9]+", row.cpu_affinity or "")]
    host = replace(host, thread_count=max([*cpus, 0]) + 1)
    return host, {label: PciAddress.parse(text) for label, text in addresses.items()}


def _kind(matrix: SmiMatrix, label: str) -> str:
    if not is_gpu(label):
        return "nic"
    words = {matrix.word(a.label, b) for a in matrix.gpu_rows for b in matrix.labels}
    return next((model for word, model in _MODELS.items() if word in words), "L40S")
