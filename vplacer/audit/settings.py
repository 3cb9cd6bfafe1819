"""From which figure on something is a finding: what a user may set of the rules."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Settings:
    """Thresholds.

    Args:
        locality_percent: measured share of a VM's memory on its home nodes below which it is a finding.
        migrations_seen: moves by the NUMA scheduler between the first and the last sample, some seconds
            apart, from which on they are many.
        migrations_in_all: moves since power-on from which on they are many; how long ago that was is not
            known.
        idle_days: days without work after which an assigned GPU is idle.
        off_days: days after which a VM that is off holds its devices for long.
        loss_hosts: hosts whose loss must be survivable.
    """

    locality_percent: int = 80
    migrations_seen: int = 1
    migrations_in_all: int = 1000
    idle_days: int = 7
    off_days: int = 30
    loss_hosts: int = 1


DEFAULTS = Settings()
