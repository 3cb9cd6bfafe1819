"""Losses of hosts against every answer: as few VMs without a place as there can be, and no fewer."""

from __future__ import annotations

from dataclasses import replace
from math import prod

import pytest
from hypothesis import HealthCheck, assume, given, settings

from tests.solver.oracle import best, choices
from tests.solver.tiny import problems
from vplacer.constraints.state import Problem
from vplacer.request.demand import RequestOptions
from vplacer.solver.levels import Level
from vplacer.solver.loss.after_loss import after_loss
from vplacer.solver.loss.aftermath import aftermath
from vplacer.solver.loss.model import Outcome
from vplacer.solver.loss.prepare import prepare

MOST_ANSWERS = 4_000


def _with_ha(problem: Problem) -> Problem:
    clusters = tuple(replace(cluster, ha_enabled=True) for cluster in problem.inventory.clusters)
    inventory = replace(problem.inventory, clusters=clusters)
    return Problem(inventory, problem.topologies, replace(problem.request, options=RequestOptions()))


def _as_few_as_can_be(problem: Problem) -> None:
    assume(len(problem.inventory.hosts) == 2)
    problem = _with_ha(problem)
    prepared = prepare(problem)
    found = after_loss(problem, lost=1)
    assert found.tried == found.possible == 2
    left_out = {vm.vm for vm in found.before.homeless}
    for loss in found.losses:
        # Hosts that are alike lose as much; who has no place is told of the first.
        homeless = {vm.vm for vm in loss.homeless if vm.restartable}
        placed: int | None = None
        for hosts in loss.alike:
            restarts, never = prepared.on(hosts)
            asked = [restart for restart in prepared.asked if restart.demand.id not in left_out]
            demands = tuple(restart.demand for restart in (*restarts, *asked))
            after = aftermath(prepared.ground.problem, hosts, demands, prepared.ground.waiting)
            assume(prod(len(choices(after, demand, {})) for demand in demands) <= MOST_ANSWERS)
            levels = tuple(
                Level(f"placed:{p}", "", "", True)
                for p in sorted({d.priority for d in demands}, reverse=True)
            )
            expected = sum(best(after, levels)[0].values())
            if placed is None:
                placed = sum(demand.weight_milli for demand in demands if demand.id not in homeless)
            assert placed == expected
            assert sum(not vm.restartable for vm in loss.homeless) == len(never)
            assert (loss.outcome is Outcome.PLACED) == (not loss.homeless)


@settings(
    max_examples=30, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much], deadline=None
)
@given(problems())
def test_as_few_without_a_place_as_can_be(problem: Problem) -> None:
    _as_few_as_can_be(problem)


@pytest.mark.long
@settings(
    max_examples=1500,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
    deadline=None,
)
@given(problems())
def test_as_few_without_a_place_as_can_be_at_length(problem: Problem) -> None:
    _as_few_as_can_be(problem)
