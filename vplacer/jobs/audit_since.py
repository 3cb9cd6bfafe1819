"""What an audit is compared with: a saved plan, or an earlier audit."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from vplacer.errors import FileFormatError, UsageError
from vplacer.jobs.file_kind import FileKind, kind_of

if TYPE_CHECKING:
    from vplacer.audit.earlier_file import EarlierAudit
    from vplacer.audit.plan_drift import PlanDrift
    from vplacer.inventory.vcenter import Inventory
    from vplacer.plan.model import Plan


@dataclass(frozen=True, slots=True)
class Since:
    """At most one of the two. ``path``: what errors call it."""

    path: str = ""
    plan: Plan | None = None
    audit: EarlierAudit | None = None

    def drift(self, inventory: Inventory) -> PlanDrift | None:
        """Return what moved since the plan, None = it is none.

        Raises:
            UsageError: the file is of another vCenter, or of a later time.
        """
        if self.audit is not None:
            from vplacer.audit.earlier_file import refuse_unlike

            refuse_unlike(self.audit, inventory)
        if self.plan is None:
            return None
        from vplacer.audit.plan_drift import drift_since

        if self.plan.source.instance_uuid != inventory.about.instance_uuid:
            raise UsageError(
                f"is a plan for another vCenter ({self.plan.source.vcenter}) than {inventory.about.name}",
                obj=self.path,
                hint="leave out --since, or name another plan",
            )
        return drift_since(self.plan, inventory)

    def inputs(self) -> list[Path]:
        """Return the file, if nothing may replace it: an earlier audit may be replaced by the next."""
        return [Path(self.path)] if self.plan is not None else []


NOTHING = Since()


def load_since(path: Path) -> Since:
    """Read what to compare with.

    Raises:
        UnknownObjectError: there is no such file, or it cannot be read.
        FileFormatError, NewerFormatError: it is neither a saved plan nor the JSON report of an audit.
        UsageError: it is a hypothetical plan.
    """
    kind = kind_of(path) if path.is_file() else FileKind.PLAN
    if kind is FileKind.AUDIT:
        from vplacer.audit.earlier_file import load_earlier

        return Since(str(path), audit=load_earlier(path))
    if kind is not FileKind.PLAN:
        what = "is neither a saved plan nor a report of an audit"
        raise FileFormatError(
            what if kind is None else f"is {kind.value}, neither a saved plan nor a report of an audit",
            path=str(path),
            hint="`vplacer plan -o FILE` and `vplacer audit --format json -o FILE` write such files",
        )
    from vplacer.jobs.plan import show_plan

    plan = show_plan(path)
    if plan.hypothetical:
        raise UsageError("is a hypothetical plan", obj=str(path), hint="name another plan")
    return Since(str(path), plan=plan)
