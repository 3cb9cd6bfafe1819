"""What the rehearsal of a plan came to, in a line."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from vplacer.apply.outcome import Outcome
from vplacer.plan.model import Plan
from vplacer.report.apply_text import outcome_text
from vplacer.report.duration_words import duration_text
from vplacer.report.plan_words import count
from vplacer.report.style import PLAIN, Style
from vplacer.report.timeline_text import timeline_lines

_SHOWN = 5


def rehearsal_lines(plan: Plan, style: Style = PLAIN) -> list[str]:
    """Say what the rehearsal came to; nothing where there was none."""
    found = plan.rehearsal
    if found is None:
        return []
    total = count(len(plan.steps), "step")
    done = total if found.steps == len(plan.steps) else f"{found.steps} of {total}"
    time = f"{duration_text(found.seconds)} with tasks as long as usual"
    if not found.faults and not found.complete:
        return [f"Rehearsed: a part, {done}, no fault. `vplacer rehearse` takes the whole."]
    if not found.faults:
        return [f"Rehearsed: {done}, no fault; {time}."]
    lines = [
        style.paint(f"REHEARSAL FAILED: {done} carried out; at a simulated vCenter this went wrong", "red")
    ]
    lines += [f"  ! {text}" for text in found.faults[:_SHOWN]]
    if len(found.faults) > _SHOWN:
        lines.append(f"  ! and {len(found.faults) - _SHOWN} more")
    return lines


def rehearse_text(plan: Plan, outcome: Outcome, *, ordered: Sequence[str] = (), style: Style = PLAIN) -> str:
    """Return how a rehearsal over SOAP went, with the times of all steps since the first began."""
    began = min((item.started for item in outcome.steps if item.started), default=None)
    since = datetime.fromisoformat(began) if began is not None else None
    lines = [f"Rehearsal at a simulated {plan.source.vcenter}; nothing was changed in the real one."]
    lines += [f"Ordered to go wrong: {text}" for text in ordered]
    lines += ["", *timeline_lines(plan, outcome.steps, since=since), "", ""]
    return "\n".join(lines) + outcome_text(plan, outcome, style=style)
