"""Jobs around the simulated vCenter: list the example sites, serve one, record a session with one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from vplacer.errors import UsageError
from vplacer.inventory.files import write_file
from vplacer.jobs.fixtures import file_or_fixture, fixture_path, list_fixtures
from vplacer.jobs.output_file import check_temporary_folder, check_writable, refuse_inputs
from vplacer.jobs.overlays import find_overlays, save_overlays
from vplacer.jobs.world import World

if TYPE_CHECKING:
    from vplacer.inventory.site import Site
    from vplacer.jobs.source import Reading
    from vplacer.lab.soap.server import LabServer


@dataclass(frozen=True, slots=True)
class ExampleSite:
    """An example site, what it shows, and the names of the requests that go with it."""

    name: str
    about: str
    requests: tuple[str, ...]
    cassette: bool


def list_sites() -> list[ExampleSite]:
    """Return the example sites by name. A request goes with the site whose name it is or begins with."""
    sites = list_fixtures("sites")
    requests: dict[str, list[str]] = {name: [] for name in sites}
    for request in list_fixtures("requests"):
        owners = [name for name in sites if request == name or request.startswith(f"{name}-")]
        if owners:
            requests[max(owners, key=len)].append(request)
    cassettes = set(list_fixtures("cassettes"))
    return [
        ExampleSite(
            name, _first_sentence(fixture_path("sites", name)), tuple(requests[name]), name in cassettes
        )
        for name in sites
    ]


def _first_sentence(path: Path) -> str:
    """Return the first paragraph of the comment that a file begins with."""
    words: list[str] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        text = line.removeprefix("#").strip()
        if not line.startswith("#") or not text:
            break
        words.append(text)
    return " ".join(words)


@dataclass(frozen=True, slots=True)
class LabAccount:
    """Who may log in to a simulated vCenter; ``password`` None = a random one."""

    username: str = "administrator@vsphere.local"
    password: str | None = field(default=None, repr=False)


def lab_server(site: Site, account: LabAccount = LabAccount(), api_version: str | None = None) -> LabServer:
    """Return a simulated vCenter of a site, not yet started, for one command.

    Its clock begins at the time that the site describes and stands still while nothing is under way:
    two runs read the same.
    """
    from vplacer.lab.soap.server import LabServer

    return LabServer(site, username=account.username, password=account.password, api_version=api_version)


@dataclass(frozen=True, slots=True)
class ServeOptions:
    """How a site is served.

    Args:
        site: a file, or the name of an example.
        port: on loopback; 0 = any free one.
        username: who may log in.
        password_file: holds the password to accept; None = VPLACER_LAB_PASSWORD, else a random one.
        api_version: newest API version; None = the site's.
        read_only: the account has vSphere's role Read-only.
        state: file that keeps the state; read at the start where it exists, written at the end.
        speed: seconds of the simulated vCenter's time in one second.
    """

    site: str
    port: int = 0
    username: str = "administrator@vsphere.local"
    password_file: Path | None = None
    api_version: str | None = None
    read_only: bool = False
    state: Path | None = None
    speed: float = 1.0


@dataclass(frozen=True, slots=True)
class Served:
    """A simulated vCenter that runs. ``password_file`` None = the password was given by the environment.

    ``overlays`` is a folder with what goes with the site and no vCenter tells; None = nothing does. It
    lasts as long as the server.
    """

    name: str
    hosts: int
    vms: int
    api_version: str
    url: str
    address: str
    ca_file: Path
    username: str
    password_file: Path | None
    overlays: Path | None


@contextmanager
def serve_site(options: ServeOptions, world: World) -> Iterator[Served]:
    """Serve a site until the block ends.

    Raises:
        UsageError: the port is taken, the API version unknown, or the password unusable.
        OutputError: the state file cannot be written.
    """
    from vplacer.jobs.lab_state import load_state, save_state
    from vplacer.jobs.source import load_site
    from vplacer.lab.soap.server import LabServer

    path = file_or_fixture("sites", options.site)
    check_temporary_folder()
    if options.state is not None:
        refuse_inputs(options.state, [path])
        check_writable(options.state)
    kept = options.state is not None and options.state.exists()
    site = load_state(options.state) if kept and options.state else load_site(path)
    password, password_file = _password(options, world)
    server = LabServer(
        site,
        api_version=options.api_version,
        port=options.port,
        username=options.username,
        password=password,
        read_only=options.read_only,
        speed=options.speed,
        clock_runs=True,
    )
    with server:
        if password is None:
            password_file = server.ca_file.parent / "password"
            write_file(password_file, (server.password + "\n").encode())
        overlays = _write_overlays(site, path, server.ca_file.parent / "overlays", world)
        try:
            yield Served(
                name=site.name,
                hosts=len(site.inventory.hosts),
                vms=len(site.inventory.vms),
                api_version=server.vcenter.settings.api_version,
                url=server.url,
                address=f"127.0.0.1:{server.port}",
                ca_file=server.ca_file,
                username=server.username,
                password_file=password_file,
                overlays=overlays,
            )
        finally:
            if options.state is not None:
                save_state(_left(server, site), options.state)


def _write_overlays(site: Site, file: Path, folder: Path, world: World) -> Path | None:
    """Write the overlays that --lab would use into a folder; None = there are none."""
    uuid = site.inventory.about.instance_uuid
    found = find_overlays(None, site.overlays, file, world.environ, uuid)
    if not found.items:
        return None
    save_overlays(folder, found.items)
    return folder


def _password(options: ServeOptions, world: World) -> tuple[str | None, Path | None]:
    """Return the password to accept, None = make one, and the file it is in."""
    from vplacer.vsphere.address import Address
    from vplacer.vsphere.credentials import CredentialOptions, Sources, resolve

    if options.password_file is not None:
        wanted = CredentialOptions(username=options.username, password_file=options.password_file)
        found = resolve(wanted, Address("127.0.0.1"), Sources(environ={}))
        for warning in found.warnings:
            world.warn(warning)
        return found.password.reveal(), options.password_file
    given = world.environ.get("VPLACER_LAB_PASSWORD")
    if given == "":
        raise UsageError("VPLACER_LAB_PASSWORD is empty", hint="unset it, or put a password there")
    return given, None


def record_site(
    text: str, output: Path, world: World, account: LabAccount = LabAccount(), *, force: bool = False
) -> Reading:
    """Record a session with a site's simulated vCenter, and write the site's overlays beside it.

    Raises:
        UsageError: the recording would replace the site.
        OutputError: the recording cannot be written, or would replace a file of another kind without
            ``force``.
    """
    from vplacer.jobs.source import SourceOptions, read_source

    options = SourceOptions(lab=text, lab_account=account, record=output, allow_incomplete=True, force=force)
    return read_source(options, world)


def _left(server: LabServer, site: Site) -> Site:
    """Return a site as its clients have left it. What is still under way is lost, as in a power cut."""
    if server.machine is None:
        return site
    state = server.machine.state
    return replace(site, inventory=state.inventory, extras=state.extras)
