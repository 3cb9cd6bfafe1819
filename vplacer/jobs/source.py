"""Reads an inventory, wherever it comes from: a vCenter, a file, a simulated vCenter, a recording.

Everything downstream sees the same `Reading`; nothing there can tell which source it was.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from vplacer.errors import InternalError, InventoryIncomplete
from vplacer.inventory.finding import Finding
from vplacer.inventory.overlay import Overlay
from vplacer.inventory.vcenter import Gap, Inventory
from vplacer.jobs.file_kind import FileKind
from vplacer.jobs.fixtures import FixtureKind, file_or_fixture, list_fixtures
from vplacer.jobs.hosts_asked import Asking, Told, ask_hosts, tell_findings
from vplacer.jobs.lab import LabAccount, lab_server
from vplacer.jobs.output_file import check_output, check_temporary_folder
from vplacer.jobs.overlays import find_overlays, folder_beside, overlay_files, save_overlays, with_newer
from vplacer.jobs.world import World

if TYPE_CHECKING:
    from vplacer.inventory.site import Site
    from vplacer.vsphere.credentials import Credentials
    from vplacer.vsphere.session import ConnectOptions, Session

    Also = Callable[[Session], None]

WORKERS = 8
"""Hosts that are asked at a time."""
_SHOWN_GAPS = 12


@dataclass(frozen=True, slots=True)
class Login:
    """How a vCenter is reached, and as whom."""

    connect: ConnectOptions
    credentials: Credentials = field(repr=False)


@dataclass(frozen=True, slots=True)
class SourceOptions:
    """Where the inventory comes from. Exactly one of ``vcenter``, ``file``, ``lab``, ``cassette`` is set.

    ``file``, ``lab`` and ``cassette`` are paths or names of examples; ``file`` may be a folder of ``govc
    object.save``. ``overlays``: a folder, None = the usual places. ``record``: a file that the session is
    recorded into. ``asking``: what the hosts themselves are asked. ``force``: outputs may replace files of
    any kind. ``login``: how ``vcenter`` is reached, where that has been found out already.
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
    asking: Asking = field(default_factory=Asking)
    force: bool = False
    lab_account: LabAccount = field(default_factory=LabAccount)
    login: Login | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Reading:
    """What was read, and the overlays that go with it; ``overlay_origins`` are the places of these.

    ``findings``: hosts that were asked and told nothing, and why.
    """

    inventory: Inventory
    overlays: tuple[Overlay, ...]
    overlay_origins: tuple[str, ...]
    findings: tuple[Finding, ...] = ()


def read_source(options: SourceOptions, world: World, also: Also | None = None) -> Reading:
    """Read the inventory and its overlays. It is stamped with the time of the vCenter's own clock.

    Args:
        options: which source.
        world: the outside.
        also: what else to do with the session, before the inventory is read; a file has none.

    Raises:
        InventoryIncomplete: part of it could not be read, and that was not allowed.
        VplacerError: any other reason why it could not be read, see `vplacer.errors`.
    """
    if options.record is not None:
        check_output(options.record, FileKind.RECORDING, inputs=source_files(options), force=options.force)
    try:
        reading = _read(options, world, also)
    finally:
        world.progress.finish()
    tell_findings(reading.findings, reading.inventory, world)
    if options.record is not None and reading.overlays:
        save_overlays(folder_beside(options.record), reading.overlays)
    if reading.inventory.gaps and not options.allow_incomplete:
        raise incomplete(reading.inventory)
    return reading


def source_files(options: SourceOptions) -> tuple[Path, ...]:
    """Return the files that a source is read from, so that no output replaces one of them.

    Raises:
        UnknownObjectError: the name is that of no file and no example.
    """
    files = [path for path in (options.ca_file, options.password_file) if path is not None]
    if options.overlays is not None:
        files += overlay_files(options.overlays)
    named: tuple[tuple[FixtureKind, str | None], ...] = (
        ("sites", options.lab),
        ("cassettes", options.cassette),
    )
    if options.file is not None:
        path = _file_or_folder(options.file)
        files += [*_read_files(path), *overlay_files(folder_beside(path))]
    for kind, text in named:
        if text is not None:
            path = file_or_fixture(kind, text)
            files += [path, *overlay_files(folder_beside(path))]
    return tuple(files)


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


def _read(options: SourceOptions, world: World, also: Also | None) -> Reading:
    if options.file is not None:
        path = _file_or_folder(options.file)
        if path.is_dir():
            return _with_overlays(options, world, _from_folder(path, world), (), path)
        site = load_site(path)
        _refuse_old_api(site.inventory, path)
        return _with_overlays(options, world, Told(site.inventory), site.overlays, path)
    if options.lab is not None:
        path = file_or_fixture("sites", options.lab)
        site = load_site(path)
        return _with_overlays(options, world, _from_lab(site, options, world, also), site.overlays, path)
    if options.cassette is not None:
        path = file_or_fixture("cassettes", options.cassette)
        return _with_overlays(options, world, _from_cassette(path, options, world, also), (), path)
    if options.vcenter is None:
        raise InternalError("no source was chosen")
    return _with_overlays(options, world, _from_vcenter(options.vcenter, options, world, also), (), None)


def _file_or_folder(text: str) -> Path:
    """Return what ``--from`` names: a folder of ``govc object.save``, a file, or an example.

    A folder that merely has the name of an example, and no saved objects in it, does not hide that.
    """
    from vplacer.vsphere.saved_files import is_saved_folder

    path = Path(os.path.expanduser(text))
    if path.is_dir() and (is_saved_folder(path) or text not in list_fixtures("sites")):
        return path
    return file_or_fixture("sites", text)


def _read_files(path: Path) -> tuple[Path, ...]:
    from vplacer.vsphere.saved_files import saved_files

    return saved_files(path) if path.is_dir() else (path,)


def load_site(path: Path) -> Site:
    """Load an inventory YAML or a snapshot."""
    from vplacer.inventory.load import load_inventory_file

    return load_inventory_file(path)


def _refuse_old_api(inventory: Inventory, path: Path) -> None:
    """Refuse a file that tells of a vCenter which a session would refuse."""
    from vplacer.vsphere.versions import MINIMUM, number, too_old

    spoken = number(inventory.about.api_version)
    if spoken and spoken < number(MINIMUM):
        raise too_old(inventory.about.api_version, str(path))


def _with_overlays(
    options: SourceOptions, world: World, told: Told, own: tuple[Overlay, ...], file: Path | None
) -> Reading:
    uuid = told.inventory.about.instance_uuid
    found = with_newer(find_overlays(options.overlays, own, file, world.environ, uuid), told.overlays)
    return Reading(told.inventory, found.items, found.origins, told.findings)


def _from_vcenter(text: str, options: SourceOptions, world: World, also: Also | None) -> Told:
    login = options.login or login_of(text, options, world)
    return _collect_recorded(login.connect, login.credentials, options, world, also)


def login_of(text: str, options: SourceOptions, world: World) -> Login:
    """Return how a vCenter is reached, and as whom. Standard input and password commands are asked once.

    Raises:
        VplacerError: the address, or what holds the password, is not usable.
    """
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
    return Login(connect, credentials)


def _from_lab(site: Site, options: SourceOptions, world: World, also: Also | None) -> Told:
    from vplacer.vsphere.address import Address
    from vplacer.vsphere.credentials import Credentials
    from vplacer.vsphere.secret import Secret
    from vplacer.vsphere.session import ConnectOptions

    check_temporary_folder()
    with lab_server(site, options.lab_account) as server:
        credentials = Credentials(server.username, Secret(server.password), "the lab", "the lab")
        connect = ConnectOptions(address=Address.parse(server.url), ca_file=server.ca_file)
        return _collect_recorded(connect, credentials, options, world, also)


def _from_folder(path: Path, world: World) -> Told:
    from vplacer.vsphere.collector import CollectOptions
    from vplacer.vsphere.saved_reader import collect_folder

    inventory = collect_folder(path, CollectOptions(workers=1), _progress(world))
    _refuse_old_api(inventory, path)
    return Told(inventory)


def _from_cassette(path: Path, options: SourceOptions, world: World, also: Also | None) -> Told:
    from vplacer.vsphere.cassettes import replaying
    from vplacer.vsphere.session import ConnectOptions

    with replaying(path) as recorded:
        connect = ConnectOptions(address=recorded.address, api_version=recorded.api_version)
        return _collect(connect, recorded.credentials, options, world, also, workers=1)


def _collect_recorded(
    connect: ConnectOptions,
    credentials: Credentials,
    options: SourceOptions,
    world: World,
    also: Also | None,
) -> Told:
    from vplacer.vsphere.cassettes import recording

    tape: AbstractContextManager[None] = (
        nullcontext() if options.record is None else recording(options.record, credentials)
    )
    with tape:
        # Recording is not safe in several threads.
        workers = 1 if options.record is not None else WORKERS
        return _collect(connect, credentials, options, world, also, workers=workers)


def _collect(
    connect: ConnectOptions,
    credentials: Credentials,
    options: SourceOptions,
    world: World,
    also: Also | None,
    *,
    workers: int,
) -> Told:
    from vplacer.vsphere.collector import CollectOptions, collect
    from vplacer.vsphere.session import Session

    progress = _progress(world)
    with Session.connect(connect, credentials) as session:
        if also is not None:
            also(session)
        inventory = collect(session, CollectOptions(workers=workers), progress)
        # A simulated or recorded host tells the same, however long the wait.
        waits = options.vcenter is not None
        return ask_hosts(session, inventory, options.asking, workers, progress, waits=waits)


_WORDS = {
    "Datacenter": "datacenters",
    "Folder": "folders",
    "ComputeResource": "compute resources",
    "ClusterComputeResource": "clusters",
    "ResourcePool": "resource pools",
    "Datastore": "datastores",
    "Network": "networks",
    "HostSystem": "hosts",
    "VirtualMachine": "VMs",
    "OptionManager": "settings",
}


def _progress(world: World) -> Callable[[str, int, int | None], None]:
    return lambda what, done, total: world.progress.step(f"reading {_WORDS.get(what, what)}", done, total)
