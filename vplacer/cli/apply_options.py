"""The options that say what an apply may do, how fast, and at which vCenter."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from vplacer.cli.common import Common, GroupedOption
from vplacer.cli.window import WINDOW
from vplacer.errors import UsageError
from vplacer.jobs.source import SourceOptions

if TYPE_CHECKING:
    from vplacer.apply.options import ApplyOptions

_CONSENT = "What it may do"
_PACE = "How fast, and when"
_VCENTER = "The vCenter"
_PATH = click.Path(path_type=Path)


def format_param() -> click.Option:
    """Return how an apply or a rollback is told, new for each command."""
    return click.Option(
        ["--format"],
        type=click.Choice(["text", "json", "ndjson"]),
        default="text",
        help="text for people; ndjson: one event a line while it runs; json: how it ended.",
    )


def consent_params() -> list[click.Parameter]:
    """Return the consents, new for each command."""
    return [
        _flag("--allow-power-cycle", "Switch running VMs off and on where the plan says so."),
        _flag("--allow-migration", "Move VMs to other hosts where the plan says so."),
        _flag("--allow-hw-upgrade", "Upgrade virtual hardware where the plan says so; it cannot be undone."),
        _flag(
            "--allow-hard-power-off",
            "Switch a VM off at once when its guest does not shut down in time, and give up the memory of "
            "suspended VMs.",
        ),
        GroupedOption(
            ["--max-disruption"],
            heading=_CONSENT,
            metavar="N",
            type=click.IntRange(min=0),
            help="Refuse if more running VMs than this are switched off or migrated in the whole plan.",
        ),
        GroupedOption(
            ["--include-managed"],
            heading=_CONSENT,
            metavar="VM",
            multiple=True,
            help="Change this VM although somebody else owns it (name or managed object id; more than once).",
        ),
    ]


def pace_params() -> list[click.Parameter]:
    """Return the limits of time, new for each command."""
    return [
        GroupedOption(
            ["--window"],
            heading=_PACE,
            metavar="START/END",
            type=WINDOW,
            help="Begin to disrupt VMs only in this time: 22:00/04:00, the window that is open or else the "
            "next, or two ISO 8601 times; without a zone this machine's. What has begun is finished.",
        ),
        GroupedOption(
            ["--waves"],
            heading=_PACE,
            metavar="N[,N...]",
            callback=_waves,
            help="How many VMs the first wave has, the second, and so on; the last number goes on. A wave "
            "begins when all of the one before is done.",
        ),
        GroupedOption(
            ["--parallelism"],
            heading=_PACE,
            metavar="N",
            type=click.IntRange(min=1),
            default=4,
            show_default=True,
            help="Most tasks at a time. Of one host, and of VMs that must be apart, only one is disturbed at "
            "a time.",
        ),
        GroupedOption(
            ["--shutdown-timeout"],
            heading=_PACE,
            metavar="SECONDS",
            type=click.FloatRange(min=1, max=86_400),
            default=300.0,
            show_default=True,
            help="How long a guest may take to shut down.",
        ),
        GroupedOption(
            ["--task-timeout"],
            heading=_PACE,
            metavar="SECONDS",
            type=click.FloatRange(min=1, max=7 * 86_400),
            default=3600.0,
            show_default=True,
            help="A task that takes longer counts as stalled: nothing more is begun, and --resume goes on.",
        ),
    ]


def vcenter_params() -> list[click.Parameter]:
    """Return how the vCenter is reached, new for each command."""
    return [
        GroupedOption(
            ["--vcenter"],
            heading=_VCENTER,
            metavar="HOST[:PORT]",
            envvar="VPLACER_VCENTER",
            help="The vCenter that the plan was made for. The password comes from --password-file, "
            "--password-stdin, VPLACER_PASSWORD, VPLACER_PASSWORD_FILE, the keyring, or password_command of "
            "the configuration.",
        ),
        GroupedOption(
            ["--username"],
            heading=_VCENTER,
            metavar="NAME",
            envvar="VPLACER_USERNAME",
            help="Account of the vCenter.",
        ),
        GroupedOption(
            ["--password-file"],
            heading=_VCENTER,
            metavar="FILE",
            type=_PATH,
            help="File that holds the password. For every command: VPLACER_PASSWORD_FILE.",
        ),
        GroupedOption(
            ["--password-stdin"],
            heading=_VCENTER,
            is_flag=True,
            help="Read the password from standard input.",
        ),
        GroupedOption(
            ["--ca-file"],
            heading=_VCENTER,
            metavar="FILE",
            type=_PATH,
            envvar="VPLACER_CA_FILE",
            help="Certificates (PEM) to verify the vCenter with, instead of the system's.",
        ),
        GroupedOption(
            ["--insecure"],
            heading=_VCENTER,
            is_flag=True,
            help="Do not verify the vCenter's certificate; warns each time. With --yes only where the "
            "configuration file says so too.",
        ),
        GroupedOption(
            ["--overlays"],
            heading=_VCENTER,
            metavar="DIR",
            type=_PATH,
            envvar="VPLACER_OVERLAYS",
            help="Use the overlays in this folder and no others, for looking where devices are afterwards. "
            "Without it: those in the user's data folder under the vCenter's UUID.",
        ),
    ]


def _flag(name: str, text: str) -> click.Option:
    return GroupedOption([name], heading=_CONSENT, is_flag=True, help=text)


def _waves(ctx: click.Context, param: click.Parameter, value: Any) -> tuple[int, ...]:
    if value is None or isinstance(value, tuple):
        return value or ()
    try:
        sizes = tuple(int(part) for part in str(value).split(","))
    except ValueError:
        sizes = ()
    if not sizes or min(sizes) < 1:
        raise click.BadParameter(f"'{value}' are no sizes of waves; expected such as 1,5,20.", ctx, param)
    return sizes


def apply_options_of(values: Mapping[str, Any]) -> ApplyOptions:
    """Return what an apply may do, and how fast."""
    from vplacer.apply.options import ApplyOptions, Timing

    return ApplyOptions(
        allow_power_cycle=values["allow_power_cycle"],
        allow_migration=values["allow_migration"],
        allow_hw_upgrade=values["allow_hw_upgrade"],
        allow_hard_power_off=values["allow_hard_power_off"],
        max_disruption=values["max_disruption"],
        include_managed=frozenset(values["include_managed"]),
        parallelism=values["parallelism"],
        window=values["window"],
        waves=values["waves"],
        timing=Timing(
            shutdown_timeout_s=values["shutdown_timeout"],
            task_timeout_s=values["task_timeout"],
        ),
    )


def vcenter_of(ctx: click.Context, common: Common, values: Mapping[str, Any]) -> SourceOptions:
    """Return the vCenter to connect to.

    Raises:
        UsageError: none was named, or --insecure goes with --yes.
    """
    address = values["vcenter"] or common.environ.get("VMWARE_HOST")
    if not address:
        raise UsageError("no vCenter was named", hint="give --vcenter HOST, or set VPLACER_VCENTER")
    configured = bool((ctx.default_map or {}).get("insecure"))
    if values["insecure"] and values["yes"] and not configured:
        raise UsageError(
            "--insecure and --yes exclude each other",
            why="nobody would notice that something else than the vCenter answers",
            hint="give --ca-file; or set insecure in the configuration file too, if it has to be",
        )
    return SourceOptions(
        vcenter=address,
        username=values["username"],
        password_file=values["password_file"],
        password_stdin=values["password_stdin"],
        password_command=common.config_only.get("password_command"),
        ca_file=values["ca_file"],
        insecure=values["insecure"],
        overlays=values["overlays"],
    )
