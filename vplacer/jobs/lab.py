"""Jobs around the simulated vCenter: list the example sites, serve one, record a session with one."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from vplacer.jobs.fixtures import fixture_path, list_fixtures
from vplacer.jobs.world import World

if TYPE_CHECKING:
    from vplacer.inventory.site import Site
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


def lab_server(site: Site, world: World) -> LabServer:
    """Return a simulated vCenter of a site, not yet started, for this process alone."""
    raise NotImplementedError
