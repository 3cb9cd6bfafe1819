"""`vplacer config show`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import click
from click.core import ParameterSource

from vplacer.cli.commands import LazyGroup, leaves
from vplacer.cli.common import ENVVAR_PREFIX, Command, Common, common_of, examples
from vplacer.cli.config_file import NOT_CONFIGURABLE, default_path, option_key
from vplacer.cli.output import emit

_WORDS = {
    ParameterSource.DEFAULT: "default",
    ParameterSource.DEFAULT_MAP: "configuration file",
    ParameterSource.ENVIRONMENT: "environment",
    ParameterSource.COMMANDLINE: "command line",
}
_CREDENTIAL_VARIABLES = (
    "VPLACER_PASSWORD",
    "VPLACER_PASSWORD_FILE",
    "VMWARE_HOST",
    "VMWARE_USER",
    "VMWARE_PASSWORD",
)
_SECRET = {"VPLACER_PASSWORD", "VMWARE_PASSWORD"}


@dataclass(frozen=True, slots=True)
class _Setting:
    """One option of one command: its value as text and where that comes from."""

    key: str
    value: str
    source: ParameterSource
    detail: str = ""


@click.pass_context
def _run(ctx: click.Context, origin: bool, all: bool) -> None:
    common = common_of(ctx)
    lines = [f"# configuration file: {_file(common)}"]
    for setting in _settings(ctx.find_root()):
        if all or setting.source is not ParameterSource.DEFAULT:
            lines.append(_line(setting.key, setting.value, _origin(setting), origin))
    for name in sorted(common.config_only):
        lines.append(_line(name, _text(common.config_only[name]), "configuration file", origin))
    for name in _CREDENTIAL_VARIABLES:
        if name in common.environ:
            value = "(set, not shown)" if name in _SECRET else _text(common.environ[name])
            lines.append(_line(name, value, "environment", origin))
    if len(lines) == 1:
        lines.append("# nothing is set; --all lists what can be")
    emit(common, "\n".join(lines))


def _file(common: Common) -> str:
    return (
        str(common.config_file) if common.config_file else f"none (looked for {default_path(common.environ)})"
    )


def _line(key: str, value: str, origin: str, wanted: bool) -> str:
    return f"{key} = {value}  # {origin}" if wanted else f"{key} = {value}"


def _settings(root: click.Context) -> Iterator[_Setting]:
    """Yield the options of all commands with the values that a run without options would use."""
    for path, _ in leaves():
        context = root
        for name in path:
            group = context.command
            assert isinstance(group, LazyGroup)
            command = group.get_command(context, name)
            assert command is not None
            context = command.make_context(name, [], parent=context, resilient_parsing=True)
        for param in context.command.params:
            if isinstance(param, click.Option) and param.name not in NOT_CONFIGURABLE:
                yield _setting(path, param, context)


def _setting(path: tuple[str, ...], param: click.Option, context: click.Context) -> _Setting:
    name = param.name or ""
    source = context.get_parameter_source(name) or ParameterSource.DEFAULT
    key = ".".join((*path, option_key(param)))
    detail = _variable(param, context) if source is ParameterSource.ENVIRONMENT else ""
    return _Setting(key, _text(context.params.get(name)), source, detail)


def _variable(param: click.Option, context: click.Context) -> str:
    names = [param.envvar] if isinstance(param.envvar, str) else list(param.envvar or ())
    names.append(f"{context.auto_envvar_prefix or ENVVAR_PREFIX}_{(param.name or '').upper()}")
    environ = common_of(context).environ
    return next((name for name in names if environ.get(name)), "")


def _origin(setting: _Setting) -> str:
    return " ".join(part for part in (_WORDS.get(setting.source, "default"), setting.detail) if part)


def _text(value: Any) -> str:
    if value is None:
        return "(unset)"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_text(each) for each in value) + "]"
    return '"' + str(value).replace("\\", "\\\\").replace('"', '\\"') + '"'


command = Command(
    "show",
    callback=_run,
    help="Show which options are set by the environment or the configuration file. "
    "Passwords are named, never shown.",
    params=[
        click.Option(["--origin"], is_flag=True, help="Say where each value comes from."),
        click.Option(["--all"], is_flag=True, help="Show defaults too."),
    ],
    epilog=examples("vplacer config show --origin", "vplacer config show --all"),
)
