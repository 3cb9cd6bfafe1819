"""Nearness holds for every choice of cards; of each label as many are chosen as are asked of it."""

from __future__ import annotations

import pytest

from benchmarks.fleet import Variant, fleet_problem
from vplacer.request.demand import BoundBy
from vplacer.solver.host_state import HostState, untouched_state
from vplacer.solver.nearness import CellPool, nics_near
from vplacer.solver.option import AskUse
from vplacer.topology.levels import Level


@pytest.fixture(scope="module")
def state() -> HostState:
    """An empty host whose cards have labels by NUMA node."""
    problem = fleet_problem(Variant(hosts=12, shapes=13, fill=0.0))
    host = next(h for h in problem.inventory.hosts if h.name.startswith("hgx"))
    return untouched_state(problem, host.moid)


def _cells(state: HostState, *labels: str) -> tuple[int, ...]:
    return tuple(cell.index for cell in state.cells if cell.card.label in labels)


@pytest.mark.parametrize(
    ("gpus", "bound_by", "near"),
    [
        pytest.param(("gpu-n0", "gpu-n1"), BoundBy.LABEL, True, id="one of each label, one near"),
        pytest.param(("gpu-n0", "gpu-n0"), BoundBy.LABEL, True, id="both near"),
        pytest.param(("gpu-n1", "gpu-n1"), BoundBy.LABEL, False, id="both far"),
        pytest.param(("gpu-n0", "gpu-n1"), BoundBy.PLATFORM, False, id="the platform may take both far away"),
    ],
)
def test_a_nic_near_one_of_two_gpus(
    state: HostState, gpus: tuple[str, str], bound_by: BoundBy, near: bool
) -> None:
    chosen = tuple((_cells(state, label)[at], 1) for at, label in enumerate(gpus))
    gpu = AskUse("gpu", 0, "card", bound_by, cells=chosen)
    nic = AskUse("nic", 0, "card", BoundBy.LABEL, cells=((_cells(state, "nic-n0")[0], 1),))
    pools = CellPool(_cells(state, *gpus), sure=False), CellPool(_cells(state, "nic-n0"), sure=False)
    assert nics_near(Level.NUMA, nic, pools[1], [(gpu, pools[0])], state) is near


def test_gpus_are_shared_out_evenly(state: HostState) -> None:
    gpu = AskUse(
        "gpu",
        0,
        "card",
        BoundBy.LABEL,
        cells=((_cells(state, "gpu-n0")[0], 1), (_cells(state, "gpu-n1")[0], 1)),
    )
    nics = AskUse("nic", 0, "card", BoundBy.LABEL, cells=((_cells(state, "nic-n0")[0], 2),))
    of_gpus = CellPool(_cells(state, "gpu-n0", "gpu-n1"), sure=False)
    of_nics = CellPool(_cells(state, "nic-n0"), sure=False)
    assert not nics_near(Level.NUMA, nics, of_nics, [(gpu, of_gpus)], state)
