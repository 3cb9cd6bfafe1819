"""`vplacer completion`."""

from __future__ import annotations

import click
from click.shell_completion import (
    CompletionItem,
    ShellComplete,
    add_completion_class,
    get_completion_class,
    split_arg_string,
)

from vplacer.cli.common import Command, common_of, examples
from vplacer.cli.output import emit

SHELLS = ("bash", "zsh", "fish", "powershell")

_POWERSHELL = """\
Register-ArgumentCompleter -Native -CommandName %(prog_name)s -ScriptBlock {
    param($word, $ast, $cursor)
    $line = $ast.ToString()
    if ($cursor -gt $line.Length) { $line += ' ' }
    $env:%(complete_var)s = 'powershell_complete'
    $env:COMP_WORDS = $line
    $env:COMP_CWORD = $word
    try {
        %(prog_name)s | ForEach-Object {
            $type, $value, $help = $_ -split ',', 3
            if ($type -eq 'plain') {
                if (-not $help) { $help = $value }
                [System.Management.Automation.CompletionResult]::new($value, $value, 'ParameterValue', $help)
            }
        }
    } finally {
        Remove-Item Env:%(complete_var)s, Env:COMP_WORDS, Env:COMP_CWORD
    }
}
"""


class PowerShellComplete(ShellComplete):
    """Completion for PowerShell, which click has not. Files are completed by PowerShell itself."""

    name = "powershell"
    source_template = _POWERSHELL

    def get_completion_args(self) -> tuple[list[str], str]:
        """Return the words before the one being completed, and that one."""
        import os

        words = split_arg_string(os.environ["COMP_WORDS"])
        incomplete = os.environ["COMP_CWORD"]
        if incomplete and words and words[-1] == incomplete:
            words.pop()
        return words[1:], incomplete

    def format_completion(self, item: CompletionItem) -> str:
        """Return one line: type, value and help."""
        return f"{item.type},{item.value},{item.help or ''}"


def register() -> None:
    """Make the completion classes that click lacks known to it."""
    add_completion_class(PowerShellComplete)


@click.pass_context
def _run(ctx: click.Context, shell: str) -> None:
    register()
    kind = get_completion_class(shell)
    assert kind is not None
    complete = kind(ctx.find_root().command, {}, "vplacer", "_VPLACER_COMPLETE")
    # Not source(): bash's runs bash to look at its version, which need not be installed here.
    emit(common_of(ctx), complete.source_template % complete.source_vars())


command = Command(
    "completion",
    callback=_run,
    help="Print the completion script of a shell. It completes commands, options, example sites and hosts "
    "of the file given with --from; it never logs in to a vCenter.",
    params=[click.Argument(["shell"], type=click.Choice(SHELLS))],
    epilog=examples(
        'eval "$(vplacer completion bash)"',
        "vplacer completion fish > ~/.config/fish/completions/vplacer.fish",
        "vplacer completion powershell | Out-String | Invoke-Expression",
    ),
)
