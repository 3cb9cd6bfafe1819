"""Are the fields what they must be? Before a step, after it, and in between."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from vplacer.plan.changes import Change, Clone, Delete, Field, OverrideDrs, Reconfigure, Relocate
from vplacer.plan.model import Fact, FieldFact, Step
from vplacer.plan.observed import EXTRA_PREFIX
from vplacer.plan.settings import AUTOSIZE_STATE

Facts = Mapping[str, Fact]

_NEVER_COMPARED = frozenset(
    {"name", "busy", "connection", "exists", *(EXTRA_PREFIX + key for key in AUTOSIZE_STATE)}
)
"""Names decide nothing; what is disabled on a VM follows its power state; ESXi writes its own vNUMA state."""

_DIVISION = frozenset({Field.CORES_PER_SOCKET, Field.CORES_PER_NUMA_NODE, Field.VNUMA_ON_HOT_ADD})
_SIDE_EFFECTS = frozenset({*(field.value for field in _DIVISION), "memory_reserved_mib"})
"""What a server may set by itself while it does something else."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A field that is not what it must be."""

    object: str
    field: str
    expected: Fact
    found: Fact


def shown(value: Fact) -> str:
    """Return a field's value for people."""
    if value is None:
        return "unset"
    if isinstance(value, tuple):
        return "(" + "; ".join(value) + ")" if value else "none"
    return str(value).lower() if isinstance(value, bool) else str(value)


def same(one: Fact, other: Fact) -> bool:
    """Whether two values are the same: 1 is not true, and unset is not 0."""
    return one == other and isinstance(one, bool) is isinstance(other, bool)


def differences(wanted: Iterable[FieldFact], facts: Mapping[str, Facts]) -> list[Difference]:
    """Return the fields that have not the value wanted; of a VM that is gone, that it is gone."""
    found = []
    for item in wanted:
        now = facts.get(item.object, {})
        if item.field != "exists" and now.get("exists") is False:
            found.append(Difference(item.object, "exists", True, False))
        elif not same(now.get(item.field), item.value):
            found.append(Difference(item.object, item.field, item.value, now.get(item.field)))
    return list(dict.fromkeys(found))


def before(step: Step) -> tuple[FieldFact, ...]:
    """Return what must hold right before a step.

    How a clone's CPUs are divided is the server's affair until the plan divides them.
    """
    change = step.change
    if isinstance(change, OverrideDrs):
        return (*step.preconditions, FieldFact(step.vm, "drs_override", change.before))
    if step.vm.startswith("new:") and isinstance(change, Reconfigure):
        divided = {item.field.value for item in change.fields if item.field in _DIVISION}
        return tuple(fact for fact in step.preconditions if fact.field not in divided)
    return step.preconditions


def after(step: Step) -> tuple[FieldFact, ...]:
    """Return what must hold after a step."""
    change = step.change
    if isinstance(change, OverrideDrs):
        return (*step.checks, FieldFact(step.vm, "drs_override", change.after))
    if isinstance(change, Delete):
        return (FieldFact(step.vm, "exists", False),)
    return step.checks


def drifted(expected: Facts, now: Facts) -> list[tuple[str, Fact, Fact]]:
    """Return the fields that moved by nobody's step, with the value they had and the one they have."""
    return [
        (name, value, now.get(name))
        for name, value in expected.items()
        if name not in _NEVER_COMPARED and not same(now.get(name), value)
    ]


def unforeseen(change: Change, predicted: Facts, now: Facts) -> list[tuple[str, Fact, Fact]]:
    """Return the fields that are not what a change leads to, beside what a server sets by itself.

    ``predicted``: all fields of the VM before the change, with what the change does to them.
    """
    if isinstance(change, Clone):
        return []
    allowed = _SIDE_EFFECTS | ({"pool"} if isinstance(change, Relocate) else set())
    return [item for item in drifted(predicted, now) if item[0] not in allowed]
