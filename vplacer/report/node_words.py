"""Words about one NUMA node, the same in the tree and in the picture."""

from __future__ import annotations

from vplacer.topology.values import NodeTopology

_GIB = 1024**3


def node_words(node: NodeTopology) -> str:
    """Write its size: ``32 cores  512 GiB``."""
    cores = f"{node.core_count} cores" if node.core_count else "no cores"
    if node.memory_bytes is None:
        return f"{cores}  memory not told"
    return f"{cores}  {node.memory_bytes / _GIB:.0f} GiB" if node.memory_bytes else f"{cores}  no memory"
