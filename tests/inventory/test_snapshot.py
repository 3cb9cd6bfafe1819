"""Snapshots: equal after a round trip, refused when damaged, edited or newer, never a traceback."""

from __future__ import annotations

import gzip
import json
import os
import stat
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.conftest import REPO
from vplacer.errors import FileFormatError, NewerFormatError, OutputError, RequestError, UnknownObjectError
from vplacer.inventory import snapshot
from vplacer.inventory.canonical import canonical_json, sha256_of
from vplacer.inventory.cluster import Cluster, ResourcePool
from vplacer.inventory.codec import CodecError, decode, encode
from vplacer.inventory.host import Host
from vplacer.inventory.load import load_inventory_file
from vplacer.inventory.overlay import Overlay
from vplacer.inventory.pci import PciAddress
from vplacer.inventory.site_load import load_site
from vplacer.inventory.snapshot import (
    inventory_fingerprint,
    load_snapshot,
    object_fingerprints,
    parse_snapshot,
    save_snapshot,
    snapshot_bytes,
)
from vplacer.inventory.vcenter import Inventory
from vplacer.inventory.vm import Vm

st.register_type_strategy(
    PciAddress,
    st.builds(
        PciAddress, st.integers(0, 0xFFFFFFFF), st.integers(0, 0xFF), st.integers(0, 0x1F), st.integers(0, 7)
    ),
)


@cache
def site(name: str) -> Inventory:
    return load_site(REPO / "fixtures" / "sites" / f"{name}.yaml").inventory


@cache
def content(name: str = "floating") -> bytes:
    return snapshot_bytes(site(name), compress=False)


def edited(change: Callable[[dict[str, Any]], None], *, rehash: bool) -> bytes:
    """Return the snapshot of a site after a change to its JSON, with or without fitting hashes."""
    document = json.loads(content())
    change(document)
    if rehash:
        document["fingerprints"] = snapshot._fingerprints(document["inventory"])
        document["sha256"] = sha256_of({key: value for key, value in document.items() if key != "sha256"})
    return canonical_json(document)


@pytest.mark.parametrize("kind", [Host, Vm, Cluster, ResourcePool, Overlay])
@settings(max_examples=40, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_any_value_survives_json(kind: type, data: st.DataObject) -> None:
    value = data.draw(st.from_type(kind))
    assert decode(kind, json.loads(canonical_json(encode(value)))) == value


@dataclass(frozen=True)
class Fact:
    """A value of one of JSON's own types."""

    value: int | bool | str | tuple[str, ...] | None


@pytest.mark.parametrize("value", [1, True, "x", ("a", "b"), (), None])
def test_a_choice_of_plain_types_survives_json(value: Any) -> None:
    loaded = decode(Fact, json.loads(canonical_json(encode(Fact(value)))))
    assert (loaded.value, type(loaded.value)) == (value, type(value))


@pytest.mark.parametrize("raw", [1.5, {}, [1]])
def test_other_types_are_refused(raw: Any) -> None:
    with pytest.raises(CodecError) as caught:
        decode(Fact, {"value": raw})
    assert caught.value.pointer[0] == "value"


@pytest.mark.parametrize("name", ["a30pairs", "nvswitch", "floating", "big96"])
@pytest.mark.parametrize("suffix", [".json", ".json.gz"])
def test_a_site_survives_a_file(name: str, suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"x{suffix}"
    save_snapshot(site(name), path)
    assert load_snapshot(path) == site(name)
    loaded = load_inventory_file(path)
    assert (loaded.inventory, loaded.source, loaded.overlays) == (site(name), "snapshot", ())
    assert path.read_bytes().startswith(b"\x1f\x8b") == suffix.endswith(".gz")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]


def test_equal_inventories_give_equal_bytes() -> None:
    again = load_site(REPO / "fixtures" / "sites" / "floating.yaml").inventory
    for compress in (False, True):
        assert snapshot_bytes(again, compress=compress) == snapshot_bytes(site("floating"), compress=compress)
    document = json.loads(content())
    assert canonical_json(document) + b"\n" == content(), "the file is in canonical form"


def test_another_layout_of_the_same_json_is_accepted() -> None:
    again = json.dumps(json.loads(content()), indent=2).encode()
    assert again != content()
    assert parse_snapshot(again, "x.json").inventory == site("floating")


def test_the_name_of_the_file_does_not_decide(tmp_path: Path) -> None:
    path = tmp_path / "site.yaml"
    path.write_bytes(gzip.compress(content()))
    assert load_inventory_file(path).inventory == site("floating")


def test_fingerprint_is_of_content_not_of_time() -> None:
    inventory = site("floating")
    later = replace(inventory, taken_at="2026-02-02T02:02:02Z")
    assert inventory_fingerprint(later) == inventory_fingerprint(inventory)
    vm = replace(inventory.vms[0], memory_mib=inventory.vms[0].memory_mib + 1)
    changed = replace(inventory, vms=(vm, *inventory.vms[1:]))
    assert inventory_fingerprint(changed) != inventory_fingerprint(inventory)
    before, after = object_fingerprints(inventory), object_fingerprints(changed)
    assert {key for key in before if before[key] != after[key]} == {f"vms/{vm.moid}"}


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda d: d["inventory"]["vms"][0].update(memory_mib=1), "vms/vm-2001 was changed"),
        (lambda d: d["inventory"]["hosts"].pop(), "hosts/host-1001 was removed"),
        (
            lambda d: d["inventory"]["vms"].append({**d["inventory"]["vms"][0], "moid": "vm-9"}),
            "vms/vm-9 was added",
        ),
        (lambda d: d["inventory"].update(taken_at="2030-01-01T00:00:00Z"), "taken_at was changed"),
        (lambda d: d["inventory"].update(notes=["mine"]), "notes was changed"),
        (lambda d: d["fingerprints"].pop("vms/vm-2001"), "vms/vm-2001 was added"),
        (lambda d: d.update(sha256="0" * 64), "its sha256"),
    ],
)
def test_an_edited_file_is_refused_with_what_was_touched(
    change: Callable[[dict[str, Any]], None], told: str
) -> None:
    with pytest.raises(FileFormatError, match="changed after it was written") as caught:
        parse_snapshot(edited(change, rehash=False), "x.json")
    assert told in str(caught.value)


@pytest.mark.parametrize(
    ("change", "pointer", "what"),
    [
        (lambda i: i["vms"][0].update(cpus="14"), "inventory.vms[0].cpus", "'14' is not a whole number"),
        (lambda i: i["vms"][0].update(cpus=True), "inventory.vms[0].cpus", "true is not a whole number"),
        (lambda i: i["vms"][1].update(cpus=1.5), "inventory.vms[1].cpus", "1.5 is not a whole number"),
        (lambda i: i["vms"][1].update(power="on"), "inventory.vms[1].power", "none of poweredOn"),
        (lambda i: i["vms"][0].pop("name"), "inventory.vms[0]", "the key 'name' is missing"),
        (lambda i: i["vms"][0].update(extra=1), "inventory.vms[0]", "unknown key 'extra'"),
        (lambda i: i["vms"][0].update(extra_config=[["a"]]), "inventory.vms[0].extra_config[0]", "list of 2"),
        (lambda i: i["vms"][0].update(devices={}), "inventory.vms[0].devices", "a mapping is not a list"),
        (lambda i: i["hosts"][0].update(name=None), "inventory.hosts[0].name", "null is not text"),
        (
            lambda i: i["vms"][0]["devices"][0]["backing"].update(type="Nothing"),
            "inventory.vms[0].devices[0].backing",
            "'Nothing' is none of StaticBacking",
        ),
        (
            lambda i: i["hosts"][0]["pci_devices"][2].update(address="0000:3b:00.9"),
            "inventory.hosts[0].pci_devices[2].address",
            "not a PCI address",
        ),
        (lambda i: i["about"].update(api_version=8), "inventory.about.api_version", "8 is not text"),
        (lambda i: i.pop("gaps"), "inventory", "the key 'gaps' is missing"),
    ],
)
def test_a_wrong_value_is_named_by_its_pointer(
    change: Callable[[dict[str, Any]], None], pointer: str, what: str
) -> None:
    raw = edited(lambda document: change(document["inventory"]), rehash=True)
    with pytest.raises(FileFormatError) as caught:
        parse_snapshot(raw, "x.json")
    assert caught.value.pointer == pointer
    assert what in str(caught.value)


@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        (lambda d: d["inventory"].update(vms={}), "inventory.vms"),
        (lambda d: d["inventory"]["vms"].append(5), "inventory.vms[5]"),
        (lambda d: d["inventory"]["vms"][0].pop("moid"), "inventory.vms[0]"),
        (lambda d: d["inventory"]["vms"].append(d["inventory"]["vms"][0]), "inventory.vms[5]"),
        (lambda d: d.update(inventory=[]), "inventory"),
        (lambda d: d.pop("fingerprints"), "fingerprints"),
        (lambda d: d.update(format_version=True), "format_version"),
        (lambda d: d.update(format_version="1"), "format_version"),
        (lambda d: d.update(format_version=0), "format_version"),
    ],
)
def test_a_misshapen_file_is_named_by_its_pointer(
    change: Callable[[dict[str, Any]], None], pointer: str
) -> None:
    with pytest.raises(FileFormatError) as caught:
        parse_snapshot(edited(change, rehash=False), "x.json")
    assert caught.value.pointer == pointer


def test_a_newer_format_is_refused_by_name() -> None:
    raw = edited(lambda d: d.update(format_version=3, inventory="unreadable for us"), rehash=False)
    with pytest.raises(NewerFormatError, match=r"snapshot format 3 is newer.*reads up to format 2"):
        parse_snapshot(raw, "x.json")


def test_an_older_format_is_migrated_after_its_hashes_were_checked(monkeypatch: pytest.MonkeyPatch) -> None:

    def rename(document: dict[str, Any]) -> dict[str, Any]:
        inventory = {**document["inventory"], "notes": ["migrated"]}
        return {**document, "inventory": inventory}

    monkeypatch.setattr(snapshot, "FORMAT_VERSION", 3)
    with pytest.raises(FileFormatError, match="format 2 is not readable"):
        parse_snapshot(content(), "x.json")
    monkeypatch.setitem(snapshot.MIGRATIONS, 2, rename)
    assert parse_snapshot(content(), "x.json").inventory == replace(site("floating"), notes=("migrated",))
    with pytest.raises(FileFormatError, match="changed after"):
        parse_snapshot(edited(lambda d: d["inventory"].update(notes=["x"]), rehash=False), "x.json")


def test_format_1_knew_no_cpu_features_and_held_measured_homes() -> None:
    def older(document: dict[str, Any]) -> None:
        document["format_version"] = 1
        for host in document["inventory"]["hosts"]:
            del host["cpu_features"], host["cpu_features_visible"]
        for vm in document["inventory"]["vms"]:
            vm["measured_home"] = {"nodes": [0], "locality_percent": 99, "migrations": 0, "at": "x"}

    hosts = tuple(
        replace(host, cpu_features=None, cpu_features_visible=None) for host in site("floating").hosts
    )
    assert parse_snapshot(edited(older, rehash=True), "x.json").inventory == replace(
        site("floating"), hosts=hosts
    )


def test_every_older_format_has_its_migration() -> None:
    assert sorted(snapshot.MIGRATIONS) == list(range(1, snapshot.FORMAT_VERSION))


@settings(max_examples=60)
@given(st.data())
def test_a_truncated_file_is_refused(data: st.DataObject) -> None:
    compress = data.draw(st.booleans())
    raw = gzip.compress(content(), mtime=0) if compress else content().rstrip()
    cut = data.draw(st.integers(2, len(raw) - 1))
    with pytest.raises(FileFormatError) as caught:
        parse_snapshot(raw[:cut], "x.json")
    assert "truncated" in str(caught.value) or "not valid JSON" in str(caught.value)


@settings(max_examples=150)
@given(st.data())
def test_a_damaged_file_is_refused_or_means_the_same(data: st.DataObject) -> None:
    raw = bytearray(gzip.compress(content(), mtime=0) if data.draw(st.booleans()) else content())
    for _ in range(data.draw(st.integers(1, 3))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    try:
        loaded = parse_snapshot(bytes(raw), "x.json").inventory
    except RequestError:
        return
    assert loaded == site("floating")


@pytest.mark.parametrize(
    ("raw", "told"),
    [
        (b"", "the file is empty"),
        (b"  \n", "the file is empty"),
        (b"{}", "not a snapshot"),
        (b"[]", "not a snapshot"),
        (b'{"format": "other"}', "not a snapshot"),
        (b"{" * 100_000, "not valid JSON"),
        (b'{"a":' * 100_000, "not valid JSON"),
        (b'{"format": "vplacer-snapshot", "format_version": ' + b"1" * 5000 + b"}", "not valid JSON"),
        (b'{"format": "vplacer-snapshot", "format_version": NaN}', "format_version"),
        (b"\x1f\x8b", "truncated"),
        (b"\x1f\x8bgarbage that is no gzip", "damaged"),
        (b"\x7fELF\x02\x01\x01\x00\x00", "not text"),
        (bytes(range(256)), "not text"),
        (b"\xff\xfe{\x00}\x00", "not text"),
        (b'{"format": "\xff"}', "not valid JSON"),
        (b"- a\n- b\n", "is not a mapping"),
        (b"just words\n", "is not a mapping"),
        (b"42", "is not a mapping"),
    ],
    ids=repr,
)
def test_anything_else_is_refused(raw: bytes, told: str, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(raw)
    with pytest.raises(FileFormatError) as caught:
        load_inventory_file(path)
    assert told in str(caught.value)
    assert str(path) in str(caught.value)


def test_missing_files_and_folders_are_named(tmp_path: Path) -> None:
    with pytest.raises(UnknownObjectError, match="there is no such file"):
        load_inventory_file(tmp_path / "nothing.json")
    with pytest.raises(UnknownObjectError, match="this is a folder"):
        load_inventory_file(tmp_path)


def test_a_failing_disk_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.json"
    path.write_text("old")

    def full(*_: object) -> None:
        raise OSError(30, os.strerror(30))

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OutputError, match=r"x\.json: cannot be written: Read-only file system"):
        save_snapshot(site("floating"), path)
    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["x.json"]


@pytest.mark.parametrize("where", ["missing/x.json", "", "file/x.json"])
def test_a_place_that_cannot_be_written_is_named(where: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="cannot be written"):
        save_snapshot(site("floating"), tmp_path / where)


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    real, link = tmp_path / "real.json", tmp_path / "link.json"
    real.write_text("old")
    link.symlink_to(real)
    save_snapshot(site("floating"), link)
    assert link.is_symlink()
    assert load_snapshot(real) == site("floating")
