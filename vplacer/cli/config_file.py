"""The configuration file: defaults for options, in TOML.

A key at the top level applies to every command that has the option; a table named after a command
applies to that command alone::

    vcenter = "vc.example.com"
    username = "planner@vsphere.local"
    password_command = ["pass", "show", "vcenter"]

    [plan]
    time-limit = 60

    [lab.serve]
    port = 8443

The command line beats the environment, which beats this file. Unknown keys are refused.
"""

from __future__ import annotations

import difflib
import os
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from vplacer.cli.commands import TREE, Branch, leaves, load
from vplacer.cli.common import common_of
from vplacer.errors import FileFormatError, UsageError

CONFIG_ONLY = {"password_command": "a command, text or list of texts, that prints the password"}
"""Settings that are no options, with what they hold."""

NOT_CONFIGURABLE = {"config", "help", "version", "password_stdin"}


@dataclass(frozen=True, slots=True)
class Config:
    """A configuration file read and checked.

    ``defaults`` nests like the commands: ``{"lab": {"serve": {"port": 8443}}}``, top-level keys of the
    file spread over the commands that have them.
    """

    path: Path
    defaults: dict[str, Any]
    config_only: dict[str, Any]


def default_path(environ: Mapping[str, str]) -> Path:
    """Return where the configuration file is unless told otherwise."""
    if os.name == "nt" and (folder := environ.get("APPDATA")):
        return Path(folder) / "vplacer" / "config.toml"
    if folder := environ.get("XDG_CONFIG_HOME"):
        return Path(folder) / "vplacer" / "config.toml"
    # Unlike Path.expanduser, this leaves "~" alone where nobody knows a home: then there is no file.
    home = environ.get("HOME") or os.path.expanduser("~")
    return Path(home) / ".config" / "vplacer" / "config.toml"


def apply_config(ctx: click.Context, given: Path | None) -> None:
    """Make the configuration file the defaults of a context and of those below it.

    The root context reads the default file where none is given; a command reads only one given to it.

    Raises:
        UsageError: the file cannot be read.
        FileFormatError: it is no TOML, or a key or value is wrong.
    """
    common = common_of(ctx)
    if given is None:
        if ctx.parent is not None:
            return
        given = default_path(common.environ)
        if not given.is_file():
            return
    config = read_config(given)
    common.config_file = config.path
    common.config_only = config.config_only
    defaults: Any = config.defaults
    chain = _chain(ctx)
    for position, context in enumerate(chain):
        if position:
            defaults = defaults.get(context.info_name, {})
        context.default_map = defaults


def read_config(path: Path) -> Config:
    """Read and check a configuration file.

    Raises:
        UsageError: it cannot be read.
        FileFormatError: it is no TOML, or a key or value is wrong.
    """
    document = _parse(path)
    options = dict(_options())
    commands = {name for command in options for name in command[:1]}
    shared: dict[str, Any] = {}
    tables: dict[tuple[str, ...], dict[str, Any]] = {}
    for key, value in document.items():
        if key in commands and isinstance(value, dict):
            tables.update(_tables((key,), value, path))
        else:
            shared[_name(key)] = value
    config_only = {name: shared.pop(_name(name)) for name in CONFIG_ONLY if _name(name) in shared}
    _check_config_only(config_only, path)
    known = {name for found in options.values() for name in found}
    for name in shared:
        if name not in known:
            raise _unknown(path, name, {*known, *CONFIG_ONLY, *commands})
    defaults: dict[str, Any] = {}
    for command, params in options.items():
        own = tables.get(command, {})
        for name in own:
            if name not in params:
                raise _unknown(path, ".".join((*command, name)), params)
        merged = {name: value for name, value in shared.items() if name in params} | own
        pointer = {name: ".".join((*command, name)) if name in own else name for name in merged}
        target = defaults
        for part in command:
            target = target.setdefault(part, {})
        for name, value in merged.items():
            param = params[name]
            target[param.name] = _checked(param, value, path, pointer[name])
    return Config(path, defaults, config_only)


def _chain(ctx: click.Context) -> list[click.Context]:
    """Return the contexts from the root to this one."""
    chain = [ctx]
    while chain[0].parent is not None:
        chain.insert(0, chain[0].parent)
    return chain


def _parse(path: Path) -> dict[str, Any]:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UsageError("cannot read the configuration file", obj=str(path), why=error.strerror) from None
    try:
        return tomllib.loads(content.decode("utf-8-sig"))
    # ValueError: also a number of thousands of digits; RecursionError: lists nested as deep.
    except (ValueError, RecursionError) as error:
        raise FileFormatError("is not a TOML file", path=str(path), why=str(error)) from None


def _options() -> Iterator[tuple[tuple[str, ...], dict[str, click.Option]]]:
    """Yield every command's path and its options by key."""
    for path, leaf in leaves():
        options = [param for param in load(path[-1], leaf).params if isinstance(param, click.Option)]
        yield path, {_name(option_key(o)): o for o in options if o.name not in NOT_CONFIGURABLE}


def option_key(param: click.Option) -> str:
    """Return the key of an option in the file: its long form without dashes in front."""
    return next((text[2:] for text in param.opts if text.startswith("--")), param.name or "")


def _tables(
    path: tuple[str, ...], table: dict[str, Any], file: Path
) -> Iterator[tuple[tuple[str, ...], dict[str, Any]]]:
    """Yield the option tables of a command or, of a group, those of the commands in it."""
    entry: Any = TREE
    for name in path:
        entry = entry.children[name]
    if not isinstance(entry, Branch):
        yield path, {_name(key): value for key, value in table.items()}
        return
    for key, value in table.items():
        if key not in entry.children or not isinstance(value, dict):
            raise _unknown(file, ".".join((*path, key)), entry.children)
        yield from _tables((*path, key), value, file)


def _name(key: str) -> str:
    """Return the one spelling of a key: ``time_limit`` is ``time-limit``."""
    return key.replace("_", "-")


def _checked(param: click.Option, value: Any, file: Path, pointer: str) -> Any:
    shape = _shape_fault(param, value)
    if shape is not None:
        raise FileFormatError(shape, path=str(file), pointer=pointer)
    if isinstance(param.type, click.Path):
        value = _from_file([Path(v) for v in value] if param.multiple else Path(value), file)
    try:
        param.type_cast_value(click.Context(click.Command("config")), value)
    except click.BadParameter as error:
        raise FileFormatError(
            "has a wrong value", path=str(file), pointer=pointer, why=error.message
        ) from None
    except (OverflowError, ValueError):
        # TOML has numbers that Python cannot make whole: inf, nan, 1e9999.
        raise FileFormatError(
            "has a wrong value", path=str(file), pointer=pointer, why=f"'{value}' is no number here"
        ) from None
    return value


def _shape_fault(param: click.Option, value: Any) -> str | None:
    """Say what is wrong with the TOML type of a value; None = nothing."""
    if param.is_flag:
        return None if isinstance(value, bool) else "expected true or false"
    if param.count:
        return None if isinstance(value, int) and not isinstance(value, bool) else "expected a whole number"
    if param.multiple:
        return None if isinstance(value, list) else "expected a list"
    if isinstance(value, bool | list | dict):
        return "expected one value"
    if isinstance(param.type, click.Path) and not isinstance(value, str):
        return "expected the path of a file or folder, in quotes"
    return None


def _from_file(value: Any, file: Path) -> Any:
    """Take paths as relative to the configuration file, so that they do not depend on where one stands."""
    if isinstance(value, list):
        return [_from_file(each, file) for each in value]
    return str(file.parent.absolute() / os.path.expanduser(value))


def _check_config_only(values: Mapping[str, Any], file: Path) -> None:
    command = values.get("password_command")
    if command is None or (isinstance(command, str) and command.strip()):
        return
    if isinstance(command, list) and command and all(isinstance(part, str) for part in command):
        return
    raise FileFormatError(
        f"expected {CONFIG_ONLY['password_command']}", path=str(file), pointer="password_command"
    )


def _unknown(file: Path, pointer: str, known: Mapping[str, Any] | set[str]) -> FileFormatError:
    last = pointer.rpartition(".")[2]
    close = difflib.get_close_matches(last, sorted(known), n=1)
    return FileFormatError(
        "no such setting",
        path=str(file),
        pointer=pointer,
        hint=f"did you mean {close[0]}?" if close else "vplacer config show --all lists what can be set",
    )
