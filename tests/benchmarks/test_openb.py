"""The published rules built anew, on hand-made nodes and on the public trace."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks.openb.cluster import Cluster
from benchmarks.openb.rules import BestFit, FragmentationGradient, typical_pods
from benchmarks.openb.simulate import run
from benchmarks.openb.slot_rule import bins, demands
from benchmarks.openb.trace import FULL, Node, Pod, Trace, in_profiles, named_anew, published, read
from vplacer.solver.mix.device_bound import device_bound

WHOLE, HALF = Pod(4, 4, 1, FULL), Pod(4, 4, 1, 500)


def _trace(nodes: list[Node], pods: list[Pod]) -> Trace:
    return Trace("made up", tuple(nodes), tuple(pods))


def test_fgd_fills_a_gpu_that_is_broken_already() -> None:
    nodes = [Node("a", 32, 32, 2, "T4"), Node("b", 32, 32, 2, "T4")]
    cluster = Cluster(nodes)
    rule = FragmentationGradient(cluster, _trace(nodes, [WHOLE, WHOLE, HALF]))
    cluster.place(HALF, 1, [1])
    assert rule.choose(HALF) == (1, [1])


def test_fgd_counts_what_a_node_short_of_cores_cannot_use() -> None:
    nodes = [Node("a", 4, 32, 1, "T4"), Node("b", 8, 32, 1, "T4")]
    cluster = Cluster(nodes)
    rule = FragmentationGradient(cluster, _trace(nodes, [WHOLE]))
    # On b a whole GPU stays usable beside the pod; a would lose its cores, and with them its GPU.
    assert rule.choose(Pod(4, 4, 0, 0)) == (1, [])


def test_best_fit_takes_the_fullest() -> None:
    cluster = Cluster([Node("a", 96_000, 99, 8, "T4"), Node("b", 96_000, 99, 2, "T4")])
    assert BestFit(cluster).choose(WHOLE) == (1, [0])


def test_a_pod_goes_only_where_its_model_is() -> None:
    cluster = Cluster([Node("a", 32, 32, 2, "T4"), Node("b", 32, 32, 2, "P100")])
    assert BestFit(cluster).choose(Pod(4, 4, 1, FULL, ("P100",))) == (1, [0])
    assert BestFit(cluster).choose(Pod(4, 4, 1, FULL, ("A10",))) is None


def test_typical_pods_make_up_95_per_cent() -> None:
    pods = [WHOLE] * 60 + [HALF] * 36 + [Pod(1, 1, 0, 0)] * 4
    assert typical_pods(_trace([], pods)) == [(Pod(4, 0, 1, FULL), 60 / 96), (Pod(4, 0, 1, 500), 36 / 96)]


def test_shares_are_rounded_up_to_profiles() -> None:
    pods = [Pod(1, 1, 1, share) for share in (10, 125, 126, 500, 501, FULL)] + [Pod(1, 1, 0, 0)]
    rounded = [pod.share for pod in in_profiles(_trace([], pods)).pods]
    assert rounded == [125, 125, 250, 500, FULL, FULL, 0]


@pytest.fixture(scope="module")
def default(test_data: Path) -> Trace:
    return read(test_data / "openb", "default")


def test_the_trace_is_as_described(default: Trace) -> None:
    assert (len(default.nodes), default.capacity, len(default.pods)) == (1213, 6_212_000, 8152)


def test_the_bound_of_the_whole_trace(default: Trace) -> None:
    most = device_bound(bins(default.nodes), demands(default.pods)[1])
    assert round(100 * most / default.capacity, 2) == 96.58


def test_fgd_comes_to_what_is_published(default: Trace) -> None:
    cluster = Cluster(named_anew(default, 42))
    outcome = run(cluster, FragmentationGradient(cluster, default), published(default, 42))
    assert outcome.at_100 == pytest.approx(95.23, abs=0.6)
    assert np.isclose(outcome.unallocated_gpus, (100 - outcome.at_100) * 62.12)
