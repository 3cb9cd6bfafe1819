"""A plan as a list of steps for a script: each with its guards, its read-back and the VM it is about."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from vplacer.plan.model import Fact, ObjectKind, Plan, Step


class Consent(StrEnum):
    """What whoever runs a script must allow, if the plan needs it."""

    POWER_CYCLE = "power-cycle"
    MIGRATION = "migration"
    HW_UPGRADE = "hw-upgrade"
    HARD_POWER_OFF = "hard-power-off"


@dataclass(frozen=True, slots=True)
class Target:
    """The VM of a step. ``moid`` None = the plan makes it: it is found by its name once it is there."""

    name: str
    moid: str | None


@dataclass(frozen=True, slots=True)
class Guard:
    """Fields of one object with the values they must have.

    ``target`` for a VM; of a host ``moid``. Only fields that a script can read, see `fields.py`.
    """

    kind: ObjectKind
    name: str
    moid: str | None
    facts: tuple[tuple[str, Fact], ...]


@dataclass(frozen=True, slots=True)
class ScriptStep:
    """One step. ``number`` counts from 1. ``guards`` hold before it, ``checks`` after it.

    ``must_be_new``: the name that no VM may have yet. ``pause``: another VM that no node binds was switched
    on at the same host before, and ESXi may put two that start together on one node (Broadcom KB 430776).
    ``waits_for``: numbers of the steps it depends on. ``hardware_version`` of the VM before it; None = not
    told.
    """

    number: int
    step: Step
    target: Target
    guards: tuple[Guard, ...]
    checks: Guard | None
    must_be_new: str | None
    pause: bool
    waits_for: tuple[int, ...]
    hardware_version: int | None


@dataclass(frozen=True, slots=True)
class Script:
    """All a script says of a plan.

    ``before``: what is compared before the first change. ``cycled``: VMs that run now and are switched off
    on the way. ``not_compared``: what the plan was decided on and a script does not compare, as sentences.
    """

    plan: Plan
    sha256: str
    before: tuple[Guard, ...]
    steps: tuple[ScriptStep, ...]
    consents: tuple[Consent, ...]
    cycled: tuple[str, ...]
    moved: tuple[str, ...]
    not_compared: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Unsaid:
    """A step that the language of a script cannot say, and what of it."""

    number: int
    effect: str
    why: str


@dataclass(frozen=True, slots=True)
class Written:
    """A script as text, and the steps it stops at."""

    text: str
    unsaid: tuple[Unsaid, ...]
