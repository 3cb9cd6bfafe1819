"""Where the overlays of an inventory come from: what a vCenter cannot tell about its hosts.

With ``--overlays DIR`` those in that folder, and no others. Otherwise all of:

- those in the inventory YAML itself, where the source is one
- the folder ``NAME.overlays`` beside the snapshot, cassette or inventory file ``NAME.json.gz``
- the user's data folder, ``vplacer/overlays/<vCenter UUID>``

Where two tell of the same link or device, the later made one counts (`topology.overlay_facts`), so a
new import takes effect on old snapshots too. `vplacer collect`, ``--record`` and `vplacer lab record`
write the folder beside their file when overlays are in use: the two together say all that the source
said, on any machine.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from vplacer.inventory.overlay import Overlay

_SUFFIXES = (".json.gz", ".json", ".yaml", ".yml", ".gz")


@dataclass(frozen=True, slots=True)
class Overlays:
    """Overlays, ordered by host, and the places they come from."""

    items: tuple[Overlay, ...] = ()
    origins: tuple[str, ...] = ()


def folder_beside(file: Path) -> Path:
    """Return the overlay folder that goes with a file: ``x.json.gz`` has ``x.overlays``."""
    for suffix in _SUFFIXES:
        if file.name.endswith(suffix) and file.name != suffix:
            return file.with_name(file.name.removesuffix(suffix) + ".overlays")
    # A folder may be given as "." or "..", or be the root.
    file = file.resolve() if file.name in ("", "..") else file
    return file.parent / f"{file.name}.overlays"


def find_overlays(
    given: Path | None,
    own: tuple[Overlay, ...],
    file: Path | None,
    environ: Mapping[str, str],
    vcenter_uuid: str,
) -> Overlays:
    """Return the overlays to use.

    Args:
        given: the folder the user named.
        own: those inside the source itself.
        file: the file the source is, or is served from.
        environ: tells the user's data folder.
        vcenter_uuid: of the inventory.

    Raises:
        UnknownObjectError: the folder named does not exist.
        FileFormatError, NewerFormatError: a file in the folder is no overlay.
    """
    from vplacer.inventory.overlay_file import default_folder, load_overlays

    if given is not None:
        return Overlays(load_overlays(given), (str(given),))
    found = dict.fromkeys(own)
    origins = [str(file) if file else "the inventory itself"] if own else []
    folders = [folder_beside(file)] if file else []
    if vcenter_uuid:
        folders.append(default_folder(environ, vcenter_uuid))
    for folder in folders:
        if folder.is_dir() and (items := load_overlays(folder)):
            found |= dict.fromkeys(items)
            origins.append(str(folder))
    items = tuple(sorted(found, key=lambda item: (item.host, item.created, item.source)))
    return Overlays(items, tuple(origins))


def with_newer(found: Overlays, told: tuple[Overlay, ...]) -> Overlays:
    """Add what hosts told just now; it takes the place of what the same source told of them before."""
    if not told:
        return found
    newer = {(item.host, item.source, item.vcenter_uuid) for item in told}
    kept = [item for item in found.items if (item.host, item.source, item.vcenter_uuid) not in newer]
    items = tuple(sorted((*kept, *told), key=lambda item: (item.host, item.created, item.source)))
    return Overlays(items, (*found.origins, "the hosts themselves"))


def save_overlays(folder: Path, overlays: tuple[Overlay, ...]) -> None:
    """Write overlays into a folder, one file a host; files of other hosts stay.

    Files of hosts of which the folder says all of this already are not touched: they may be what the
    overlays were read from.

    Raises:
        OutputError: the folder or a file cannot be written.
        FileFormatError, NewerFormatError: a file in the folder is no overlay.
    """
    from vplacer.inventory.overlay_file import load_overlays
    from vplacer.inventory.overlay_file import save_overlays as save

    present = set(load_overlays(folder)) if folder.is_dir() else set()
    changed = {overlay.host for overlay in overlays if overlay not in present}
    save(folder, tuple(overlay for overlay in overlays if overlay.host in changed))


def overlay_files(folder: Path) -> tuple[Path, ...]:
    """Return the files in an overlay folder; none where it cannot be read, which the reader tells."""
    try:
        return tuple(sorted(path for path in folder.iterdir() if path.is_file()))
    except OSError:
        return ()
