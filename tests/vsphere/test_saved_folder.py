"""A folder of `govc object.save` as a source: what it says is read, what it lacks is a gap, never "none"."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from vplacer.errors import RequestError
from vplacer.inventory.vcenter import Inventory
from vplacer.jobs.lab_export import export_site
from vplacer.jobs.world import World
from vplacer.vsphere.collector import CollectOptions
from vplacer.vsphere.saved_reader import collect_folder

WORLD = World(environ={}, clock=lambda: datetime.now(UTC), seconds=time.monotonic, warn=print)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    export_site("nvswitch", tmp_path / "saved", WORLD)
    return tmp_path / "saved"


def read(folder: Path) -> Inventory:
    return collect_folder(folder, CollectOptions())


def file_of(folder: Path, what: str) -> Path:
    (path,) = folder.glob(f"*-{what}.xml")
    return path


def reasons(inventory: Inventory) -> dict[tuple[str, str], str]:
    return {(gap.object, gap.path): gap.reason for gap in inventory.gaps}


def test_reads_objects_and_answers(folder: Path) -> None:
    inventory = read(folder)
    assert (len(inventory.hosts), len(inventory.vms)) == (4, 11)
    assert (inventory.about.name, inventory.about.api_version) == ("nvswitch", "8.0.3.0")
    first = inventory.hosts[0]
    assert first.cluster == inventory.clusters[0].moid
    assert len(first.numa_nodes) == 2
    assert any(device.passthrough and device.passthrough.active for device in first.pci_devices)
    assert {vm.folder for vm in inventory.vms} == {"vm", "vm/templates"} or inventory.vms[0].folder


def test_tags_are_not_known(folder: Path) -> None:
    inventory = read(folder)
    assert "has no tags" in reasons(inventory)[inventory.about.instance_uuid, "tags"]


def test_offers_of_a_cluster_are_lent_to_no_host(folder: Path) -> None:
    inventory = read(folder)
    with_profiles = [host for host in inventory.hosts if host.vgpu_types]
    assert with_profiles
    assert all({p.name for p in host.vgpu_profiles} == set(host.vgpu_types) for host in inventory.hosts)
    assert all(host.device_groups == () for host in inventory.hosts)
    unknown = {moid for moid, path in reasons(inventory) if path == "QueryConfigTarget"}
    assert unknown == {host.moid for host in with_profiles}, "the others cannot have groups of these profiles"
    assert all(device.system_id is None for host in inventory.hosts for device in host.pci_devices)


def test_a_host_of_its_own_gets_the_whole_answer(tmp_path: Path) -> None:
    export_site("floating", tmp_path / "saved", WORLD)
    inventory = read(tmp_path / "saved")
    assert [gap.path for gap in inventory.gaps] == ["tags"]
    assert any(device.system_id for device in inventory.hosts[0].pci_devices)
    assert {limits.source for limits in inventory.hosts[0].limits} == {"descriptor", "table"}


def test_without_an_answer_the_offers_are_a_gap(folder: Path) -> None:
    (answer,) = folder.glob("EnvironmentBrowser-*/QueryConfigTarget.xml")
    answer.unlink()
    found = reasons(read(folder))
    assert "the folder has no answer" in found["host-1001", "QueryConfigTarget"]


def test_the_time_is_that_of_the_session_else_of_the_files(folder: Path) -> None:
    for path in folder.rglob("*.xml"):
        os.utime(path, (1_700_000_000, 1_700_000_000))
    inventory = read(folder)
    assert inventory.taken_at == "2023-11-14T22:13:20Z"
    assert any("when the folder was saved" in note for note in inventory.notes)
    sessions = file_of(folder, "SessionManager-SessionManager")
    text = (
        "<ObjectContent><obj type='SessionManager'>SessionManager</obj><propSet><name>currentSession</name>"
        "<val xmlns:i='http://www.w3.org/2001/XMLSchema-instance' i:type='UserSession'><key>secret-key</key>"
        "<lastActiveTime>2026-01-02T05:04:05.678+02:00</lastActiveTime></val></propSet></ObjectContent>"
    )
    sessions.write_text(text)
    inventory = read(folder)
    assert inventory.taken_at == "2026-01-02T03:04:05Z"
    assert "secret-key" not in repr(inventory)


@pytest.mark.parametrize(
    ("what", "moid"),
    [
        ("HostSystem-host-1002", "host-1002"),
        ("VirtualMachine-vm-2001", "vm-2001"),
        ("ResourcePool-resgroup-10", "resgroup-10"),
        ("Datastore-datastore-11", "datastore-11"),
        ("Network-network-7", "network-7"),
        ("ClusterComputeResource-domain-c8", "domain-c8"),
    ],
)
def test_an_object_that_is_named_and_not_there_is_a_gap(folder: Path, what: str, moid: str) -> None:
    file_of(folder, what).unlink()
    assert "but the folder does not have it" in reasons(read(folder))[moid, ""]


@pytest.mark.parametrize(
    ("what", "name", "moid"),
    [
        ("HostSystem-host-1002", "config", "host-1002"),
        ("HostSystem-host-1002", "hardware", "host-1002"),
        ("HostSystem-host-1002", "datastore", "host-1002"),
        ("VirtualMachine-vm-2001", "config", "vm-2001"),
        ("VirtualMachine-vm-2001", "runtime", "vm-2001"),
        ("ClusterComputeResource-domain-c8", "configurationEx", "domain-c8"),
        ("ResourcePool-resgroup-10", "config", "resgroup-10"),
        ("Datastore-datastore-11", "summary", "datastore-11"),
    ],
)
def test_a_property_that_the_account_could_not_read_is_a_gap(
    folder: Path, what: str, name: str, moid: str
) -> None:
    file = file_of(folder, what)
    rows = file.read_text().split("\n")
    start = f"<propSet><name>{name}</name>"
    kept = [row for row in rows if not row.startswith(start)]
    assert len(kept) == len(rows) - 1
    file.write_text("\n".join(kept))
    assert (moid, name) in reasons(read(folder))
    # govc saves an unset property as one without a value.
    unset = [f"{start}</propSet>" if row.startswith(start) else row for row in rows]
    file.write_text("\n".join(unset))
    assert (moid, name) in reasons(read(folder))


def test_unknown_types_and_fields_are_left_out_and_noted(folder: Path) -> None:
    file = file_of(folder, "HostSystem-host-1001")
    text = file.read_text()
    file.write_text(
        text.replace("<fptHotplugSupported>", "<fromTheFuture>1</fromTheFuture><fptHotplugSupported>")
    )
    inventory = read(folder)
    assert any("fromTheFuture" in note for note in inventory.notes)
    assert len(inventory.hosts) == 4


_BOMB = "<!DOCTYPE x [<!ENTITY a 'aaaaaaaaaa'><!ENTITY b '&a;&a;&a;&a;&a;'><!ENTITY c '&b;&b;&b;&b;&b;'>]>"
_OBJECT = "<ObjectContent><obj type='Folder'>group-d9</obj>{}</ObjectContent>"


def _cut(text: str) -> bytes:
    return text[: len(text) // 2].encode()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_cut, "is cut off or not well-formed XML"),
        (lambda _: b"", "is cut off or not well-formed XML"),
        (lambda _: f"{_BOMB}<ObjectContent>&c;</ObjectContent>".encode(), "declares a document type"),
        (lambda _: _BOMB.encode("utf-16"), "is not UTF-8"),
        (lambda _: b"<?xml version='1.0' encoding='cp037'?>" + _OBJECT.encode("cp037"), "is not UTF-8"),
        (lambda _: _OBJECT.format("<a>" * 100_000 + "</a>" * 100_000).encode(), "more than 100 deep"),
        (lambda _: b"<html><body>Log in</body></html>", "holds no saved object"),
        (lambda _: b"<ObjectContent><propSet/></ObjectContent>", "does not say which object it is"),
        (
            lambda _: _OBJECT.replace("group-d9", "host-1002").replace("Folder", "HostSystem").encode(),
            "as well",
        ),
    ],
    ids=["cut", "empty", "entities", "utf-16", "ebcdic", "deep", "html", "nameless", "twice"],
)
def test_a_bad_file_is_refused_by_name(folder: Path, change: Callable[[str], bytes], message: str) -> None:
    file = file_of(folder, "HostSystem-host-1001")
    file.write_bytes(change(file.read_text()))
    with pytest.raises(RequestError, match=message) as caught:
        read(folder)
    assert "-HostSystem-host-100" in str(caught.value)
    assert "Log in" not in str(caught.value)


@pytest.mark.parametrize("method", ["QueryConfigTarget", "QueryConfigOptionDescriptor"])
def test_a_bad_answer_is_refused_by_name(folder: Path, method: str) -> None:
    (answer,) = folder.glob(f"EnvironmentBrowser-*/{method}.xml")
    whole = answer.read_text()
    answer.write_bytes(_cut(whole))
    with pytest.raises(RequestError, match=rf"{method}\.xml:\d+:\d+: is cut off"):
        read(folder)
    answer.write_text("<QueryTargetCapabilitiesResponse/>")
    with pytest.raises(RequestError, match=f"holds no answer of {method}"):
        read(folder)


def test_a_folder_without_objects_or_of_a_part_is_refused(tmp_path: Path, folder: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(RequestError, match="holds no saved objects"):
        read(tmp_path / "empty")
    file_of(folder, "ServiceInstance-ServiceInstance").unlink()
    with pytest.raises(RequestError, match="a part of an inventory only"):
        read(folder)
    with pytest.raises(RequestError, match="cannot be read"):
        read(tmp_path / "missing")


def test_names_of_files_do_not_matter_and_others_are_not_read(folder: Path) -> None:
    before = read(folder)
    (folder / "notes.txt").write_text("<!DOCTYPE")
    (folder / "HostSystem-host-1001").mkdir()
    (folder / "HostSystem-host-1001" / "QueryTpmAttestationReport.xml").write_text("<nonsense")
    file = file_of(folder, "HostSystem-host-1001")
    file.rename(folder / "zzz.xml")
    assert read(folder) == before
