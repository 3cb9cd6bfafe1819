"""What an apply may do, and how fast."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType

from vplacer.plan.model import StepKind

TYPICAL_SECONDS: Mapping[StepKind, float] = MappingProxyType(
    {
        StepKind.CLONE: 120.0,
        StepKind.UPGRADE_HARDWARE: 3.0,
        StepKind.POWER_OFF: 45.0,
        StepKind.RECONFIGURE: 3.0,
        StepKind.RELOCATE: 10.0,
        StepKind.MIGRATE: 60.0,
        StepKind.OVERRIDE_DRS: 2.0,
        StepKind.POWER_ON: 15.0,
    }
)
"""How long steps take, roughly. Only the order of starts and the end of a window rest on it."""


@dataclass(frozen=True, slots=True)
class Window:
    """A time in which an apply may begin disruptive work. Both ends with their zone; ``start`` < ``end``."""

    start: datetime
    end: datetime

    def __post_init__(self) -> None:
        if self.start.tzinfo is None or self.end.tzinfo is None:
            raise ValueError("a window needs times with their zone")
        if self.start >= self.end:
            raise ValueError("a window ends after it starts")


@dataclass(frozen=True, slots=True)
class Timing:
    """Limits of waiting, in seconds.

    Args:
        shutdown_timeout_s: how long a guest may take to shut down.
        poll_s: between two looks at a guest that shuts down.
        task_timeout_s: a task that takes longer counts as stalled: the apply stops and can be resumed.
        settle_s: wait before a call whose answer was lost counts as never carried out.
        reconnect_attempts: tries to reach the vCenter again before the apply stops.
        reconnect_s: before the first of them; it doubles with each.
        power_on_spacing_s: between two power-ons on one host where a VM's NUMA node is the host's choice:
            started within a short time they may all land on one node (Broadcom KB 430776).
        typical_s: how long steps take, by kind.
    """

    shutdown_timeout_s: float = 300.0
    poll_s: float = 2.0
    task_timeout_s: float = 3600.0
    settle_s: float = 10.0
    reconnect_attempts: int = 6
    reconnect_s: float = 2.0
    power_on_spacing_s: float = 30.0
    typical_s: Mapping[StepKind, float] = field(default_factory=lambda: TYPICAL_SECONDS)


@dataclass(frozen=True, slots=True)
class ApplyOptions:
    """What an apply may do, and how fast.

    Args:
        allow_power_cycle: running VMs may be switched off and on.
        allow_migration: VMs may go to another host, running or off.
        allow_hw_upgrade: virtual hardware may be upgraded, which cannot be undone.
        allow_hard_power_off: a VM whose guest does not shut down is switched off at once; also the
            suspended memory of a VM may be given up.
        max_disruption: most running VMs that may be switched off or migrated, counted over the whole
            plan, resumes included; None = no limit.
        include_managed: ids or names of VMs that may be changed although somebody else owns them.
        parallelism: most tasks at one time, and most VMs in between being off and on again.
        window: when disruptive work may begin; None = always. What has begun is finished.
        waves: how many VMs the first wave has, the second, and so on, the last number again and again;
            a wave begins when all of the one before is done. Empty = all at once.
        timing: limits of waiting.
    """

    allow_power_cycle: bool = False
    allow_migration: bool = False
    allow_hw_upgrade: bool = False
    allow_hard_power_off: bool = False
    max_disruption: int | None = None
    include_managed: frozenset[str] = frozenset()
    parallelism: int = 4
    window: Window | None = None
    waves: tuple[int, ...] = ()
    timing: Timing = field(default_factory=Timing)

    def __post_init__(self) -> None:
        if self.parallelism < 1:
            raise ValueError("parallelism is at least 1")
        if any(size < 1 for size in self.waves):
            raise ValueError("a wave has at least one VM")
