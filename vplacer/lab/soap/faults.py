"""Faults to inject: what goes wrong, at which call."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Harm(StrEnum):
    """What happens to a call."""

    DROP_BEFORE = "drop before"
    """The connection closes; the call was not carried out."""
    DROP_AFTER = "drop after"
    """The call was carried out; the connection closes without an answer."""
    TRUNCATE = "truncate"
    """The call was carried out; half the answer is sent."""
    EXPIRE = "expire"
    """The session has ended when the call arrives."""
    FAULT = "fault"
    """A method fault is answered instead."""
    DELAY = "delay"
    """The call is carried out late."""


@dataclass(frozen=True, slots=True)
class FaultRule:
    """Harms some calls of a method.

    Attributes:
        harm: what happens.
        method: wire name (``RetrievePropertiesEx``), or "*" for every method.
        skip: calls let through first.
        count: calls harmed after that; None = all.
        fault: makes the fault of `Harm.FAULT`.
        delay_s: seconds of `Harm.DELAY`.
    """

    harm: Harm
    method: str = "*"
    skip: int = 0
    count: int | None = 1
    fault: Callable[[], Any] | None = None
    delay_s: float = 0.0


class FaultPlan:
    """Counts calls and tells which rule, if any, harms the next one. Thread-safe."""

    def __init__(self, rules: Iterable[FaultRule] = ()) -> None:
        self._rules = list(rules)
        self._calls = [0] * len(self._rules)
        self._lock = threading.Lock()

    def add(self, rule: FaultRule) -> None:
        """Add a rule; it counts calls from now."""
        with self._lock:
            self._rules.append(rule)
            self._calls.append(0)

    def next(self, method: str) -> FaultRule | None:
        """Count a call; return the first rule that harms it."""
        hit: FaultRule | None = None
        with self._lock:
            for number, rule in enumerate(self._rules):
                if rule.method not in ("*", method):
                    continue
                self._calls[number] += 1
                past = self._calls[number] - rule.skip
                if hit is None and past >= 1 and (rule.count is None or past <= rule.count):
                    hit = rule
        return hit
