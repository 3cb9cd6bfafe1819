from __future__ import annotations

import random
from itertools import pairwise, product

from hypothesis import given
from hypothesis import strategies as st

from vplacer.constraints.packing import Divisible, Fit, Item, fits
from vplacer.constraints.supply import Amount, total

amounts = st.builds(Amount, st.integers(0, 6), st.integers(0, 6)).map(
    lambda a: Amount(a.millicores * 1000, a.memory_mib * 1024)
)
uneven = st.builds(Amount, st.integers(0, 6000), st.integers(0, 6000))


@st.composite
def hosts(draw: st.DrawFn) -> tuple[tuple[Amount, ...], tuple[Item, ...], tuple[Divisible, ...]]:
    count = draw(st.integers(1, 3))
    any_amount = draw(st.sampled_from([amounts, uneven]))
    rooms = st.builds(Amount, st.integers(-2000, 12000), st.integers(-2000, 12000))
    allowed = st.lists(st.integers(0, count - 1), max_size=2, unique=True).map(tuple)
    nodes = draw(st.lists(rooms, min_size=count, max_size=count))
    items = draw(st.lists(st.tuples(any_amount, st.integers(1, 2), allowed), max_size=3))
    divisible = draw(st.lists(st.tuples(any_amount, allowed), max_size=2))
    return tuple(nodes), tuple(items), tuple(divisible)


def brute(nodes: tuple[Amount, ...], items: tuple[Item, ...], divisible: tuple[Divisible, ...]) -> bool:
    """Try every assignment of parts; for the rest, flow in units that are small enough to be exact."""
    parts = [(amount, allowed) for amount, times, allowed in items for _ in range(times)]
    room = [Amount(max(0, node.millicores), max(0, node.memory_mib)) for node in nodes]
    for seats in product(*(allowed or tuple(range(len(nodes))) for _, allowed in parts)):
        left = list(room)
        for (amount, _), seat in zip(parts, seats, strict=True):
            left[seat] = left[seat] - amount
        if any(node.millicores < 0 or node.memory_mib < 0 for node in left):
            continue
        if _flows([n.millicores for n in left], [(a.millicores, w) for a, w in divisible]) and _flows(
            [n.memory_mib for n in left], [(a.memory_mib, w) for a, w in divisible]
        ):
            return True
    return False


def _flows(room: list[int], needs: list[tuple[int, tuple[int, ...]]]) -> bool:
    """Whether needs can be spread over their nodes: augmenting paths from needs to nodes."""
    sent = [[0] * len(room) for _ in needs]

    def reach(need: int) -> list[tuple[int, int]] | None:
        """A path need -> node (-> need -> node ...) that ends at a node with room."""
        paths: list[list[tuple[int, int]]] = [[]]
        ends = [need]
        seen = {need}
        while ends:
            current, path = ends.pop(), paths.pop()
            for node in needs[current][1] or tuple(range(len(room))):
                step = [*path, (current, node)]
                if sum(row[node] for row in sent) < room[node]:
                    return step
                for other, row in enumerate(sent):
                    if row[node] > 0 and other not in seen:
                        seen.add(other)
                        ends.append(other)
                        paths.append(step)
        return None

    for index, (amount, _) in enumerate(needs):
        missing = amount
        while missing > 0:
            path = reach(index)
            if path is None:
                return False
            end = path[-1][1]
            most = min(missing, room[end] - sum(row[end] for row in sent))
            for (_, node), (other, _) in pairwise(path):
                most = min(most, sent[other][node])
            for place, (current, node) in enumerate(path):
                sent[current][node] += most
                if place + 1 < len(path):
                    sent[path[place + 1][0]][node] -= most
            missing -= most
    return True


@given(hosts())
def test_agrees_with_brute_force(
    host: tuple[tuple[Amount, ...], tuple[Item, ...], tuple[Divisible, ...]],
) -> None:
    nodes, items, divisible = host
    assert fits(nodes, items, divisible) is (Fit.YES if brute(nodes, items, divisible) else Fit.NO)


@given(hosts(), st.integers(1, 3))
def test_a_bounded_search_never_says_what_is_not_so(
    host: tuple[tuple[Amount, ...], tuple[Item, ...], tuple[Divisible, ...]], limit: int
) -> None:
    exact, bounded = fits(*host), fits(*host, limit)
    assert bounded in (exact, Fit.UNDECIDED)


def test_the_work_is_bounded() -> None:
    # Four full nodes cut into odd pieces: they fit, and best fit first does not find how at once.
    draw = random.Random(61)
    items: list[Item] = []
    for _ in range(4):
        cores = memory = 40
        while cores >= 5 and memory >= 5:
            a, b = draw.randint(5, min(17, cores)), draw.randint(5, min(17, memory))
            items.append((Amount(a * 1000, b * 1000), 1, ()))
            cores, memory = cores - a, memory - b
    nodes = (Amount(40_000, 40_000),) * 4
    assert fits(nodes, tuple(items), (), 20) is Fit.UNDECIDED
    assert fits(nodes, tuple(items)) is Fit.YES


def test_three_of_14_and_one_of_20_on_two_nodes_of_32() -> None:
    nodes = (Amount(32_000, 10**6), Amount(32_000, 10**6))
    floating: Item = (Amount(14_000, 64 * 1024), 3, ())
    assert fits(nodes, (floating,)) is Fit.YES
    assert fits(nodes, (floating, (Amount(20_000, 64 * 1024), 1, ()))) is Fit.NO
    assert fits((nodes[0] - Amount(18_000, 1024), nodes[1]), (floating,)) is Fit.YES
    assert fits((nodes[0] - Amount(20_000, 1024), nodes[1]), (floating,)) is Fit.NO


@given(st.lists(uneven, max_size=5), uneven, uneven)
def test_amounts_add_up(many: list[Amount], one: Amount, other: Amount) -> None:
    assert total([*many, one]) == total(many) + one
    assert (one + other) - other == one
    assert one.fits(one + other)


@given(uneven, st.integers(1, 4000))
def test_nothing_fits_a_negative_residual_but_nothing(amount: Amount, debt: int) -> None:
    room = Amount(-debt, 10_000)
    assert amount.fits(room) == (amount.millicores == 0)
    assert Amount(0, 0).fits(Amount(-debt, -debt))
