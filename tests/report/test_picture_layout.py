"""Whatever is in a picture: nothing sticks out of what it is in, and nothing overlaps."""

from __future__ import annotations

import random

import pytest

from vplacer.report.picture.box import Box, Line
from vplacer.report.picture.layout import Placed, place


def device(pick: random.Random) -> Box:
    return Box("gpu", tuple(Line("text", "plain") for _ in range(pick.randint(1, 5))), width=163)


def switch(pick: random.Random, depth: int) -> Box:
    inside = [
        device(pick) if depth == 0 or pick.random() < 0.5 else switch(pick, depth - 1)
        for _ in range(pick.randint(1, 4))
    ]
    return Box("switch", (Line("PCIe switch", "faint"),), tuple(inside), across=True)


def node(pick: random.Random) -> Box:
    switches = tuple(switch(pick, pick.randint(0, 3)) for _ in range(pick.randint(1, 3)))
    row = Box("row", (), switches, across=True, grow=True)
    return Box("node", (Line("pNUMA 0"),), (row,), grow=True, least=400)


def check(placed: Placed) -> None:
    areas = [(child.x, child.y, child.x + child.width, child.y + child.height) for child in placed.children]
    for index, (x, y, right, bottom) in enumerate(areas):
        assert placed.x <= x < right <= placed.x + placed.width
        assert placed.y <= y < bottom <= placed.y + placed.height
        for x2, y2, right2, bottom2 in areas[index + 1 :]:
            assert right <= x2 or right2 <= x or bottom <= y2 or bottom2 <= y
    for child in placed.children:
        check(child)


@pytest.mark.parametrize("seed", range(24))
def test_switches_in_switches_wrap_and_fit(seed: int) -> None:
    pick = random.Random(seed)
    row = Box("row", (), tuple(node(pick) for _ in range(pick.randint(1, 2))), across=True, grow=True)
    check(place(Box("page", (), (row,), grow=True), pick.choice([700, 940, 1100, 1500])))
