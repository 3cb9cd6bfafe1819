"""Tells apart what solve() spends where, without the solver knowing of it."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Callable, Iterator
from typing import Any, Final
from unittest import mock

from benchmarks.measure import Cost, timed

STEPS: Final = {
    "instance": ("vplacer.solver.solve", "build_instance"),
    "decode": ("vplacer.solver.solve", "decode"),
    "judge": ("vplacer.constraints.judge", "check"),
    "values": ("vplacer.solver.score", "measure"),
    "reasons": ("vplacer.solver.explain", "explain"),
}
"""Steps of solve() and the function of each; what is left is the search."""

REASONS: Final = "reasons"
UNFINISHED: Final = "the search was done, the reasons were not"


class Phases:
    """Times the steps of solve(); one within another counts as the outer one.

    ``tell`` hears when the search is done and the reasons are sought.
    """

    def __init__(self, tell: Callable[[str], None] = lambda _: None) -> None:
        self.tell = tell
        self.costs: dict[str, Cost] = {}
        self._inside = False

    @contextlib.contextmanager
    def watched(self) -> Iterator[None]:
        """Watch the steps while this lasts; those that the solver does not have (any more) are left out."""
        with contextlib.ExitStack() as stack:
            for step, (module, name) in STEPS.items():
                owner = importlib.import_module(module)
                if hasattr(owner, name):
                    work = self._timed(step, getattr(owner, name))
                    stack.enter_context(mock.patch.object(owner, name, work))
            yield

    def _timed(self, step: str, work: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            if self._inside:
                return work(*args, **kwargs)
            if step == REASONS:
                self.tell(UNFINISHED)
            self._inside = True
            try:
                found, cost = timed(lambda: work(*args, **kwargs))
            finally:
                self._inside = False
            before = self.costs.get(step, Cost(0.0, 0.0))
            self.costs[step] = Cost(
                before.wall_s + cost.wall_s,
                before.cpu_s + cost.cpu_s,
                waited_s=before.waited_s + cost.waited_s,
            )
            return found

        return call

    def own_s(self, step: str) -> float:
        """Return the seconds of a step, less what it waited for a core."""
        return self.costs[step].own_s if step in self.costs else 0.0
