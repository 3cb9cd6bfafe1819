"""Overlay files: round trip, merging of sources, and refusal when the hardware is another."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.conftest import REPO
from tests.inventory.data import ids
from vplacer.errors import FileFormatError, NewerFormatError, OutputError, UnknownObjectError
from vplacer.inventory.host import Host
from vplacer.inventory.measured import MeasuredHome, NodeMemory, Spread
from vplacer.inventory.overlay import Overlay, OverlayDevice, OverlayHome, OverlayLink
from vplacer.inventory.overlay_file import (
    belongs_to,
    check_overlay,
    default_folder,
    load_overlay_file,
    load_overlays,
    overlay_sha256,
    save_overlays,
)
from vplacer.inventory.overlay_schema import OVERLAY_SCHEMA
from vplacer.inventory.pci import PciAddress
from vplacer.inventory.site_load import load_site

HOME = MeasuredHome(
    nodes=(0, 1),
    at="2025-03-01T10:00:00Z",
    locality_percent=Spread(90, 80, 95),
    local_mib=Spread(2, 1, 3),
    remote_mib=None,
    migrations=7,
    migrations_seen=0,
    earlier_nodes=(2,),
    samples=3,
    nodes_told="0x3",
)
SITE = load_site(REPO / "fixtures" / "sites" / "a30pairs.yaml")
HOST = SITE.inventory.hosts[0]
OVERLAY = SITE.overlays[0]
A = PciAddress.parse("0000:06:00.0")
B = PciAddress.parse("0000:07:00.0")


def overlay(**more: Any) -> Overlay:
    base = Overlay(
        host="esx01.example.org",
        host_uuid="4c4c4544-0001",
        vcenter_uuid="vc-1",
        created="2025-03-01T10:00:00Z",
        source="nvidia-smi topo -m",
        devices=(
            OverlayDevice(A, ids("10de:20b7:10de:1532"), 0),
            OverlayDevice(B, ids("10de:20b7"), None),
        ),
        links=(OverlayLink(A, B, 4),),
        node_memory=(NodeMemory(0, 1024, Spread(7, 5, 9)), NodeMemory(1, None, None)),
        notes=("b was not measured: it has no row",),
        homes=(OverlayHome("5021-aa", HOME),),
    )
    return replace(base, **more)


def readdressed(host: Host, old: PciAddress, new: PciAddress) -> Host:
    """Return the host with one card in another slot."""
    return replace(
        host, pci_devices=tuple(replace(d, address=new) if d.address == old else d for d in host.pci_devices)
    )


def test_overlays_survive_a_folder(tmp_path: Path) -> None:
    save_overlays(tmp_path, (overlay(), overlay(host="esx02.example.org", host_uuid=None)))
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "esx01.example.org.json",
        "esx02.example.org.json",
    ]
    assert load_overlays(tmp_path) == (overlay(), overlay(host="esx02.example.org", host_uuid=None))


def test_a_home_with_plain_numbers_is_read_as_one_sample(tmp_path: Path) -> None:
    home = {
        "vm_uuid": "u",
        "nodes": [1],
        "locality_percent": 97,
        "migrations": None,
        "at": "2025-03-01T10:00:00Z",
    }
    source = {"source": "esxtop", "created": "2025-03-01T10:00:00Z", "homes": [home]}
    (tmp_path / "a.json").write_text(json.dumps({"format_version": 1, "host": "a", "sources": [source]}))
    (read,) = load_overlay_file(tmp_path / "a.json")
    (found,) = read.homes
    assert (found.home.nodes, found.home.locality_percent, found.home.samples) == (
        (1,),
        Spread(97, 97, 97),
        1,
    )
    assert (found.home.local_mib, read.node_memory) == (None, ())


def test_a_source_replaces_itself_and_leaves_others(tmp_path: Path) -> None:
    human = overlay(source="human: rack plan", created="2025-02-01T00:00:00Z", links=(), homes=())
    save_overlays(tmp_path, (overlay(),))
    save_overlays(tmp_path, (human,))
    later = overlay(created="2025-04-01T00:00:00Z", links=())
    save_overlays(tmp_path, (later,))
    assert load_overlays(tmp_path) == (human, later)
    assert len(list(tmp_path.iterdir())) == 1


def test_other_hardware_under_the_same_name_starts_anew(tmp_path: Path) -> None:
    save_overlays(tmp_path, (overlay(source="human: old box"),))
    new = overlay(host_uuid="another")
    save_overlays(tmp_path, (new,))
    assert load_overlays(tmp_path) == (new,)


def test_yaml_is_read_too(tmp_path: Path) -> None:
    save_overlays(tmp_path, (overlay(),))
    path = tmp_path / "esx01.example.org.json"
    document = json.loads(path.read_text())
    path.unlink()
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump(document))
    (tmp_path / ".mine.yaml.swp").write_text("junk")
    (tmp_path / "README").write_text("junk")
    assert load_overlays(tmp_path) == (overlay(),)


def test_overlays_of_another_vcenter_are_left_out(tmp_path: Path) -> None:
    anyone = overlay(host="b", vcenter_uuid=None)
    save_overlays(tmp_path, (overlay(), anyone))
    assert load_overlays(tmp_path, "vc-1") == (anyone, overlay())
    assert load_overlays(tmp_path, "vc-2") == (anyone,)


@pytest.mark.parametrize("name", ["../evil", "a/b", ".hidden", "süd", "a%2fb", "a b"])
def test_a_host_name_never_leaves_the_folder(name: str, tmp_path: Path) -> None:
    folder = tmp_path / "overlays"
    save_overlays(folder, (overlay(host=name),))
    assert [path.parent for path in tmp_path.rglob("*.json")] == [folder]
    assert load_overlays(folder) == (overlay(host=name),)


def test_names_that_differ_have_files_that_differ(tmp_path: Path) -> None:
    names = ["a/b", "a%2fb", "a_b", "A_b"]
    save_overlays(tmp_path, tuple(overlay(host=name) for name in names))
    assert len(list(tmp_path.iterdir())) == len(names)


def test_the_hash_is_of_the_content(tmp_path: Path) -> None:
    assert overlay_sha256(overlay()) == overlay_sha256(overlay())
    assert overlay_sha256(overlay()) != overlay_sha256(overlay(links=(OverlayLink(A, B, 0),)))


def test_the_folder_follows_xdg() -> None:
    assert default_folder({"HOME": "/home/u"}, "AB-1") == Path("/home/u/.local/share/vplacer/overlays/ab-1")
    assert default_folder({"HOME": "/home/u", "XDG_DATA_HOME": "/data"}, "ab") == Path(
        "/data/vplacer/overlays/ab"
    )
    relative = default_folder({"HOME": "/home/u", "XDG_DATA_HOME": "data"}, "ab")
    assert relative == Path("/home/u/.local/share/vplacer/overlays/ab"), "XDG: a relative path is ignored"
    assert default_folder({"HOME": "/h"}, "../x").parent == Path("/h/.local/share/vplacer/overlays")


def test_hardware_that_is_there_is_accepted() -> None:
    assert check_overlay(OVERLAY, HOST) == []
    assert belongs_to(OVERLAY, HOST)
    assert not belongs_to(OVERLAY, SITE.inventory.hosts[1])


def test_a_moved_card_is_called_moved() -> None:
    new = PciAddress.parse("0000:0b:00.0")
    found = check_overlay(OVERLAY, readdressed(HOST, A, new))
    assert [(item.address, item.found, item.moved_to) for item in found] == [(A, None, (new,))]
    assert (
        str(found[0]) == "0000:06:00.0 was 10de:20b7 and is now nothing; a 10de:20b7 is now at 0000:0b:00.0"
    )


def test_a_swapped_card_is_refused() -> None:
    other = replace(
        HOST,
        pci_devices=tuple(
            replace(d, ids=ids("10de:26b9")) if d.address == A else d for d in HOST.pci_devices
        ),
    )
    assert [str(item) for item in check_overlay(OVERLAY, other)] == [
        "0000:06:00.0 was 10de:20b7 and is now 10de:26b9"
    ]


def test_a_missing_subsystem_says_nothing() -> None:
    device = HOST.device(A)
    assert device is not None
    bare = replace(OVERLAY, devices=(OverlayDevice(A, ids("10de:20b7")),), links=())
    assert check_overlay(bare, HOST) == []
    other = replace(OVERLAY, devices=(OverlayDevice(A, ids("10de:20b7:10de:ffff")),), links=())
    assert [item.address for item in check_overlay(other, HOST)] == [A]


def broken(tmp_path: Path, change: str, into: str) -> Path:
    save_overlays(tmp_path, (overlay(),))
    path = tmp_path / "esx01.example.org.json"
    text = path.read_text()
    assert change in text
    path.write_text(text.replace(change, into, 1))
    return path


@pytest.mark.parametrize(
    ("change", "into", "told"),
    [
        ('"0000:06:00.0"', '"0000:6:0"', "is not a PCI address such as"),
        ('"10de:20b7:10de:1532"', '"10de"', "is not ids such as"),
        ('"lanes": 4', '"lanes": -1', "-1 is less than 0"),
        ('"lanes": 4', '"lanes": 4, "speed": 1', "unknown key 'speed'"),
        ('"numa_node": 0', '"numa_node": "0"', "'0' is not a whole number or empty"),
        ('"host": "esx01.example.org",', "", "the key 'host' is missing"),
        ('"b": "0000:07:00.0"', '"b": "0000:09:00.0"', "0000:09:00.0 is not among the devices"),
        ('"b": "0000:07:00.0"', '"b": "0000:06:00.0"', "joins two different devices"),
        ('"address": "0000:07:00.0"', '"address": "0000:06:00.0"', "0000:06:00.0 is given twice"),
        ('"created": "2025-03-01T10:00:00Z"', '"created": "yesterday"', "is not a time such as"),
        ("{", "{,", "not valid YAML"),
    ],
)
def test_a_broken_file_is_named_by_line(change: str, into: str, told: str, tmp_path: Path) -> None:
    path = broken(tmp_path, change, into)
    with pytest.raises(FileFormatError) as caught:
        load_overlays(tmp_path)
    assert told in str(caught.value)
    assert caught.value.path == str(path)
    assert caught.value.line is not None


def test_a_newer_file_is_refused_by_name(tmp_path: Path) -> None:
    path = broken(tmp_path, '"format_version": 1', '"format_version": 2')
    with pytest.raises(NewerFormatError, match="overlay format 2 is newer"):
        load_overlay_file(path)


def test_places_that_do_not_exist_are_named(tmp_path: Path) -> None:
    with pytest.raises(UnknownObjectError, match="there is no such folder"):
        load_overlays(tmp_path / "none")
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="cannot be written"):
        save_overlays(tmp_path / "file" / "x", (overlay(),))


def test_the_schema_is_a_schema() -> None:
    from jsonschema import Draft202012Validator

    Draft202012Validator.check_schema(OVERLAY_SCHEMA)
