"""What is free on every node, as arrays, and placing a pod."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from benchmarks.openb.trace import FULL, Node, Pod

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]


class Cluster:
    """The free processor, memory and shares of every node, in the order in which ties are broken.

    A GPU that a node does not have has no share left, so that it never fits anything.
    """

    def __init__(self, nodes: Sequence[Node]) -> None:
        self.nodes = tuple(nodes)
        self.cpu: Ints = np.array([node.cpu for node in nodes], dtype=np.int64)
        self.memory: Ints = np.array([node.memory for node in nodes], dtype=np.int64)
        width = max(node.gpus for node in nodes)
        self.shares: Ints = np.array(
            [[FULL] * node.gpus + [0] * (width - node.gpus) for node in nodes], dtype=np.int64
        )
        self.changed: Ints = np.zeros(len(nodes), dtype=np.int64)
        self.step = 0
        self._models: dict[tuple[str, ...], Flags] = {}

    def runs(self, pod: Pod) -> Flags:
        """Return which nodes have a GPU model that the pod may use."""
        found = self._models.get(pod.models)
        if found is None:
            found = np.array([pod.runs_on(node) for node in self.nodes])
            self._models[pod.models] = found
        return found

    def fits(self, pod: Pod, at: Ints) -> Flags:
        """Return on which of these nodes the pod fits."""
        room = self.runs(pod)[at] & (self.cpu[at] >= pod.cpu) & (self.memory[at] >= pod.memory)
        if pod.gpus:
            room &= (self.shares[at] >= pod.share).sum(axis=1) >= pod.gpus
        return room

    def free_gpus(self, pod: Pod, node: int) -> list[int]:
        """Return the GPUs of a node that have the share, in order."""
        return [int(gpu) for gpu in np.nonzero(self.shares[node] >= pod.share)[0]]

    def place(self, pod: Pod, node: int, gpus: Sequence[int]) -> None:
        """Take the pod's room on the node and these GPUs."""
        self.cpu[node] -= pod.cpu
        self.memory[node] -= pod.memory
        for gpu in gpus:
            self.shares[node, gpu] -= pod.share
        self.step += 1
        self.changed[node] = self.step
        if self.cpu[node] < 0 or self.memory[node] < 0 or self.shares[node].min() < 0:
            raise AssertionError(f"{self.nodes[node].name} holds more than it has")
