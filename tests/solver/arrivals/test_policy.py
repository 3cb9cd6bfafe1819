"""Where an arrival goes, by cases; and that a book stays true whatever arrives."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from vplacer.solver.arrivals.policy import Ways, carry_out, cheapest, decide
from vplacer.solver.arrivals.slots import Slot, SlotBook

CASES = yaml.safe_load((Path(__file__).parent / "cases" / "policy.yaml").read_text(encoding="utf-8"))


def _book(case: dict[str, Any]) -> tuple[SlotBook, list[str]]:
    names = list(case["free"])
    slots = [
        Slot(number, slot["shape"], names.index(slot["place"]), tuple(slot["takes"]), slot["value"])
        for number, slot in enumerate(case["slots"])
    ]
    return SlotBook(list(case["free"].values()), slots), names


def _ways(ways: list[dict[str, Any]], names: list[str], width: int) -> Ways:
    return Ways(
        np.array([names.index(way["place"]) for way in ways], dtype=np.int64),
        np.array([way["takes"] for way in ways], dtype=np.int64).reshape(len(ways), width),
        np.array([way.get("waste", 0) for way in ways], dtype=np.int64),
    )


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_where_an_arrival_goes(case: dict[str, Any]) -> None:
    book, names = _book(case)
    arrival, goes = case["arrival"], case["goes"]
    decision = decide(book, arrival["shape"], lambda: _ways(arrival["ways"], names, book.free.shape[1]))
    if goes is None:
        assert decision is None
        return
    assert decision is not None
    assert (names[decision.place], list(decision.takes)) == (goes["place"], goes["takes"])
    assert (decision.slot.number if decision.slot else None) == goes.get("slot")
    assert sorted(slot.number for slot in decision.destroyed) == goes.get("destroyed", [])
    before = sum(len(book.at(place)) for place in range(len(names)))
    carry_out(book, decision)
    gone = len(decision.destroyed) + (decision.slot is not None)
    assert sum(len(book.at(place)) for place in range(len(names))) == before - gone


def test_a_book_of_slots_that_do_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="do not fit"):
        SlotBook([[3, 3]], [Slot(0, "x", 0, (2, 2), 1), Slot(1, "x", 0, (2, 1), 1)])


def _covers(slots: list[Slot], short: list[int]) -> int | None:
    """The least value of any set of slots that covers the shortage."""
    found = [
        sum(slot.value for slot in chosen)
        for mask in range(1 << len(slots))
        for chosen in [[slot for index, slot in enumerate(slots) if mask >> index & 1]]
        if all(sum(slot.takes[r] for slot in chosen) >= amount for r, amount in enumerate(short))
    ]
    return min(found, default=None)


@pytest.mark.parametrize("seed", range(150))
def test_the_cheapest_slots_are_the_cheapest(seed: int) -> None:
    chosen = random.Random(seed)
    slots = [
        Slot(n, "x", 0, (chosen.randint(0, 3), chosen.randint(0, 3)), chosen.randint(1, 9))
        for n in range(chosen.randint(1, 5))
    ]
    short = [chosen.randint(-1, 4), chosen.randint(-1, 4)]
    found = cheapest(slots, short)
    assert (None if found is None else sum(slot.value for slot in found)) == _covers(slots, short)


def test_arrivals_never_use_more_than_there_is() -> None:
    chosen = random.Random(5)
    shapes = {name: (chosen.randint(1, 3), chosen.randint(1, 3)) for name in "pqrs"}
    slots = [
        Slot(place * 2 + n, name, place, shapes[name], sum(shapes[name]))
        for place in range(20)
        for n, name in enumerate(chosen.choices("pqrs", k=2))
    ]
    book = SlotBook([[8, 8]] * 20, slots)
    used = np.zeros((20, 2), dtype=np.int64)
    refused = 0
    for name in chosen.choices("pqrs", k=150):
        ways = Ways(np.arange(20), np.array([shapes[name]] * 20), np.zeros(20, dtype=np.int64))
        decision = decide(book, name, lambda ways=ways: ways)
        if decision is None:
            refused += 1
            assert not (used + shapes[name] <= 8).all(axis=1).any()
            continue
        used[decision.place] += decision.takes
        carry_out(book, decision)
        assert (book.free == 8 - used).all()
        assert (book.kept <= book.free).all()
    assert refused
    assert (used <= 8).all()
