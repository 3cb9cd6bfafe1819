"""What the parts of a host model share: the model, names, and one way to write a limit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from ortools.sat.python import cp_model

Expr: TypeAlias = Any
"""A CP-SAT linear expression; OR-tools has no stubs."""


@dataclass
class ModelPart:
    """A model being written, and the prefix of the names of one host's variables."""

    model: cp_model.CpModel
    prefix: str = ""

    def flag(self, name: str) -> Expr:
        """Make a 0-1 variable."""
        return self.model.new_bool_var(f"{self.prefix}{name}")

    def integer(self, low: int, high: int, name: str) -> Expr:
        """Make an integer variable."""
        return self.model.new_int_var(low, high, f"{self.prefix}{name}")

    def limit(self, name: str, new: Sequence[Expr], kept: Sequence[Expr], kept_most: int, most: int) -> None:
        """Add ``sum(new) + sum(kept) <= most``, unless nothing is new and today already breaks it.

        Args:
            name: for a variable that may be needed.
            new: what placements add.
            kept: what VMs take that keep their place.
            kept_most: the greatest value of ``sum(kept)``.
            most: the limit.
        """
        if not new:
            return
        if kept_most <= most:
            self.model.add(sum(new) + sum(kept) <= most)
            return
        holds = self.flag(name)
        self.model.add(sum(new) == 0).only_enforce_if(holds.negated())
        self.model.add(sum(new) + sum(kept) <= most).only_enforce_if(holds)
