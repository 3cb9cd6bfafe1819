"""Why VMs have no place: per constraint the hosts it rejects, and the cheapest ways out."""

from __future__ import annotations

from collections.abc import Sequence

from vplacer.plan.model import Plan
from vplacer.report.constraint_words import constraint_words
from vplacer.report.plan_words import aligned, count
from vplacer.report.style import PLAIN, Style
from vplacer.solver.conflicts.conflict import Conflict
from vplacer.solver.verdict import DemandReasons, HostReason, Status

MOST_HOSTS = 6
"""So many hosts are named a constraint; the rest is counted."""
MOST_EVIDENCE = 2
_LABELS = [
    "Hardware labels that stand for one NUMA node on every host of the cluster may do as well:",
    "  `vplacer labels plan -o labels.json` plans them, `vplacer labels apply labels.json` sets them; "
    "then plan again",
]
_NO_WAY = "No single change that was tried makes room."


def infeasible_lines(plan: Plan, style: Style = PLAIN) -> list[str]:
    """Return a block for the VMs without a place, those of equal reasons together, and what is left."""
    lines: list[str] = []
    for alike in _alike(plan.verdict.reasons):
        lines += reasons_lines(plan, alike, style)
        lines.append("")
    if plan.verdict.ways_out:
        lines += [*_ways_for_all(plan), ""]
    if plan.verdict.status is Status.INFEASIBLE:
        if plan.vms:
            lines.append(
                f"Not all can be placed. The best partial placement ({len(plan.vms)} of "
                f"{plan.summary.requested}), shown only:"
            )
        else:
            lines.append("Not all can be placed, and nothing of the request can.")
    elif lines:
        lines.pop()
    return lines


def _alike(reasons: Sequence[DemandReasons]) -> list[list[DemandReasons]]:
    """Put VMs together that the same hosts reject for the same reasons, with the same ways out."""
    groups: dict[object, list[DemandReasons]] = {}
    for item in reasons:
        key = (item.hosts_considered, item.rejections, item.relaxations, item.conflicts)
        groups.setdefault(key, []).append(item)
    return list(groups.values())


def reasons_lines(plan: Plan, alike: Sequence[DemandReasons], style: Style = PLAIN) -> list[str]:
    """Return why VMs of equal reasons have no place, and the ways out, cheapest first."""
    first = alike[0]
    names = shorten([plan.name(item.demand) for item in alike])
    lines = [style.paint(f"Cannot place {names}: {count(first.hosts_considered, 'host')} considered", "red")]
    rejections = sorted(first.rejections, key=lambda item: (-len(item.hosts), item.constraint))
    lines += [f"  {line}" for line in aligned([_rejection(plan, item) for item in rejections])]
    for conflict in first.conflicts:
        lines += _conflict(conflict, plan.name(first.demand))
    labels = _LABELS if any(item.constraint == "label-portable" for item in first.rejections) else []
    if not first.relaxations:
        cut = any(item.constraint == "not-looked-at" for item in first.rejections)
        return [*lines, "Ways out were not looked for to the end." if cut else _NO_WAY, *labels]
    ordered = sorted(first.relaxations, key=lambda item: (item.cost, item.text))
    ways = [(str(index), item.text) for index, item in enumerate(ordered, start=1)]
    return [*lines, "Cheapest way out", *(f"  {line}" for line in aligned(ways)), *labels]


def _ways_for_all(plan: Plan) -> list[str]:
    """Return the combinations of changes that let all in, or all that is not left out."""
    rows = []
    for number, way in enumerate(plan.verdict.ways_out, start=1):
        texts = []
        for change in way.changes:
            names = shorten([plan.name(demand) for demand in change.demands])
            if change.kind == "leave_out":
                texts.append(f"leave out {names}")
            else:
                texts.append(f"{names}: {change.text}" if change.demands else change.text)
        proved = " (proved the cheapest)" if way.cheapest else ""
        rows.append((str(number), f"{'; '.join(texts)}{proved}"))
    return ["Cheapest changes with which the whole request fits", *(f"  {line}" for line in aligned(rows))]


_KINDS = {
    "wish": "asked",
    "rule": "rules",
    "demands": "others",
    "vm": "running",
    "running": "running",
    "host": "hosts",
    "admission": "HA",
}
"""What the kinds of a conflict's parts are called, in the order in which they are told."""


def _conflict(conflict: Conflict, name: str) -> list[str]:
    """Return the things that cannot all hold, those of a kind in one line."""
    needed = ": without any one of them the rest can" if conflict.minimal else ", perhaps fewer of them"
    left_out = conflict.hosts_left_out
    unseen = f" ({count(left_out, 'kind')} of hosts not looked at)" if left_out else ""
    some = any(part.suffices for part in conflict.parts)
    rows = [("VMs", name if conflict.wanted == 1 else f"{conflict.wanted} like {name}")]
    for word in dict.fromkeys(_KINDS.values()):
        told = [
            f"{part.text} (alone not enough)" if some and part.suffices is False else part.text
            for part in conflict.parts
            if _KINDS[part.kind] == word
        ]
        if told:
            rows.append((word, "; ".join(told)))
    lines = [f"These cannot all hold{needed}{unseen}", *(f"  {line}" for line in aligned(rows))]
    if conflict.parts and all(part.suffices is False for part in conflict.parts):
        lines.append("  Giving up one of them is not enough: more is in the way.")
    return lines


def _rejection(plan: Plan, reason: HostReason) -> tuple[str, str, str, str]:
    """One row: how many hosts, the constraint, which hosts, the evidence."""
    hosts = shorten([plan.name(moid) for moid, _ in reason.hosts])
    return (
        str(len(reason.hosts)),
        constraint_words(reason.constraint),
        hosts,
        evidence_text([text for _, text in reason.hosts]),
    )


def shorten(names: list[str]) -> str:
    """Return a few names, and how many more there are."""
    if len(names) <= MOST_HOSTS:
        return " ".join(names)
    return f"{' '.join(names[:MOST_HOSTS])} and {len(names) - MOST_HOSTS} more"


def evidence_text(texts: Sequence[str]) -> str:
    """Return a few distinct texts."""
    texts = list(dict.fromkeys(texts))
    if len(texts) <= MOST_EVIDENCE:
        return "; ".join(texts)
    return f"{'; '.join(texts[:MOST_EVIDENCE])}; ..."
