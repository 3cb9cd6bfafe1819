"""Packings of random small instances: they fit, come close to the best there is, and keep below the bound."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from ortools.sat.python import cp_model

from vplacer.solver.mix.device_bound import device_bound
from vplacer.solver.mix.pack import Packing, pack
from vplacer.solver.mix.scale import filling
from vplacer.solver.mix.shape import FULL, Bin, Demand, Shape

NEAR = 0.9
"""The part of the best value that a packing reaches at least; the grid and the rounding cost something."""


def _instance(seed: int) -> tuple[list[Bin], list[Demand]]:
    chosen = random.Random(seed)
    bins = [
        Bin(
            chosen.choice("ab"),
            chosen.choice((16, 32)),
            chosen.choice((64, 100)),
            chosen.choice((0, 1, 2, 4)),
        )
        for _ in range(chosen.randint(2, 4))
    ]
    demands = []
    for _ in range(chosen.randint(2, 5)):
        devices = chosen.choice((0, 1, 1, 1, 2))
        share = 0 if not devices else FULL if devices > 1 else chosen.choice((250, 330, 500, 600, FULL))
        shape = Shape(chosen.randint(1, 12), chosen.randint(1, 40), devices, share)
        kinds = chosen.choice((None, None, frozenset("a"), frozenset("b")))
        demands.append(Demand(shape, chosen.randint(1, 6), shape.shares or 100, kinds))
    return bins, demands


def _check(bins: list[Bin], demands: list[Demand], packing: Packing) -> None:
    placed: Counter[int] = Counter()
    for item, seats in zip(bins, packing.seats, strict=True):
        shapes = [demands[seat.demand].shape for seat in seats]
        assert sum(shape.cores for shape in shapes) <= item.cores
        assert sum(shape.memory for shape in shapes) <= item.memory
        used: Counter[int] = Counter()
        for seat, shape in zip(seats, shapes, strict=True):
            assert len(set(seat.devices)) == shape.devices
            assert demands[seat.demand].goes_into(item.kind)
            placed[seat.demand] += 1
            for device in seat.devices:
                used[device] += shape.share
        assert all(0 <= device < item.devices and share <= FULL for device, share in used.items())
    assert packing.placed == tuple(placed[index] for index in range(len(demands)))
    assert all(number <= demand.wanted for number, demand in zip(packing.placed, demands, strict=True))
    assert packing.value == sum(n * d.value for n, d in zip(packing.placed, demands, strict=True))


def _best(bins: list[Bin], demands: list[Demand]) -> int:
    """The best value there is, by one exact model."""
    model = cp_model.CpModel()
    value = []
    counts = {}
    for i, demand in enumerate(demands):
        for b, item in enumerate(bins):
            most = demand.wanted if demand.goes_into(item.kind) else 0
            counts[i, b] = model.new_int_var(0, most, "")
            value.append(demand.value * counts[i, b])
        model.add(sum(counts[i, b] for b in range(len(bins))) <= demand.wanted)
    for b, item in enumerate(bins):
        model.add(sum(d.shape.cores * counts[i, b] for i, d in enumerate(demands)) <= item.cores)
        model.add(sum(d.shape.memory * counts[i, b] for i, d in enumerate(demands)) <= item.memory)
        on = {
            (i, g): model.new_int_var(0, d.wanted, "")
            for i, d in enumerate(demands)
            for g in range(item.devices)
        }
        for i, demand in enumerate(demands):
            if demand.shape.devices:
                total = sum(on[i, g] for g in range(item.devices))
                model.add(total == demand.shape.devices * counts[i, b])
        for g in range(item.devices):
            model.add(sum(d.shape.share * on[i, g] for i, d in enumerate(demands)) <= FULL)
    model.maximize(sum(value))
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    assert solver.solve(model) == cp_model.OPTIMAL
    return round(solver.objective_value)


@pytest.mark.parametrize("seed", range(60))
def test_a_packing_fits_and_is_nearly_the_best(seed: int) -> None:
    bins, demands = _instance(seed)
    packing = pack(bins, demands)
    _check(bins, demands, packing)
    best = _best(bins, demands)
    assert NEAR * best <= packing.value <= best
    shares = sum(n * d.shape.shares for n, d in zip(packing.placed, demands, strict=True))
    assert shares <= device_bound(bins, demands)
    assert pack(bins, demands) == packing


def test_the_bound_sees_that_large_fractions_do_not_pair() -> None:
    bins = [Bin("", 100, 100, 4)]
    demands = [Demand(Shape(1, 1, 1, 600), 10, 600)]
    assert device_bound(bins, demands) == 4 * 600
    assert device_bound(bins, [*demands, Demand(Shape(1, 1, 1, 400), 3, 400)]) == 4 * 600 + 3 * 400


def test_the_bound_knows_which_devices_will_do() -> None:
    bins = [Bin("a", 1, 1, 1), Bin("b", 1, 1, 3)]
    assert device_bound(bins, [Demand(Shape(9, 9, 1, FULL), 5, 1000, frozenset("b"))]) == 3 * FULL


@pytest.mark.parametrize(
    ("shape", "wanted"),
    [
        (Shape(4, 1), 25),  # 100 cores
        (Shape(1, 20), 50),  # 1000 of memory
        (Shape(1, 1, 2, FULL), 4),  # 8 devices
        (Shape(200, 1), 1),  # nothing fits, and yet it is part of the mix
    ],
)
def test_a_mix_is_scaled_to_what_is_scarcest(shape: Shape, wanted: int) -> None:
    bins = [Bin("", 60, 600, 4), Bin("", 40, 400, 4)]
    assert [demand.wanted for demand in filling(bins, [Demand(shape, 7, 1)])] == [wanted]


@pytest.mark.parametrize(
    "wrong", [(1, 1, 2, 500), (1, 1, 0, 500), (1, 1, 1, 0), (-1, 1), (1, 1, 1, FULL + 1)]
)
def test_what_is_no_shape_is_refused(wrong: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"not a shape|neither a part"):
        Shape(*wrong)
