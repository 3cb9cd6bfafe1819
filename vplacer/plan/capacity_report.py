"""All that a report of room says: the inventory, the request, and the numbers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from vplacer.plan.model import Source
from vplacer.plan.slots_file import SlotSet
from vplacer.solver.capacity.model import Capacity
from vplacer.solver.loss.model import AfterLoss


@dataclass(frozen=True)
class CapacityReport:
    """A report of room.

    ``request_file`` None = none was given. ``capacity``: room for more VMs, ``after_loss``: what losses of
    hosts come to; None = not asked. ``slots``: those kept for the mix expected later, None = not
    asked. ``names``: display names of the hosts that ids stand for.
    ``hypothetical``: it is of a site that is not so, changed as ``what_if`` says.
    """

    tool_version: str
    created: str
    source: Source
    request_file: str | None
    request_sha256: str | None
    capacity: Capacity | None
    after_loss: AfterLoss | None
    names: tuple[tuple[str, str], ...]
    slots: SlotSet | None = None
    notes: tuple[str, ...] = ()
    hypothetical: bool = False
    what_if: tuple[str, ...] = ()

    @cached_property
    def _name_by_id(self) -> dict[str, str]:
        return dict(self.names)

    def name(self, moid: str) -> str:
        """Return the display name of an object, or its id where there is none."""
        return self._name_by_id.get(moid, moid)
