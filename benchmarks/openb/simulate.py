"""Lets the pods of a trace arrive one by one, and tells what of the GPUs is allocated."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.openb.cluster import Cluster
from benchmarks.openb.rules import Rule
from benchmarks.openb.trace import FULL, Pod


@dataclass(frozen=True)
class Outcome:
    """What a run came to: per cent of the GPUs allocated when pods asking for 100 % of them have arrived, and
    when all have.

    ``unallocated_gpus`` and ``failed`` at 100 %; failed pods by size: GPUs, or "fraction", or "none".
    """

    at_100: float
    at_end: float
    unallocated_gpus: float
    failed: dict[str, int]
    pods: int


def run(cluster: Cluster, rule: Rule, pods: Sequence[Pod]) -> Outcome:
    """Place the pods in their order; one that does not fit has failed for good."""
    capacity = FULL * sum(node.gpus for node in cluster.nodes)
    arrived = allocated = 0
    at_100: int | None = None
    failed: Counter[str] = Counter()
    for pod in pods:
        chosen = rule.choose(pod)
        if chosen is None:
            if at_100 is None:
                failed[size(pod)] += 1
        else:
            cluster.place(pod, *chosen)
            allocated += pod.shares
        arrived += pod.shares
        if at_100 is None and arrived >= capacity:
            at_100 = allocated
    reached = allocated if at_100 is None else at_100
    return Outcome(
        at_100=100 * reached / capacity,
        at_end=100 * allocated / capacity,
        unallocated_gpus=(capacity - reached) / FULL,
        failed=dict(sorted(failed.items())),
        pods=len(pods),
    )


def size(pod: Pod) -> str:
    """Name the size of a pod by its GPUs."""
    if not pod.gpus:
        return "none"
    return "fraction" if pod.share < FULL else str(pod.gpus)
