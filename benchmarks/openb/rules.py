"""The published rules, by their descriptions: first fit, Random, BestFit and FGD.

Each returns the node and the GPUs for a pod, or None. Equal whole-number scores go to the first node, as in
the simulator's changed ``selectHost``. A score depends on its node alone, so that it is counted again only
where something has changed since.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import Counter
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from benchmarks.openb.cluster import Cluster, Ints
from benchmarks.openb.trace import FULL, Pod, Trace

Choice = tuple[int, list[int]]
NOT_HERE = -1
CPU_SCALE, GPU_SCALE = 128_000, 8_000
"""The largest node, by which BestFit divides."""
POPULAR = 0.95
"""The part of the pods that FGD's typical pods make up."""


class Rule(Protocol):
    """Chooses where an arriving pod goes."""

    def choose(self, pod: Pod) -> Choice | None:
        """Return the node and its GPUs, or None if it fits nowhere."""


@dataclass
class FirstFit:
    """The first node, and its first GPU, with room."""

    cluster: Cluster

    def choose(self, pod: Pod) -> Choice | None:
        """Return the first node that fits."""
        every = np.arange(len(self.cluster.nodes))
        fits = self.cluster.fits(pod, every)
        node = int(np.argmax(fits))
        return (node, self.cluster.free_gpus(pod, node)[: pod.gpus]) if fits[node] else None


@dataclass
class Random:
    """Any node with room, and any GPU with the share; several whole GPUs: the first ones."""

    cluster: Cluster
    random: np.random.Generator

    def choose(self, pod: Pod) -> Choice | None:
        """Return one of the nodes that fit."""
        fitting = np.nonzero(self.cluster.fits(pod, np.arange(len(self.cluster.nodes))))[0]
        if not len(fitting):
            return None
        node = int(self.random.choice(fitting))
        free = self.cluster.free_gpus(pod, node)
        if pod.gpus and pod.share < FULL:
            return node, [int(self.random.choice(free))]
        return node, free[: pod.gpus]


@dataclass
class _Scores:
    """Score and GPU (first of several) of every node for one kind of pod, as of a step."""

    score: Ints
    gpu: Ints
    step: int = NOT_HERE


class Scored(ABC):
    """A rule that takes the node of the highest score."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self._scores: dict[Pod, _Scores] = {}

    def choose(self, pod: Pod) -> Choice | None:
        """Return the first node of the highest score."""
        size = len(self.cluster.nodes)
        scores = self._scores.get(pod)
        if scores is None:
            scores = _Scores(np.full(size, NOT_HERE), np.zeros(size, dtype=np.int64))
            self._scores[pod] = scores
        stale = np.nonzero(self.cluster.changed > scores.step)[0]
        scores.step = self.cluster.step
        scores.score[stale] = NOT_HERE
        fitting = stale[self.cluster.fits(pod, stale)]
        if len(fitting):
            scores.score[fitting], scores.gpu[fitting] = self.score(pod, fitting)
        node = int(np.argmax(scores.score))
        if scores.score[node] == NOT_HERE:
            return None
        if pod.gpus and pod.share < FULL:
            return node, [int(scores.gpu[node])]
        return node, self.cluster.free_gpus(pod, node)[: pod.gpus]

    @abstractmethod
    def score(self, pod: Pod, at: Ints) -> tuple[Ints, Ints]:
        """Return the score of each of these nodes, all of which fit, and the GPU for a fraction."""


class BestFit(Scored):
    """Least left of processor and GPU, by halves, as parts of the largest node; the fullest GPU that fits."""

    def score(self, pod: Pod, at: Ints) -> tuple[Ints, Ints]:
        """Return the whole per cent of what is not left."""
        cpu = (self.cluster.cpu[at] - pod.cpu) / CPU_SCALE
        gpu = (self.cluster.shares[at].sum(axis=1) - pod.shares) / GPU_SCALE
        shares = self.cluster.shares[at]
        fullest = np.where(shares >= pod.share, shares, FULL + 1).argmin(axis=1)
        return ((1 - (cpu + gpu) / 2) * 100).astype(np.int64), fullest


class FragmentationGradient(Scored):
    """FGD: the least growth of what typical pods could not use (paper, section 4)."""

    def __init__(self, cluster: Cluster, trace: Trace) -> None:
        super().__init__(cluster)
        self._typical = typical_pods(trace)
        self._parts = np.array([part for _, part in self._typical])
        self._cpus = np.array([pod.cpu for pod, _ in self._typical])
        self._counts = np.array([pod.gpus for pod, _ in self._typical])
        self._shares, self._share_of = np.unique(
            np.array([pod.share for pod, _ in self._typical]), return_inverse=True
        )
        self._runs = np.array([cluster.runs(pod) & (pod.gpus > 0) for pod, _ in self._typical]).T

    def score(self, pod: Pod, at: Ints) -> tuple[Ints, Ints]:
        """Return the sigmoid, in per cent, of what the placement saves, and the GPU that saves most."""
        shares, cpu = self.cluster.shares[at], self.cluster.cpu[at]
        before = self._fragments(at, cpu, shares)
        if not pod.gpus or pod.share == FULL:
            after = shares.copy()
            if pod.gpus:
                free = shares == FULL
                after[free & (free.cumsum(axis=1) <= pod.gpus)] = 0
            saved = before - self._fragments(at, cpu - pod.cpu, after)
            return _per_cent(saved), np.zeros(len(at), dtype=np.int64)
        rows, gpus = np.nonzero(shares >= pod.share)
        after = shares[rows]
        after[np.arange(len(rows)), gpus] -= pod.share
        saved = before[rows] - self._fragments(at[rows], cpu[rows] - pod.cpu, after)
        table = np.full(shares.shape, NOT_HERE)
        table[rows, gpus] = _per_cent(saved)
        best = table.argmax(axis=1)
        return table[np.arange(len(at)), best], best

    def _fragments(self, at: Ints, cpu: Ints, shares: Ints) -> NDArray[np.float64]:
        """Return the idle share that the typical pods cannot use, of nodes in these states, milli."""
        enough = shares[:, :, None] >= self._shares
        count = enough.sum(axis=1)[:, self._share_of]
        usable = (shares[:, :, None] * enough).sum(axis=1)[:, self._share_of]
        runs = self._runs[at] & (cpu[:, None] >= self._cpus) & (count >= self._counts)
        fragments: NDArray[np.float64] = shares.sum(axis=1) - (usable * runs) @ self._parts
        return fragments


def _per_cent(saved: NDArray[np.float64]) -> Ints:
    scores: Ints = (100 / (1 + np.exp(-saved / FULL))).astype(np.int64)
    return scores


def typical_pods(trace: Trace) -> list[tuple[Pod, float]]:
    """Return the most frequent kinds of pod that make up 95 % of the trace, with their parts of one.

    Memory does not tell kinds apart. Kinds alike in number: the larger one first.
    """
    count = Counter(Pod(pod.cpu, 0, pod.gpus, pod.share, pod.models) for pod in trace.pods)
    ordered = sorted(
        count.items(),
        key=lambda item: (item[1], item[0].cpu, item[0].share, item[0].gpus, item[0].models),
        reverse=True,
    )
    kept: list[tuple[Pod, int]] = []
    covered = 0
    for pod, number in ordered:
        if covered >= math.ceil(POPULAR * len(trace.pods)):
            break
        kept.append((pod, number))
        covered += number
    return [(pod, number / covered) for pod, number in kept]
