"""Why VMs have no place: per constraint the hosts it rejects, and the cheapest ways out."""

from __future__ import annotations

from vplacer.plan.model import Plan
from vplacer.report.plan_words import aligned, count
from vplacer.report.style import PLAIN, Style
from vplacer.solver.verdict import DemandReasons, Status

MOST_HOSTS = 6
"""So many hosts are named a constraint; the rest is counted."""
MOST_EVIDENCE = 2


def infeasible_lines(plan: Plan, style: Style = PLAIN) -> list[str]:
    """Return a block for each VM without a place, and what of the request can be placed."""
    lines: list[str] = []
    for reasons in plan.verdict.reasons:
        lines += demand_lines(plan, reasons, style)
        lines.append("")
    if plan.verdict.status is Status.INFEASIBLE:
        if plan.vms:
            lines.append(
                f"Not all can be placed. The best partial placement ({len(plan.vms)} of "
                f"{plan.summary.requested}), shown only:"
            )
        else:
            lines.append("Not all can be placed, and nothing else of the request changes.")
    elif lines:
        lines.pop()
    return lines


def demand_lines(plan: Plan, reasons: DemandReasons, style: Style = PLAIN) -> list[str]:
    """Return why one VM has no place, and the ways out, cheapest first."""
    hosts = count(reasons.hosts_considered, "host")
    name = plan.name(reasons.demand)
    lines = [style.paint(f"Cannot place {name}: {hosts} considered", "red")]
    rejections = sorted(reasons.rejections, key=lambda item: (-len(item.hosts), item.constraint))
    rows = []
    for item in rejections:
        names = [plan.name(moid) for moid, _ in item.hosts]
        texts: list[str] = []
        for _, text in item.hosts:
            if text not in texts:
                texts.append(text)
        rows.append((str(len(item.hosts)), item.constraint, _shorten(names), _evidence(texts)))
    lines += [f"  {line}" for line in aligned(rows)]
    if reasons.relaxations:
        lines.append("Cheapest way out")
        ordered = sorted(reasons.relaxations, key=lambda item: (item.cost, item.text))
        ways = [(str(index), item.text) for index, item in enumerate(ordered, start=1)]
        lines += [f"  {line}" for line in aligned(ways)]
    else:
        lines.append("No change of the request alone gives it a place.")
    return lines


def _shorten(names: list[str]) -> str:
    if len(names) <= MOST_HOSTS:
        return " ".join(names)
    return f"{' '.join(names[:MOST_HOSTS])} and {len(names) - MOST_HOSTS} more"


def _evidence(texts: list[str]) -> str:
    if len(texts) <= MOST_EVIDENCE:
        return "; ".join(texts)
    return f"{'; '.join(texts[:MOST_EVIDENCE])}; ..."
