"""Shell completion of host names."""

from __future__ import annotations

import click
from click.shell_completion import CompletionItem


def complete_host(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Offer the hosts of the file or example given before; never those of a live vCenter."""
    del param
    text = ctx.params.get("from") or ctx.params.get("lab")
    if not text:
        return []
    from vplacer.errors import VplacerError
    from vplacer.jobs.topology import hosts_in_file

    try:
        names = hosts_in_file(text)
    except VplacerError:
        return []
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]
