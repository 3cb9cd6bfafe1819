"""Reads an inventory, wherever it comes from: a vCenter, a file, a simulated vCenter, a recording.

Everything downstream sees the same `Reading`; nothing there can tell which source it was.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from vplacer.errors import InternalError, InventoryIncomplete
from vplacer.inventory.overlay import Overlay
from vplacer.inventory.vcenter import Gap, Inventory
from vplacer.jobs.fixtures import file_or_fixture
from vplacer.jobs.output_file import check_writable
from vplacer.jobs.overlays import find_overlays, folder_beside, save_overlays
from vplacer.jobs.world import World

if TYPE_CHECKING:
    from vplacer.inventory.site import Site
    from vplacer.vsphere.credentials import Credentials
    from vplacer.vsphere.session import ConnectOptions

_SHOWN_GAPS = 12


@dataclass(frozen=True, slots=True)
class SourceOptions:
    """Where the inventory comes from. Exactly one of ``vcenter``, ``file``, ``lab``, ``cassette`` is set.

    ``file``, ``lab`` and ``cassette`` are paths or names of examples. ``overlays``: a folder, None = the
    usual places. ``record``: a file that the session is recorded into.
    """

    vcenter: str | None = None
    file: str | None = None
    lab: str | None = None
    cassette: str | None = None
    username: str | None = None
    password_file: Path | None = None
    password_stdin: bool = False
    password_command: str | Sequence[str] | None = None
    ca_file: Path | None = None
    insecure: bool = False
    overlays: Path | None = None
    allow_incomplete: bool = False
    record: Path | None = None


@dataclass(frozen=True, slots=True)
class Reading:
    """What was read, and the overlays that go with it; ``overlay_origins`` are the places of these."""

    inventory: Inventory
    overlays: tuple[Overlay, ...]
    overlay_origins: tuple[str, ...]


def read_source(options: SourceOptions, world: World, now: datetime | None = None) -> Reading:
    """Read the inventory and its overlays.

    Args:
        options: which source.
        world: the outside.
        now: stamp the reading with this time; None = the vCenter's own.

    Raises:
        InventoryIncomplete: part of it could not be read, and that was not allowed.
        VplacerError: any other reason why it could not be read, see `vplacer.errors`.
    """
    if options.record is not None:
        check_writable(options.record)
    try:
        reading = _read(options, world, now)
    finally:
        world.progress.finish()
    if options.record is not None and reading.overlays:
        save_overlays(folder_beside(options.record), reading.overlays)
    if reading.inventory.gaps and not options.allow_incomplete:
        raise incomplete(reading.inventory)
    return reading


def incomplete(inventory: Inventory) -> InventoryIncomplete:
    """Return the error for an inventory with gaps; it names them."""
    gaps = inventory.gaps
    named = (inventory.hosts, inventory.vms, inventory.clusters, inventory.pools, inventory.datastores)
    names = {item.moid: item.name for items in named for item in items}
    lines = [f"\n  {_gap_text(gap, names)}" for gap in gaps[:_SHOWN_GAPS]]
    if len(gaps) > _SHOWN_GAPS:
        lines.append(f"\n  and {len(gaps) - _SHOWN_GAPS} more")
    places = "1 place" if len(gaps) == 1 else f"{len(gaps)} places"
    return InventoryIncomplete(
        f"the inventory is incomplete: {places} could not be read{''.join(lines)}",
        obj=inventory.about.name or None,
        hint="give the account the missing privileges, reconnect the hosts, or use --allow-incomplete "
        "to go on without what is missing",
    )


def _gap_text(gap: Gap, names: Mapping[str, str]) -> str:
    name = names.get(gap.object)
    who = f"{name} ({gap.object})" if name else gap.object
    return "  ".join(part for part in (who, gap.path, f"{gap.kind}: {gap.reason}") if part)


def _read(options: SourceOptions, world: World, now: datetime | None) -> Reading:
    if options.file is not None:
        path = file_or_fixture("sites", options.file)
        site = load_site(path)
        return _with_overlays(options, world, site.inventory, site.overlays, path)
    if options.lab is not None:
        path = file_or_fixture("sites", options.lab)
        site = load_site(path)
        return _with_overlays(options, world, _from_lab(site, options, world, now), site.overlays, path)
    if options.cassette is not None:
        path = file_or_fixture("cassettes", options.cassette)
        return _with_overlays(options, world, _from_cassette(path, world, now), (), path)
    if options.vcenter is None:
        raise InternalError("no source was chosen")
    return _with_overlays(options, world, _from_vcenter(options.vcenter, options, world, now), (), None)


def load_site(path: Path) -> Site:
    """Load an inventory YAML or a snapshot."""
    from vplacer.inventory.load import load_inventory_file

    return load_inventory_file(path)


def _with_overlays(
    options: SourceOptions, world: World, inventory: Inventory, own: tuple[Overlay, ...], file: Path | None
) -> Reading:
    found = find_overlays(options.overlays, own, file, world.environ, inventory.about.instance_uuid)
    return Reading(inventory, found.items, found.origins)


def _from_vcenter(text: str, options: SourceOptions, world: World, now: datetime | None) -> Inventory:
    from vplacer.vsphere.address import Address, proxy_for
    from vplacer.vsphere.credentials import CredentialOptions, Sources, resolve
    from vplacer.vsphere.session import ConnectOptions

    address = Address.parse(text)
    if options.insecure:
        world.warn(
            f"the certificate of {address} is not verified (--insecure): "
            "whoever answers there gets the password"
        )
    credentials = resolve(
        CredentialOptions(
            username=options.username,
            password_file=options.password_file,
            password_stdin=options.password_stdin,
            password_command=options.password_command,
        ),
        address,
        Sources(environ=world.environ, stdin=world.stdin),
    )
    for warning in credentials.warnings:
        world.warn(warning)
    connect = ConnectOptions(
        address=address,
        ca_file=options.ca_file,
        insecure=options.insecure,
        proxy=proxy_for(address, world.environ),
    )
    return _collect_recorded(connect, credentials, options.record, world, now)


def _from_lab(site: Site, options: SourceOptions, world: World, now: datetime | None) -> Inventory:
    from vplacer.jobs.lab import lab_server
    from vplacer.vsphere.address import Address
    from vplacer.vsphere.credentials import Credentials
    from vplacer.vsphere.secret import Secret
    from vplacer.vsphere.session import ConnectOptions

    with lab_server(site, now) as server:
        credentials = Credentials(server.username, Secret(server.password), "the lab", "the lab")
        connect = ConnectOptions(address=Address.parse(server.url), ca_file=server.ca_file)
        return _collect_recorded(connect, credentials, options.record, world, now)


def _from_cassette(path: Path, world: World, now: datetime | None) -> Inventory:
    from vplacer.vsphere.cassettes import replaying
    from vplacer.vsphere.session import ConnectOptions

    with replaying(path) as recorded:
        connect = ConnectOptions(address=recorded.address, api_version=recorded.api_version)
        return _collect(connect, recorded.credentials, world, now, single_thread=True)


def _collect_recorded(
    connect: ConnectOptions,
    credentials: Credentials,
    record: Path | None,
    world: World,
    now: datetime | None,
) -> Inventory:
    from vplacer.vsphere.cassettes import recording

    tape: AbstractContextManager[None] = nullcontext() if record is None else recording(record, credentials)
    with tape:
        return _collect(connect, credentials, world, now, single_thread=record is not None)


def _collect(
    connect: ConnectOptions,
    credentials: Credentials,
    world: World,
    now: datetime | None,
    *,
    single_thread: bool,
) -> Inventory:
    from vplacer.vsphere.session import Session

    with Session.connect(connect, credentials) as session:
        from vplacer.vsphere.collector import collect

        return collect(session, now)
