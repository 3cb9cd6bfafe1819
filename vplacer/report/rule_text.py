"""What a rule of the audit is, as text."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable

from vplacer.audit.model import Rule
from vplacer.report.style import PLAIN, Style

_WIDTH = 100


def rule_text(rule: Rule, style: Style = PLAIN) -> str:
    """Return all there is to say of a rule, ending in a newline."""
    lines = [
        style.paint(f"{rule.id} {rule.name}: {rule.title}", "bold"),
        f"  severity: {rule.severity.value}",
        "",
    ]
    for heading, text in (
        ("Why it matters", rule.cause),
        ("What is looked at", rule.evidence),
        ("What to do", rule.fix),
        ("As it is told", rule.sample),
    ):
        lines += [heading, *textwrap.wrap(text, _WIDTH, initial_indent="  ", subsequent_indent="  "), ""]
    return "\n".join(lines[:-1]) + "\n"


def rules_text(rules: Iterable[Rule], style: Style = PLAIN) -> str:
    """Return a line a rule, ending in a newline."""
    rows = [(rule.id, rule.severity.value, rule.name, rule.title) for rule in rules]
    wide = max(len(row[2]) for row in rows)
    return "".join(
        f"{style.paint(id, 'bold')}  {severity.ljust(7)}  {name.ljust(wide)}  {title}\n"
        for id, severity, name, title in rows
    )
