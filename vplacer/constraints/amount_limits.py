"""One comparison for cores and memory: what the VMs of a host take of a resource, and what there is."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from vplacer.constraints.loads import load_of, load_today, supply_of
from vplacer.constraints.state import State, Violation
from vplacer.constraints.supply import Amount


@dataclass(frozen=True, slots=True)
class Resource:
    """A part of an `Amount`: the constraint's id, the part, its name in numbers, and how to say it."""

    id: str
    part: Callable[[Amount], int]
    unit: str
    say: Callable[[int, int], str]


def over(state: State, host: str, resource: Resource) -> Iterable[Violation]:
    """Compare use and supply of a host and of each node that something is bound to.

    What was over-full before may stay so, and not get worse.
    """
    supply = supply_of(state.problem, host)
    load, before = load_of(state, host), load_today(state.problem, host)
    places = [("the host", load.whole, supply.total, before.whole)]
    places += [
        (f"node {node.id}", load.bound[node.id], node.amount, before.bound[node.id]) for node in supply.nodes
    ]
    for where, *amounts in places:
        used, room, old = (resource.part(amount) for amount in amounts)
        if used > room and used > old:
            numbers = ((f"{resource.unit}_used", used), (resource.unit, room))
            text = f"{where}: {resource.say(used, room)}"
            yield Violation(resource.id, host, text, host=host, numbers=numbers)
