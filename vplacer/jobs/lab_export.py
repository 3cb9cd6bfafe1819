"""Writes a site for another simulated vCenter: govmomi's vcsim, and every tool that reads its format."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Final

from vplacer.errors import OutputError
from vplacer.inventory.files import output_error
from vplacer.jobs.fixtures import file_or_fixture
from vplacer.jobs.overlays import find_overlays, folder_beside, save_overlays
from vplacer.jobs.world import World

if TYPE_CHECKING:
    from vplacer.lab.soap.simulator_files import SimulatorFile

FORMATS: Final = ("vcsim",)
_OBJECT_FILE: Final = re.compile(r"^\d{4,}-\w+-.+\.xml$")
_ALWAYS_THERE: Final = re.compile(r"^\d{4,}-ServiceInstance-ServiceInstance\.xml$")
"""Every inventory of this kind has it: a folder without is somebody else's, whatever its files look like."""
_ANSWER_FOLDER: Final = re.compile(r"^[A-Z]\w+-.+$")


@dataclass(frozen=True, slots=True)
class Exported:
    """What was written, and what the format cannot carry; ``overlays`` None = there were none."""

    name: str
    hosts: int
    vms: int
    files: int
    limits: tuple[str, ...]
    overlays: Path | None


def export_site(text: str, output: Path, world: World, *, force: bool = False) -> Exported:
    """Write a site into a folder that ``vcsim -load`` takes.

    Args:
        text: a file, or the name of an example.
        output: the folder; made where it does not exist. Nothing is put there before all is written.
        world: the outside.
        force: an earlier inventory of this kind in the folder may be replaced.

    Raises:
        OutputError: the folder cannot be written, or holds something already.
    """
    from vplacer.jobs.source import load_site
    from vplacer.lab.model.state import seed_state
    from vplacer.lab.soap.simulator_files import simulator_files
    from vplacer.lab.soap.simulator_limits import simulator_limits
    from vplacer.lab.soap.views.site import lab_site

    file = file_or_fixture("sites", text)
    _check_folder(output, force=force)
    site = load_site(file)
    state = seed_state(site)
    number = _write(output, simulator_files(lab_site(state)))
    found = find_overlays(None, site.overlays, file, world.environ, site.inventory.about.instance_uuid)
    overlays = folder_beside(output) if found.items else None
    if overlays is not None:
        save_overlays(overlays, found.items)
    return Exported(
        site.name,
        len(site.inventory.hosts),
        len(site.inventory.vms),
        number,
        simulator_limits(state),
        overlays,
    )


def _check_folder(output: Path, *, force: bool) -> None:
    """Find out that the folder must not be written, before anything is."""
    try:
        present = sorted(output.iterdir()) if output.exists() or output.is_symlink() else []
        strange = [path.name for path in present if not _is_ours(path)]
        if not any(_ALWAYS_THERE.match(path.name) for path in present):
            strange = [path.name for path in present]
    except OSError as error:
        raise output_error(output, error) from None
    if strange:
        raise OutputError(
            "holds something else than an exported inventory",
            obj=str(output),
            why=f"there is {strange[0]}",
            hint="give a folder that is empty or does not exist",
        )
    if present and not force:
        raise OutputError(
            "holds an inventory already",
            obj=str(output),
            hint="give a folder that is empty or does not exist; --force replaces the inventory",
        )


def _is_ours(path: Path) -> bool:
    if path.is_dir() and not path.is_symlink():
        files = list(path.iterdir())
        return bool(_ANSWER_FOLDER.match(path.name)) and all(
            item.is_file() and item.suffix == ".xml" for item in files
        )
    return path.is_file() and bool(_OBJECT_FILE.match(path.name))


def _put(made: Path, target: Path) -> None:
    """Put a folder into its place. One that is there stays the same folder: it may be the working one."""
    if not target.exists():
        made.replace(target)
        return
    for old in target.iterdir():
        if old.is_dir():
            shutil.rmtree(old)
        else:
            old.unlink()
    for new in sorted(made.iterdir()):
        new.replace(target / new.name)


def _write(output: Path, files: Iterable[SimulatorFile]) -> int:
    """Write into a folder beside the one asked for, which then takes its place."""
    target = output.resolve()
    made: Path | None = None
    try:
        made = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
        number = 0
        for file in files:
            path = made / PurePosixPath(file.name)
            path.parent.mkdir(exist_ok=True)
            path.touch(mode=0o600)
            path.write_text(file.text, encoding="utf-8")
            number += 1
        _put(made, target)
        return number
    except OSError as error:
        raise output_error(output, error) from None
    finally:
        if made is not None and made.exists():
            shutil.rmtree(made, ignore_errors=True)
