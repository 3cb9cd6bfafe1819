"""`vplacer rule`."""

from __future__ import annotations

import click

from vplacer.cli.common import Command, common_of, examples
from vplacer.cli.output import emit


@click.pass_context
def _run(ctx: click.Context, name: str | None, format: str) -> None:
    from vplacer.audit.registry import all_rules, find_rule

    common = common_of(ctx)
    rules = all_rules() if name is None else (find_rule(name),)
    if format == "json":
        from vplacer.report.rule_json import rules_json

        emit(common, rules_json(rules))
        return
    from vplacer.report.rule_text import rule_text, rules_text
    from vplacer.report.style import Style

    style = Style(common.color(common.stdout))
    emit(common, rules_text(rules, style) if name is None else rule_text(rules[0], style))


command = Command(
    "rule",
    callback=_run,
    help="Explain a rule of the audit: why it matters, what is looked at, what to do.\n\n"
    "NAME is an id such as VPL001 or a name such as gpu-remote; without one, all rules are listed.",
    params=[
        click.Argument(["name"], metavar="[NAME]", required=False),
        click.Option(
            ["--format"],
            type=click.Choice(["text", "json"]),
            default="text",
            help="text for people, json for programs.",
        ),
    ],
    epilog=examples("vplacer rule", "vplacer rule VPL001"),
)
