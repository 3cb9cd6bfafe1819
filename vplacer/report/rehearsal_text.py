"""What the rehearsal of a plan came to, in a line."""

from __future__ import annotations

from vplacer.plan.model import Plan
from vplacer.report.duration_words import duration_text
from vplacer.report.plan_words import count
from vplacer.report.style import PLAIN, Style

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
