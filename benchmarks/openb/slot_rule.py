"""vplacer's policy on the trace: slots from a packing of the mix, then one pod at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from benchmarks.openb.cluster import Cluster, Ints
from benchmarks.openb.rules import Choice
from benchmarks.openb.trace import FULL, Node, Pod
from vplacer.solver.arrivals.policy import Ways, carry_out, decide
from vplacer.solver.arrivals.slots import Slot, SlotBook
from vplacer.solver.mix.pack import Packing
from vplacer.solver.mix.shape import Bin, Demand, Shape

VALUE_WITHOUT_GPU = 100
"""What a pod without a GPU is worth, in milli shares: the solver's least weight."""

CPU, MEMORY, FIRST_GPU = 0, 1, 2
"""Resources of a node, in the order of a place's amounts."""


def bins(nodes: Sequence[Node]) -> list[Bin]:
    """Return the nodes as bins."""
    return [Bin(node.model, node.cpu, node.memory, node.gpus) for node in nodes]


def demands(pods: Sequence[Pod]) -> tuple[list[Pod], list[Demand]]:
    """Return the kinds of pod, in order, and how many of each are asked for."""
    count = Counter(pods)
    kinds = sorted(count)
    return kinds, [
        Demand(
            Shape(pod.cpu, pod.memory, pod.gpus, pod.share),
            count[pod],
            pod.shares or VALUE_WITHOUT_GPU,
            frozenset(pod.models) or None,
        )
        for pod in kinds
    ]


class SlotRule:
    """Places by slots that a packing keeps; the cluster's nodes are those of the packing, in its order."""

    def __init__(self, cluster: Cluster, packing: Packing, kinds: Sequence[Pod]) -> None:
        self.cluster = cluster
        self._names = {pod: str(number) for number, pod in enumerate(kinds)}
        self._gpus = cluster.shares.shape[1]
        seats = [(place, seat) for place, held in enumerate(packing.seats) for seat in held]
        self.book = SlotBook(
            np.column_stack([cluster.cpu, cluster.memory, cluster.shares]),
            [
                Slot(
                    number,
                    str(seat.demand),
                    place,
                    self._takes(kinds[seat.demand], seat.devices),
                    kinds[seat.demand].shares or VALUE_WITHOUT_GPU,
                )
                for number, (place, seat) in enumerate(seats)
            ],
        )

    def choose(self, pod: Pod) -> Choice | None:
        """Return where the policy puts the pod."""
        decision = decide(self.book, self._names[pod], lambda: self._ways(pod))
        if decision is None:
            return None
        carry_out(self.book, decision)
        taken = decision.takes[FIRST_GPU:]
        return decision.place, [gpu for gpu, share in enumerate(taken) if share]

    def _takes(self, pod: Pod, gpus: Sequence[int]) -> tuple[int, ...]:
        shares = [pod.share if gpu in gpus else 0 for gpu in range(self._gpus)]
        return (pod.cpu, pod.memory, *shares)

    def _ways(self, pod: Pod) -> Ways:
        """Return every node and GPU for the pod; several whole GPUs: those of which slots hold least."""
        cluster = self.cluster
        nodes = np.nonzero(cluster.fits(pod, np.arange(len(cluster.nodes))))[0]
        if pod.gpus == 0:
            # A node whose GPUs are taken is the better one.
            return self._of(pod, nodes, cluster.shares[nodes].sum(axis=1))
        if pod.gpus == 1:
            rows, gpus = np.nonzero(cluster.shares[nodes] >= pod.share)
            nodes = nodes[rows]
            ways = self._of(pod, nodes, cluster.shares[nodes, gpus])
            ways.takes[np.arange(len(nodes)), FIRST_GPU + gpus] = pod.share
            return ways
        held = np.where(cluster.shares[nodes] == FULL, self.book.kept[nodes, FIRST_GPU:], FULL + 1)
        least = np.argsort(held, axis=1, kind="stable")[:, : pod.gpus]
        ways = self._of(pod, nodes, np.zeros(len(nodes), dtype=np.int64))
        np.put_along_axis(ways.takes, FIRST_GPU + least, FULL, axis=1)
        return ways

    def _of(self, pod: Pod, nodes: Ints, shares_left: Ints) -> Ways:
        """Return ways that take no GPU yet; least waste: fewest shares left there, then fewest cores."""
        takes = np.zeros((len(nodes), FIRST_GPU + self._gpus), dtype=np.int64)
        takes[:, CPU], takes[:, MEMORY] = pod.cpu, pod.memory
        most = int(self.cluster.cpu.max()) + 1
        return Ways(nodes, takes, shares_left * most + self.cluster.cpu[nodes])
