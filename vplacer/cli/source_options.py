"""The options that say where the inventory comes from. The same on every command that reads one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from vplacer.cli.common import Common, GroupedOption, rank
from vplacer.cli.examples_type import FileOrExample
from vplacer.errors import UsageError
from vplacer.jobs.hosts_asked import INTERVAL_S, SAMPLES, Asking
from vplacer.jobs.source import SourceOptions

SOURCES = {"vcenter": "--vcenter", "from": "--from", "lab": "--lab", "replay": "--replay"}
"""Parameter names and options of the four sources."""

_ONLY_VCENTER = {
    "username": "--username",
    "password_file": "--password-file",
    "password_stdin": "--password-stdin",
    "ca_file": "--ca-file",
    "insecure": "--insecure",
}
_PATH = click.Path(path_type=Path)


_HEADING = "Source of the inventory: one of --vcenter, --from, --lab, --replay"


def source_params() -> list[click.Parameter]:
    """Return the source options, new for each command."""
    return [*_which_source(), *_vcenter_login(), *_how_it_is_read(), *_asked_of_hosts()]


def _which_source() -> list[click.Parameter]:
    return [
        _option(
            "--vcenter",
            metavar="HOST[:PORT]",
            envvar="VPLACER_VCENTER",
            help="Read this vCenter. The password comes from --password-file, --password-stdin, "
            "VPLACER_PASSWORD, VPLACER_PASSWORD_FILE, the keyring, or password_command of the configuration.",
        ),
        _option(
            "--from",
            metavar="FILE|DIR",
            type=FileOrExample("sites"),
            envvar="VPLACER_FROM",
            help="Read a snapshot that `vplacer collect` wrote, an inventory YAML, or a folder that "
            "`govc object.save` wrote.",
        ),
        _option(
            "--lab",
            metavar="SITE",
            type=FileOrExample("sites"),
            envvar="VPLACER_LAB",
            help="Start a simulated vCenter for this run and read it. SITE is an example of "
            "`vplacer lab list`, or an inventory YAML or snapshot; a file of that name goes first.",
        ),
        _option(
            "--replay",
            metavar="CASSETTE",
            type=FileOrExample("cassettes"),
            envvar="VPLACER_REPLAY",
            help="Read a session recorded with --record or `vplacer lab record`.",
        ),
    ]


def _vcenter_login() -> list[click.Parameter]:
    return [
        _option("--username", metavar="NAME", envvar="VPLACER_USERNAME", help="Account of the vCenter."),
        _option(
            "--password-file",
            metavar="FILE",
            type=_PATH,
            help="File that holds the password. For every command: VPLACER_PASSWORD_FILE.",
        ),
        _option("--password-stdin", is_flag=True, help="Read the password from standard input."),
        _option(
            "--ca-file",
            metavar="FILE",
            type=_PATH,
            envvar="VPLACER_CA_FILE",
            help="Certificates (PEM) to verify the vCenter with, instead of the system's.",
        ),
        _option("--insecure", is_flag=True, help="Do not verify the vCenter's certificate; warns each time."),
    ]


def _how_it_is_read() -> list[click.Parameter]:
    return [
        _option(
            "--overlays",
            metavar="DIR",
            type=_PATH,
            envvar="VPLACER_OVERLAYS",
            help="Use the overlays in this folder and no others: NVLinks and locality that a vCenter cannot "
            "tell. Without it: those in an inventory YAML, in the folder NAME.overlays beside the file read, "
            "and in the user's data folder under the vCenter's UUID.",
        ),
        _option(
            "--allow-incomplete",
            is_flag=True,
            help="Go on although part of the inventory could not be read.",
        ),
        _option(
            "--record",
            metavar="FILE",
            type=_PATH,
            help="Record the session with the vCenter (.json or .json.gz), without passwords, user names "
            "and other secrets.",
        ),
        _option(
            "--force",
            is_flag=True,
            help="Replace output files of any kind too; never one that is read.",
        ),
    ]


def _asked_of_hosts() -> list[click.Parameter]:
    return [
        _option(
            "--measured",
            is_flag=True,
            help="Measure on which NUMA nodes running VMs are now and how local their memory is (the hosts' "
            "esxtop service; privilege Global.ServiceManagers). For display: no decision uses it.",
        ),
        _option(
            "--samples",
            metavar="N",
            type=click.IntRange(1, 100),
            default=SAMPLES,
            show_default=True,
            help="Samples that --measured takes.",
        ),
        _option(
            "--interval",
            metavar="SECONDS",
            type=click.FloatRange(min=INTERVAL_S, max=3600),
            default=INTERVAL_S,
            show_default=True,
            help="Time between two samples; esxtop's own shortest is 2 s.",
        ),
        _option(
            "--esxcli",
            is_flag=True,
            help="Where vCenter does not tell on which NUMA node a GPU or NIC sits, ask the host's esxcli "
            "(hardware pci list) through the vCenter, without SSH.",
        ),
    ]


def _option(*names: str, **kwargs: Any) -> click.Option:
    return GroupedOption(names, heading=_HEADING, **kwargs)


def source_of(ctx: click.Context, common: Common, values: Mapping[str, Any]) -> SourceOptions:
    """Return the source chosen. One given on the command line beats the environment, that the configuration.

    Raises:
        UsageError: no source, two of the same strength, or an option that does not go with it.
    """
    if not any(values.get(name) for name in SOURCES):
        values = {**values, "vcenter": common.environ.get("VMWARE_HOST")}
    chosen = _choose(ctx, values)
    if chosen != "vcenter":
        for name, option in _ONLY_VCENTER.items():
            if values.get(name) and rank(ctx, name) == 3:
                raise UsageError(f"{option} goes with --vcenter only, not with {SOURCES[chosen]}")
    if values["record"] and chosen in ("from", "replay"):
        raise UsageError(
            f"--record records a session with a vCenter; {SOURCES[chosen]} opens none",
            hint="use it with --vcenter or --lab",
        )
    asking = _asking(ctx, values, chosen)
    return SourceOptions(
        vcenter=values["vcenter"] if chosen == "vcenter" else None,
        file=values["from"] if chosen == "from" else None,
        lab=values["lab"] if chosen == "lab" else None,
        cassette=values["replay"] if chosen == "replay" else None,
        username=values["username"],
        password_file=values["password_file"],
        password_stdin=values["password_stdin"],
        password_command=common.config_only.get("password_command"),
        ca_file=values["ca_file"],
        insecure=values["insecure"],
        overlays=values["overlays"],
        allow_incomplete=values["allow_incomplete"],
        record=values["record"],
        asking=asking,
        force=values["force"],
    )


def _asking(ctx: click.Context, values: Mapping[str, Any], chosen: str) -> Asking:
    """Return what the hosts are asked.

    Raises:
        UsageError: the source has no hosts to ask, or an option has nothing to act on.
    """
    for name in ("measured", "esxcli"):
        if values[name] and chosen == "from":
            raise UsageError(
                f"--{name} asks the hosts themselves; a file has none to ask",
                hint="use it with --vcenter, --lab or --replay. What was told earlier and saved beside the "
                "file (NAME.overlays) is used without it",
            )
    for name in ("samples", "interval"):
        if not values["measured"] and rank(ctx, name) == 3:
            raise UsageError(f"--{name} goes with --measured only")
    return Asking(
        measured=values["measured"],
        samples=values["samples"],
        interval_s=values["interval"],
        esxcli=values["esxcli"],
    )


def _choose(ctx: click.Context, values: Mapping[str, Any]) -> str:
    given = {name: rank(ctx, name) for name in SOURCES if values.get(name)}
    if not given:
        raise UsageError(
            "where should the inventory come from?",
            why="none of --vcenter, --from, --lab, --replay is given",
            hint="to try it out: --lab nvswitch (vplacer lab list names the examples)",
        )
    best = [name for name, strength in given.items() if strength == max(given.values())]
    if len(best) > 1:
        raise UsageError(
            f"{' and '.join(SOURCES[name] for name in best)} exclude each other",
            hint="give one source",
        )
    return best[0]
