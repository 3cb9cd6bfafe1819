"""A plan of hardware labels as text: what changes, what it costs, and how far the labels carry."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from vplacer.apply.labels import LabelEnd, LabelOutcome
from vplacer.plan.labels.model import CardState, LabelledCard, LabelPlan, LabelUse, Rebind
from vplacer.report.plan_words import aligned, count
from vplacer.report.source_text import missing_texts, source_text
from vplacer.report.style import PLAIN, Style

_SIGNS = {
    CardState.SET: ("~", "yellow"),
    CardState.RIGHT: ("=", "dim"),
    CardState.KEPT: ("=", "dim"),
    CardState.IN_USE: ("=", "dim"),
    CardState.LEFT_OUT: ("=", "dim"),
}
_REBIND = {
    Rebind.NO_REBOOT: "no reboot: the host rebinds its devices at once",
    Rebind.REBOOT: "! reboot: labels count after the host's next start",
    Rebind.NOT_TOLD: "! perhaps a reboot: the host does not tell whether it rebinds without",
}
_SHOWN = 3


def labels_text(plan: LabelPlan, *, verbosity: int = 0, style: Style = PLAIN) -> str:
    """Return a plan of labels as text, ending in a newline; ``verbosity`` 1 also shows cards that stay."""
    lines = [source_text(plan.source, plan.created), *missing_texts(plan.source), ""]
    lines += _card_lines(plan, verbosity, style)
    lines += ["", *_label_lines(plan)]
    lines += _impact_lines(plan)
    lines += [f"note: {text}" for text in plan.notes]
    return "\n".join(lines) + f"\n\n{style.paint(summary_line(plan), 'bold')}\n"


def summary_line(plan: LabelPlan) -> str:
    """Return the line that counts."""
    found = Counter(card.state for card in plan.cards)
    reboots = sum(1 for host in plan.hosts if host.rebind is Rebind.REBOOT)
    parts = [f"{found[CardState.SET]} to set", f"{found[CardState.RIGHT]} right already"]
    words = (
        (CardState.KEPT, "somebody else's"),
        (CardState.IN_USE, "in use"),
        (CardState.LEFT_OUT, "left out"),
    )
    parts += [f"{found[state]} {word}" for state, word in words if found[state]]
    parts += [f"{count(reboots, 'host')} to reboot"] if reboots else []
    portable = sum(1 for use in plan.labels if use.portable)
    alike = sum(1 for use in plan.labels if use.portable and use.everywhere)
    carried = f"{portable} of {count(len(plan.labels), 'label')} portable, {alike} alike on all hosts"
    return f"Labels: {', '.join(parts)}. {carried}."


def _card_lines(plan: LabelPlan, verbosity: int, style: Style) -> list[str]:
    shown = [card for card in plan.cards if card.state is CardState.SET or verbosity > 0]
    shown += [card for card in plan.cards if card.state in _TOLD and card not in shown]
    order = {id(card): index for index, card in enumerate(plan.cards)}
    shown.sort(key=lambda card: order[id(card)])
    groups = _alike(shown)
    rows = [
        (
            plan.name(cards[0].host),
            _addresses(cards),
            cards[0].model,
            f"pNUMA {'?' if cards[0].node is None else cards[0].node}",
            _label_text(cards[0]),
            _why_text(plan, cards[0]),
        )
        for cards in groups
    ]
    lines = []
    for cards, row in zip(groups, aligned(rows), strict=True):
        sign, colour = _SIGNS[cards[0].state]
        lines.append(f" {style.paint(sign, colour)} {row}")
    rest = len(plan.cards) - len(shown)
    return [*lines, style.paint(f" = {count(rest, 'card')} as they should be", "dim")] if rest else lines


_TOLD = (CardState.KEPT, CardState.IN_USE, CardState.LEFT_OUT)


def _alike(cards: list[LabelledCard]) -> list[list[LabelledCard]]:
    """Put cards of a host together of which the same is told, so that a host is a few lines."""
    groups: dict[object, list[LabelledCard]] = {}
    for card in cards:
        key = replace(card, address=cards[0].address, ids="", wanted=None)
        groups.setdefault(key, []).append(card)
    return list(groups.values())


def _addresses(cards: list[LabelledCard]) -> str:
    shown = " ".join(card.address.short for card in cards[:_SHOWN])
    more = len(cards) - _SHOWN
    return f"{shown} and {more} more" if more > 0 else shown


def _label_text(card: LabelledCard) -> str:
    before = card.before or "none"
    if card.state is CardState.SET:
        return f"{before} -> {card.after or 'none'}"
    return before


def _why_text(plan: LabelPlan, card: LabelledCard) -> str:
    text = card.why or ""
    if card.holders and card.state in (CardState.SET, CardState.IN_USE):
        names = [plan.name(vm) for vm in card.holders]
        more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
        held = f"{'in use' if card.held else 'perhaps in use'} by {', '.join(names[:_SHOWN])}{more}"
        return f"{held}; {text}" if text else held
    return text


def _label_lines(plan: LabelPlan) -> list[str]:
    if not plan.labels:
        return ["No card of these hosts has a label."]
    rows = [
        (
            plan.name(use.cluster) if use.cluster is not None else plan.name(use.cards[0].host),
            use.label,
            "several nodes" if use.node is None else f"pNUMA {use.node}",
            _cards_text(use),
            _carries_text(use),
        )
        for use in plan.labels
    ]
    lines = ["Labels afterwards"]
    for use, row in zip(plan.labels, aligned(rows), strict=True):
        lines.append(f"   {row}")
        lines += [f"       {text}" for text in use.why]
        lines += [f"       next: {text}" for text in use.advice]
    return lines


def _carries_text(use: LabelUse) -> str:
    if not use.portable:
        return "NOT PORTABLE"
    return "portable, alike on all hosts" if use.everywhere else "portable, not alike on all hosts"


def _cards_text(use: LabelUse) -> str:
    hosts = len({card.host for card in use.cards})
    kinds = Counter((card.model, card.count) for card in use.cards)
    if len({card.model for card in use.cards}) == len(kinds):
        each = " and ".join(f"{number} x {model}" for model, number in sorted(kinds))
        return f"{each} on {'each of ' if hosts > 1 else ''}{count(hosts, 'host')}"
    total = Counter[str]()
    for card in use.cards:
        total[card.model] += card.count
    each = " and ".join(f"{number} x {model}" for model, number in sorted(total.items()))
    return f"{each} in all on {count(hosts, 'host')}"


def _impact_lines(plan: LabelPlan) -> list[str]:
    lines = []
    if plan.hosts:
        rows = [
            (
                plan.name(host.host),
                count(host.cards, "card"),
                _REBIND[host.rebind],
                _running(len(host.running)),
            )
            for host in plan.hosts
        ]
        lines += ["", "Impact", *(f"   {row}" for row in aligned(rows, widest=80))]
    for item in plan.stranded:
        runs = "runs until it is switched off, and" if item.running else "is off, and"
        lines.append(
            f"   ! {plan.name(item.vm)} {runs} will not start again on {plan.name(item.host)}: it needs "
            f"{item.needs} of label '{item.label}', {item.has} left"
        )
    return lines


def _running(number: int) -> str:
    return f"{count(number, 'VM')} {'runs' if number == 1 else 'run'} there" if number else "no VM runs there"


_ENDS = {
    LabelEnd.SET: "set and read back",
    LabelEnd.RIGHT: "right already",
    LabelEnd.AFTER_REBOOT: "! stored; they count after the host's next start",
}


def outcome_text(plan: LabelPlan, outcome: LabelOutcome | None, missing: int) -> str:
    """Say what became of a plan of labels, ending in a newline; ``outcome`` None = it was only compared."""
    if outcome is None:
        return f"All is as the plan saw it; nothing was changed. {count(missing, 'label')} to set.\n"
    rows = [(plan.name(host.host), count(host.cards, "card"), _ENDS[host.end]) for host in outcome.hosts]
    lines = [f"   {row}" for row in aligned(rows)]
    left = f"{count(missing, 'card')} still without" if missing else "all cards of the plan have theirs"
    return "\n".join([*lines, f"Labels: {outcome.cards_set} set, {left}."]) + "\n"
