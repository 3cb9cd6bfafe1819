"""Overlay files: one a host, JSON or YAML, with a section for each source that told something.

A section that a source wrote earlier is replaced when the same source tells again; sections of other
sources stay. `check_overlay` holds an overlay against the hardware that is there now.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from vplacer.errors import NewerFormatError, UnknownObjectError
from vplacer.inventory.canonical import sha256_of
from vplacer.inventory.codec import encode
from vplacer.inventory.files import output_error, write_file
from vplacer.inventory.host import Host
from vplacer.inventory.overlay import Overlay, OverlayDevice, OverlayLink
from vplacer.inventory.overlay_measured import read_homes, read_node_memory, write_measured
from vplacer.inventory.overlay_schema import FORMAT_VERSION, OVERLAY_SCHEMA
from vplacer.inventory.pci import PciAddress, PciIds
from vplacer.inventory.schema_check import validate
from vplacer.inventory.yaml_marks import Document, Pointer, read_document

_SUFFIXES: Final = (".json", ".yaml", ".yml")


@dataclass(frozen=True, slots=True, order=True)
class OverlayMismatch:
    """A device that an overlay speaks of and the host does not have there.

    ``found`` None = nothing at the address. ``moved_to``: addresses where a device of these ids is now and
    the overlay knows of none.
    """

    address: PciAddress
    expected: PciIds
    found: PciIds | None
    moved_to: tuple[PciAddress, ...] = ()

    def __str__(self) -> str:
        now = "nothing" if self.found is None else str(self.found)
        moved = f"; a {self.expected} is now at {', '.join(map(str, self.moved_to))}" if self.moved_to else ""
        return f"{self.address} was {self.expected} and is now {now}{moved}"


def check_overlay(overlay: Overlay, host: Host) -> list[OverlayMismatch]:
    """Return the devices of an overlay that the host no longer has as it says, in address order.

    Empty = the overlay may be used. Subsystem ids count only where both sides have them.
    """
    known = {device.address for device in overlay.devices}
    mismatches = []
    for told in overlay.devices:
        device = host.device(told.address)
        if device is not None and same_ids(told.ids, device.ids):
            continue
        moved = tuple(
            other.address
            for other in host.pci_devices
            if other.address not in known and same_ids(told.ids, other.ids)
        )
        found = device.ids if device is not None else None
        mismatches.append(OverlayMismatch(told.address, told.ids, found, tuple(sorted(moved))))
    return sorted(mismatches, key=lambda item: item.address)


def same_ids(told: PciIds, found: PciIds) -> bool:
    """Whether ids are equal as far as both tell them: a missing subsystem id says nothing."""
    if (told.vendor, told.device) != (found.vendor, found.device):
        return False
    pairs = ((told.sub_vendor, found.sub_vendor), (told.sub_device, found.sub_device))
    return all(a is None or b is None or a == b for a, b in pairs)


def belongs_to(overlay: Overlay, host: Host) -> bool:
    """Whether an overlay was made for this host: by hardware uuid where both have one, else by name."""
    if overlay.host_uuid and host.uuid:
        return overlay.host_uuid.lower() == host.uuid.lower()
    return overlay.host == host.name


def overlay_sha256(overlay: Overlay) -> str:
    """Return the hash of an overlay's content, whatever file it came from."""
    return sha256_of(encode(overlay))


def default_folder(environ: Mapping[str, str], vcenter_uuid: str) -> Path:
    """Return the user's overlay folder of one vCenter: ``XDG_DATA_HOME`` or ``~/.local/share``."""
    given = environ.get("XDG_DATA_HOME", "")
    # The XDG specification has a relative path ignored.
    # Unlike Path.home, expanduser does not fail where nobody knows a home (a container's arbitrary user).
    home = Path(environ.get("HOME") or os.path.expanduser("~"))
    base = Path(given) if given.startswith("/") else home / ".local" / "share"
    return base / "vplacer" / "overlays" / _file_part(vcenter_uuid.lower())


def load_overlays(folder: Path, vcenter_uuid: str | None = None) -> tuple[Overlay, ...]:
    """Load every overlay of a folder, by host, then date, then source.

    With ``vcenter_uuid``, overlays made for another vCenter are left out.

    Raises:
        UnknownObjectError: the folder does not exist or cannot be read.
        FileFormatError, NewerFormatError: a file in it is no overlay.
    """
    try:
        paths = sorted(path for path in folder.iterdir() if _is_overlay_name(path.name))
    except FileNotFoundError:
        raise UnknownObjectError("there is no such folder", obj=str(folder)) from None
    except OSError as error:
        raise UnknownObjectError("cannot be read", obj=str(folder), why=error.strerror) from None
    found = [overlay for path in paths for overlay in load_overlay_file(path)]
    return tuple(
        sorted(
            (
                overlay
                for overlay in found
                if vcenter_uuid is None or overlay.vcenter_uuid in (None, vcenter_uuid)
            ),
            key=lambda item: (item.host, item.created, item.source),
        )
    )


def load_overlay_file(path: Path) -> tuple[Overlay, ...]:
    """Load the overlays of one file, in its order.

    Raises:
        UnknownObjectError: there is no such file, or it cannot be read.
        FileFormatError: it does not parse or validate; carries file and line.
        NewerFormatError: it was written by a newer vplacer.
    """
    document = read_document(path)
    data = document.data
    version = data.get("format_version") if isinstance(data, dict) else None
    if type(version) is int and version > FORMAT_VERSION:
        raise NewerFormatError(
            f"overlay format {version} is newer than this version reads",
            obj=str(path),
            why=f"this version reads format {FORMAT_VERSION}",
            hint="upgrade vplacer",
        )
    validate(document, OVERLAY_SCHEMA)
    return tuple(
        _read_section(document, section, ("sources", index)) for index, section in enumerate(data["sources"])
    )


def save_overlays(folder: Path, overlays: tuple[Overlay, ...]) -> None:
    """Write overlays into a folder, one file a host; files of other hosts stay.

    A host's file keeps what other sources told earlier of the same hardware.

    Raises:
        OutputError: the folder or a file cannot be written.
        FileFormatError: a file that stands there is no overlay.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise output_error(folder, error) from None
    by_host: dict[str, list[Overlay]] = {}
    for overlay in overlays:
        by_host.setdefault(overlay.host, []).append(overlay)
    for host, told in sorted(by_host.items()):
        path = folder / f"{_file_part(host)}.json"
        earlier = load_overlay_file(path) if path.exists() else ()
        write_file(path, overlay_bytes(_merged(earlier, told)))


def overlay_bytes(overlays: tuple[Overlay, ...]) -> bytes:
    """Return the content of a host's overlay file, as JSON a person can read.

    Raises:
        ValueError: the overlays are of different hosts.
    """
    first = overlays[0]
    head = (first.host, first.host_uuid, first.vcenter_uuid)
    if any((item.host, item.host_uuid, item.vcenter_uuid) != head for item in overlays):
        raise ValueError("one overlay file is for one host of one vCenter")
    document = {
        "format_version": FORMAT_VERSION,
        "host": first.host,
        "host_uuid": first.host_uuid,
        "vcenter_uuid": first.vcenter_uuid,
        "sources": [_section(item) for item in overlays],
    }
    return (json.dumps(document, indent=2) + "\n").encode("ascii")


def _merged(earlier: tuple[Overlay, ...], told: list[Overlay]) -> tuple[Overlay, ...]:
    """Keep earlier sections of other sources, if they are of the same hardware and vCenter."""
    newest = told[-1]
    kept = {
        item.source: replace(item, host=newest.host)
        for item in earlier
        if (item.host_uuid, item.vcenter_uuid) == (newest.host_uuid, newest.vcenter_uuid)
    }
    for item in told:
        kept[item.source] = item
    return tuple(sorted(kept.values(), key=lambda item: (item.created, item.source)))


def _section(overlay: Overlay) -> dict[str, Any]:
    return {
        "source": overlay.source,
        "created": overlay.created,
        **({"detail": overlay.detail} if overlay.detail is not None else {}),
        "devices": [
            {"address": str(item.address), "ids": _ids_text(item.ids), "numa_node": item.numa_node}
            for item in overlay.devices
        ],
        "links": [{"a": str(item.a), "b": str(item.b), "lanes": item.lanes} for item in overlay.links],
        **write_measured(overlay),
        "notes": list(overlay.notes),
    }


def _read_section(document: Document, section: dict[str, Any], pointer: Pointer) -> Overlay:
    data = document.data
    devices = _read_devices(document, section, pointer)
    known = {device.address for device in devices}
    return Overlay(
        host=data["host"],
        host_uuid=data.get("host_uuid"),
        vcenter_uuid=data.get("vcenter_uuid"),
        created=section["created"],
        source=section["source"],
        devices=devices,
        links=_read_links(document, section, pointer, known),
        homes=read_homes(section),
        node_memory=read_node_memory(section),
        notes=tuple(section.get("notes") or ()),
        detail=section.get("detail"),
    )


def _read_devices(document: Document, section: dict[str, Any], pointer: Pointer) -> tuple[OverlayDevice, ...]:
    devices: dict[PciAddress, OverlayDevice] = {}
    for index, item in enumerate(section.get("devices") or []):
        address = PciAddress.parse(item["address"])
        if address in devices:
            raise document.error((*pointer, "devices", index, "address"), f"{address} is given twice")
        parts = [int(part, 16) for part in item["ids"].split(":")]
        devices[address] = OverlayDevice(address, PciIds(*parts), item.get("numa_node"))
    return tuple(devices.values())


def _read_links(
    document: Document, section: dict[str, Any], pointer: Pointer, known: set[PciAddress]
) -> tuple[OverlayLink, ...]:
    links: dict[frozenset[PciAddress], OverlayLink] = {}
    for index, item in enumerate(section.get("links") or []):
        place = (*pointer, "links", index)
        link = OverlayLink(PciAddress.parse(item["a"]), PciAddress.parse(item["b"]), item["lanes"])
        for key, end in (("a", link.a), ("b", link.b)):
            if end not in known:
                raise document.error(
                    (*place, key), f"{end} is not among the devices", why="a link needs the ids of both ends"
                )
        ends = frozenset((link.a, link.b))
        if len(ends) != 2 or ends in links:
            what = "a link joins two different devices" if len(ends) != 2 else "this pair is given twice"
            raise document.error(place, what)
        links[ends] = link
    return tuple(links.values())


def _ids_text(ids: PciIds) -> str:
    if ids.sub_vendor is None or ids.sub_device is None:
        return str(ids)
    return f"{ids}:{ids.sub_vendor:04x}:{ids.sub_device:04x}"


def _is_overlay_name(name: str) -> bool:
    return name.endswith(_SUFFIXES) and not name.startswith(".")


def _file_part(name: str) -> str:
    """Return a name fit for a file; two names never share one.

    Letters, digits, dot, hyphen and underscore stay; anything else becomes ``%`` and its hexadecimal code.
    """
    text = re.sub(r"[^A-Za-z0-9._-]", lambda match: "".join(f"%{b:02x}" for b in match[0].encode()), name)
    return f"%2e{text[1:]}" if text.startswith(".") else text
