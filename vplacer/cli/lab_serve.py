"""`vplacer lab serve`."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from vplacer.cli.common import Command, Common, common_of, examples
from vplacer.cli.examples_type import FileOrExample
from vplacer.cli.output import count, emit, remark
from vplacer.cli.run import world_for

if TYPE_CHECKING:
    from vplacer.jobs.lab import Served


@click.pass_context
def _run(ctx: click.Context, /, site: str, **values: Any) -> None:
    from vplacer.jobs.lab import ServeOptions, serve_site

    common = common_of(ctx)
    options = ServeOptions(
        site=site,
        port=values["port"],
        username=values["user"],
        password_file=values["password_file"],
        api_version=values["api_version"],
        read_only=values["read_only"],
        state=values["state"],
        speed=values["speed"],
    )
    with serve_site(options, world_for(common)) as served:
        _announce(common, served, values["format"])
        threading.Event().wait()


def _announce(common: Common, served: Served, format_: str) -> None:
    if format_ == "json":
        emit(
            common,
            json.dumps(
                {
                    "url": served.url,
                    "vcenter": served.address,
                    "ca_file": str(served.ca_file),
                    "username": served.username,
                    "password_file": str(served.password_file) if served.password_file else None,
                    "api_version": served.api_version,
                    "overlays": str(served.overlays) if served.overlays else None,
                }
            ),
        )
        return
    password = served.password_file or "(the one you gave)"
    overlays = f"  overlays       {served.overlays}\n" if served.overlays else ""
    emit(
        common,
        f"{served.name}: simulated vCenter, {count(served.hosts, 'host')}, {count(served.vms, 'VM')}, "
        f"API {served.api_version}\n"
        f"  address        {served.address}\n"
        f"  URL            {served.url}\n"
        f"  CA file        {served.ca_file}\n"
        f"  user           {served.username}\n"
        f"  password file  {password}\n"
        f"{overlays}",
    )
    options = f"--vcenter {served.address} --ca-file {served.ca_file} --username {served.username}"
    if served.password_file:
        options += f" --password-file {served.password_file}"
    if served.overlays:
        options += f" --overlays {served.overlays}"
    remark(common, f"vplacer plan --dry-run {options} -r REQUEST\nCtrl-C ends it.")


command = Command(
    "serve",
    callback=_run,
    help="Serve SITE as a vCenter on this machine, over HTTPS on loopback, for vplacer and any other client, "
    "until Ctrl-C. SITE is an example of `vplacer lab list`, or an inventory YAML or snapshot; a file of "
    "that name goes first. The certificate authority is made anew at each start. The password is that of "
    "--password-file or VPLACER_LAB_PASSWORD, else a random one, in a file that only you can read. What no "
    "vCenter tells, such as NVLinks of PCIe cards, is written into a folder for vplacer's --overlays. "
    "Both last until the end.",
    params=[
        click.Argument(["site"], type=FileOrExample("sites")),
        click.Option(
            ["--port"],
            type=click.IntRange(0, 65535),
            default=0,
            show_default="any free one",
            help="Port on loopback.",
        ),
        click.Option(
            ["--user"], metavar="NAME", default="administrator@vsphere.local", help="Who may log in."
        ),
        click.Option(
            ["--password-file"],
            metavar="FILE",
            type=click.Path(path_type=Path),
            help="File that holds the password to accept.",
        ),
        click.Option(["--api-version"], metavar="VERSION", help="Newest API to speak. Default: the site's."),
        click.Option(["--read-only"], is_flag=True, help="The account has vSphere's role Read-only."),
        click.Option(
            ["--state"],
            metavar="FILE",
            type=click.Path(path_type=Path),
            help="Keep the state in this file: read at the start if it is there, written at the end.",
        ),
        click.Option(
            ["--speed"],
            metavar="FACTOR",
            type=click.FloatRange(0.01, 1000),
            default=1.0,
            show_default=True,
            help="How much faster than real time passes there: tasks and guests take so much less.",
        ),
        click.Option(
            ["--format"],
            type=click.Choice(["text", "json"]),
            default="text",
            help="How address, account and files are told.",
        ),
    ],
    epilog=examples(
        "vplacer lab serve nvswitch --port 8443",
        "vplacer lab serve site.json.gz --api-version 8.0.2.0",
    ),
)
