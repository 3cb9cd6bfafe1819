"""Properties of relations: symmetric, nested, and spoken in nvidia-smi's words."""

from __future__ import annotations

import re
from itertools import combinations, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.topology.hosts import make_host, make_overlay
from vplacer.topology.build import build_host_topology
from vplacer.topology.levels import LEVELS, Level, NumaRelation, PciePath, Relation

ALL = [Relation(p, n, v) for p, n, v in product(PciePath, NumaRelation, (None, 0, 4))]
NESTED = (Level.SWITCH, Level.ROOT, Level.NUMA, Level.SOCKET, Level.ANY)
WORD_RE = re.compile(r"X|NV\d+|PIX|PXB|PHB|NODE|SYS|\?")


def check_nested(relation: Relation) -> None:
    """What satisfies a level satisfies every wider one, and what is known to fail one fails the nearer."""
    for near, far in combinations(NESTED, 2):
        if relation.satisfies(near) is True:
            assert relation.satisfies(far) is True, (relation, near, far)
        if relation.satisfies(far) is False:
            assert relation.satisfies(near) is False, (relation, near, far)


@pytest.mark.parametrize("relation", ALL, ids=str)
def test_every_relation_is_nested_and_has_a_word(relation: Relation) -> None:
    check_nested(relation)
    assert WORD_RE.fullmatch(relation.word())
    assert relation.satisfies(Level.ANY) is True
    assert relation.satisfies(relation.nearest) is True


@pytest.mark.parametrize("relation", ALL, ids=str)
def test_unknown_is_never_near(relation: Relation) -> None:
    if relation.pcie is PciePath.UNKNOWN and relation.numa is NumaRelation.UNKNOWN:
        assert [relation.satisfies(level) for level in NESTED[:-1]] == [None] * 4
        assert relation.word() == ("NV4" if relation.nvlink else "?")
    if relation.nvlink is None and relation.pcie is not PciePath.SELF:
        assert relation.satisfies(Level.NVLINK) is None


def test_levels_are_ordered_from_near_to_far() -> None:
    assert [level.rank for level in LEVELS] == [0, 1, 2, 3, 4, 5]
    assert Level.SWITCH.rank < Level.NUMA.rank
    assert Level("socket") is Level.SOCKET


@pytest.mark.parametrize(
    ("relation", "word"),
    [
        (Relation(PciePath.NONE, NumaRelation.SAME_NODE, 0), "NODE"),
        (Relation(PciePath.NONE, NumaRelation.SAME_SOCKET, 0), "SYS"),
        (Relation(PciePath.NONE, NumaRelation.OTHER_SOCKET, 0), "SYS"),
        (Relation(PciePath.NONE, NumaRelation.UNKNOWN, 0), "?"),
        (Relation(PciePath.UNKNOWN, NumaRelation.SAME_NODE, 0), "?"),
        (Relation(PciePath.UNKNOWN, NumaRelation.OTHER_SOCKET, 0), "SYS"),
        (Relation(PciePath.PIX, NumaRelation.UNKNOWN, 0), "PIX"),
        (Relation(PciePath.PIX, NumaRelation.SAME_NODE, 12), "NV12"),
        (Relation(PciePath.SELF, NumaRelation.SAME_NODE, 0), "X"),
    ],
)
def test_words(relation: Relation, word: str) -> None:
    assert relation.word() == word


@st.composite
def hosts(draw: st.DrawFn) -> dict[str, object]:
    """A host of some root ports, switches, and cards, some of them in node lists, some not."""
    lines: list[str] = []
    cards: list[str] = []
    bus = 0x10
    for _ in range(draw(st.integers(1, 4))):
        root_bus = draw(st.sampled_from([0x00, 0x01]))
        parent = f"{root_bus:02x}:{len(lines) % 31 + 1:02x}.0"
        lines.append(f"{parent} bridge")
        for depth in range(draw(st.integers(0, 2))):
            upstream, downstream = f"{bus:02x}:00.0", f"{bus + 1:02x}:{depth:02x}.0"
            lines += [f"{upstream} bridge < {parent}", f"{downstream} bridge < {upstream}"]
            parent, bus = downstream, bus + 2
        for _ in range(draw(st.integers(1, 2))):
            kind = draw(st.sampled_from(["A30", "L40S", "H100-SXM", "nic", "nvswitch"]))
            told = draw(st.booleans())
            cards.append(f"{bus:02x}:00.0")
            lines.append(f"{bus:02x}:00.0 {kind}" + (f" < {parent}" if told else ""))
            bus += 1
    nodes = [
        {
            "id": node,
            "package": draw(st.sampled_from([None, 0, 1])),
            "cores": draw(st.sampled_from([0, 8])),
            "devices": [card for card in cards if draw(st.integers(0, 2)) == node],
        }
        for node in range(draw(st.integers(0, 3)))
    ]
    return {"nodes": nodes, "pci": lines}


@given(hosts(), st.data())
def test_relations_of_any_host(spec: dict[str, object], data: st.DataObject) -> None:
    host = make_host(spec)
    gpus = [d.address for d in build_host_topology(host).gpus]
    pairs = list(combinations(gpus, 2))
    links = [
        f"{a} {b} {lanes}"
        for a, b in pairs
        if (lanes := data.draw(st.sampled_from([None, 0, 4]))) is not None
    ]
    topology = build_host_topology(host, [make_overlay({"links": links}, host)])
    assert not [text for text in topology.mismatches if "refused" in text]
    for one, other in product(topology.devices, repeat=2):
        relation = topology.relation(one.address, other.address)
        assert relation == topology.relation(other.address, one.address)
        assert (relation.word() == "X") == (one.address == other.address)
        check_nested(relation)
        if one.address != other.address and (one.node is None or other.node is None):
            assert relation.numa is NumaRelation.UNKNOWN
    for group in topology.nvlink_groups:
        assert all((topology.lanes(a, b) or 0) > 0 for a, b in combinations(group, 2))
    for device in topology.devices:
        for node in device.cpu_nodes:
            found = topology.node(node)
            assert found is not None
            assert found.core_count > 0
