"""Where the user name and the password come from.

A password is taken from the first of these that has one:

1. ``--password-file`` or ``--password-stdin``
2. ``VPLACER_PASSWORD`` or ``VPLACER_PASSWORD_FILE``
3. the system's keyring, where the ``keyring`` extra is installed (service ``vplacer``,
   user ``name@domain``)
4. ``password_command`` of the configuration
5. ``VMWARE_PASSWORD``, the name that Ansible's modules use

There is no option that takes a password on the command line: every user of the machine could read it.
"""

from __future__ import annotations

import importlib
import os
import shlex
import stat
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

from vplacer.errors import UsageError
from vplacer.vsphere.address import Address
from vplacer.vsphere.secret import Secret

KEYRING_SERVICE = "vplacer"
_MAX_PASSWORD_BYTES = 64 * 1024
_COMMAND_TIMEOUT_S = 60.0


@dataclass(frozen=True, slots=True)
class CredentialOptions:
    """What the command line and the configuration say of credentials."""

    username: str | None = None
    password_file: Path | None = None
    password_stdin: bool = False
    password_command: str | Sequence[str] | None = None


@dataclass(frozen=True, slots=True)
class Credentials:
    """A user name and a password, where each came from, and what to warn about."""

    user: str
    password: Secret
    user_from: str
    password_from: str
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Sources:
    """The world outside that `resolve` reads; tests replace it.

    Args:
        environ: environment variables.
        stdin: standard input.
        keyring: returns the keyring's password for a service and a user, or None; raises
            `KeyringUnusable` where there is none to ask.
        run: runs a command with more environment variables and returns its exit code and output.
    """

    environ: Mapping[str, str]
    stdin: TextIO | None = None
    keyring: Callable[[str, str], str | None] | None = None
    run: Callable[[Sequence[str], Mapping[str, str]], tuple[int, str]] | None = None


class KeyringUnusable(Exception):
    """No keyring can be asked; the text says why."""


@dataclass(slots=True)
class _Search:
    """The places looked at, for the message when none has a password, and the warnings met."""

    tried: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def resolve(options: CredentialOptions, address: Address, sources: Sources) -> Credentials:
    """Return the credentials for a vCenter.

    Args:
        options: command line and configuration.
        address: the vCenter they are for.
        sources: environment, standard input, keyring, command runner.

    Raises:
        UsageError: no user name or no password, or a source that was named cannot be used. The
            message lists the places that were looked at.
    """
    user, user_from = _user(options, sources.environ)
    search = _Search()
    for source in (_from_options, _from_environment, _from_keyring, _from_command, _from_vmware):
        found = source(options, user, address, sources, search)
        if found is not None:
            password, place = found
            if not password:
                raise UsageError(f"the password from {place} is empty", hint="put the password there")
            return Credentials(user, Secret(password), user_from, place, tuple(search.warnings))
    raise UsageError(
        f"no password for '{user}' at {address}",
        why="looked at " + "; ".join(search.tried),
        hint="use --password-file FILE, --password-stdin, or set VPLACER_PASSWORD_FILE",
    )


def _user(options: CredentialOptions, environ: Mapping[str, str]) -> tuple[str, str]:
    places = (
        ("--username", options.username),
        ("VPLACER_USERNAME", environ.get("VPLACER_USERNAME")),
        ("VMWARE_USER", environ.get("VMWARE_USER")),
    )
    for place, value in places:
        if value:
            return value, place
    raise UsageError(
        "no user name for the vCenter",
        why="looked at --username, VPLACER_USERNAME, VMWARE_USER",
        hint="use --username name@domain",
    )


_Found = tuple[str, str] | None


def _from_options(
    options: CredentialOptions, user: str, address: Address, sources: Sources, search: _Search
) -> _Found:
    del user, address
    if options.password_file is not None and options.password_stdin:
        raise UsageError("--password-file and --password-stdin exclude each other")
    if options.password_file is not None:
        return _read_file(options.password_file, "--password-file", search)
    if options.password_stdin:
        return _read_stdin(sources.stdin)
    search.tried.append("--password-file and --password-stdin (not given)")
    return None


def _from_environment(
    options: CredentialOptions, user: str, address: Address, sources: Sources, search: _Search
) -> _Found:
    del options, user, address
    password = sources.environ.get("VPLACER_PASSWORD")
    path = sources.environ.get("VPLACER_PASSWORD_FILE")
    if password is not None and path is not None:
        raise UsageError(
            "VPLACER_PASSWORD and VPLACER_PASSWORD_FILE exclude each other", hint="unset one of them"
        )
    if password is not None:
        return password, "VPLACER_PASSWORD"
    if path is not None:
        return _read_file(Path(path), "VPLACER_PASSWORD_FILE", search)
    search.tried.append("VPLACER_PASSWORD and VPLACER_PASSWORD_FILE (not set)")
    return None


def _from_keyring(
    options: CredentialOptions, user: str, address: Address, sources: Sources, search: _Search
) -> _Found:
    del options
    ask = sources.keyring or system_keyring
    # One account often serves several vCenters; an entry for the one vCenter goes first.
    for entry in (f"{user}@{address}", user):
        try:
            password = ask(KEYRING_SERVICE, entry)
        except KeyringUnusable as error:
            search.tried.append(f"the keyring ({error})")
            return None
        if password is not None:
            return password, f"the keyring (service {KEYRING_SERVICE}, user {entry})"
    search.tried.append(f"the keyring (no entry of service {KEYRING_SERVICE} for {user})")
    return None


def _from_command(
    options: CredentialOptions, user: str, address: Address, sources: Sources, search: _Search
) -> _Found:
    if not options.password_command:
        search.tried.append("password_command (not configured)")
        return None
    command = _split(options.password_command)
    run = sources.run or _run_command
    place = f"password_command ({command[0]})"
    try:
        code, output = run(command, {"VPLACER_VCENTER": str(address), "VPLACER_USERNAME": user})
    except subprocess.TimeoutExpired:
        raise UsageError(f"{place} did not end within {_COMMAND_TIMEOUT_S:g} s") from None
    except (OSError, UnicodeError) as error:
        why = getattr(error, "strerror", None) or "its output is not UTF-8 text"
        raise UsageError(f"{place} cannot be run", why=why) from None
    if code != 0:
        raise UsageError(f"{place} failed with exit code {code}", hint="run it by hand to see why")
    return _one_line(output, place), place


def _from_vmware(
    options: CredentialOptions, user: str, address: Address, sources: Sources, search: _Search
) -> _Found:
    del options
    environ = sources.environ
    password = environ.get("VMWARE_PASSWORD")
    if password is None:
        search.tried.append("VMWARE_PASSWORD (not set)")
        return None
    # These three belong together: a password is not tried on another account or another vCenter.
    if (owner := environ.get("VMWARE_USER")) and owner != user:
        search.tried.append(f"VMWARE_PASSWORD (left alone: it belongs to VMWARE_USER, not to '{user}')")
        return None
    host = environ.get("VMWARE_HOST")
    if host and Address.parse(host).host.lower() != address.host.lower():
        search.tried.append(f"VMWARE_PASSWORD (left alone: it belongs to VMWARE_HOST, not to {address})")
        return None
    return password, "VMWARE_PASSWORD"


def _split(command: str | Sequence[str]) -> Sequence[str]:
    if not isinstance(command, str):
        return command
    try:
        return shlex.split(command)
    except ValueError as error:
        raise UsageError("password_command cannot be split into words", why=str(error)) from None


def _run_command(command: Sequence[str], more: Mapping[str, str]) -> tuple[int, str]:
    result = subprocess.run(
        command,
        env={**os.environ, **more},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        timeout=_COMMAND_TIMEOUT_S,
        check=False,
    )
    return result.returncode, result.stdout.decode()


def system_keyring(service: str, user: str) -> str | None:
    """Ask the system's keyring.

    Raises:
        KeyringUnusable: the extra is not installed, or no backend works here.
    """
    # An optional extra, so not an import that every checker of this code can follow.
    try:
        keyring: Any = importlib.import_module("keyring")
        failures: Any = importlib.import_module("keyring.errors").KeyringError
    except ImportError:
        raise KeyringUnusable("not installed: pip install 'vplacer[keyring]'") from None
    try:
        password: str | None = keyring.get_password(service, user)
    except failures as error:
        raise KeyringUnusable(str(error).splitlines()[0] if str(error) else type(error).__name__) from None
    return password


def _read_file(path: Path, place: str, search: _Search) -> tuple[str, str]:
    place = f"{place} {path}"
    try:
        with path.open("rb") as file:
            state = os.fstat(file.fileno())
            content = file.read(_MAX_PASSWORD_BYTES + 1)
    except OSError as error:
        raise UsageError(f"{place} cannot be read", why=error.strerror) from None
    if len(content) > _MAX_PASSWORD_BYTES:
        raise UsageError(f"{place} is too large for a password", hint="is it the right file?")
    if os.name == "posix" and stat.S_ISREG(state.st_mode) and state.st_mode & 0o044:
        search.warnings.append(
            f"{path} can be read by others (mode {stat.S_IMODE(state.st_mode):04o}); run: chmod 600 {path}"
        )
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UsageError(f"{place} is not UTF-8 text", hint="is it the right file?") from None
    return _one_line(text, place), place


def _read_stdin(stdin: TextIO | None) -> tuple[str, str]:
    place = "--password-stdin"
    if stdin is None or stdin.isatty():
        raise UsageError(
            f"{place} needs the password on a pipe", hint="such as: pass show vcenter | vplacer ..."
        )
    return _one_line(stdin.read(_MAX_PASSWORD_BYTES), place), place


def _one_line(text: str, place: str) -> str:
    """Return the text without its one line end; more lines mean that this is not a password."""
    line = text.removesuffix("\n").removesuffix("\r")
    if "\n" in line or "\r" in line:
        raise UsageError(f"{place} holds more than one line", hint="it must hold the password alone")
    return line
