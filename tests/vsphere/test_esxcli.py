"""esxcli of a host: one device's fields, whole answers, and what becomes of them: cases/esxcli.yaml."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import pytest
import yaml

from tests.topology.hosts import address, make_host
from vplacer.errors import PermissionMissing, SessionLost
from vplacer.inventory.host import Host
from vplacer.topology.esxcli_device import read_device
from vplacer.vsphere.esxcli import parse_answer, placed_devices, places_unknown, read_pci_list
from vplacer.vsphere.raw import Data, MoRef

CASES = yaml.safe_load((Path(__file__).parent / "cases" / "esxcli.yaml").read_text())
HOST = MoRef("HostSystem", "host-1")


def title(case: dict[str, Any]) -> str:
    return str(case["title"])


@pytest.mark.parametrize("case", CASES["devices"], ids=title)
def test_device(case: dict[str, Any]) -> None:
    if "refused" in case:
        with pytest.raises(ValueError, match=case["refused"]):
            read_device(case["fields"])
        return
    read = read_device(case["fields"])
    for name, wanted in case["read"].items():
        found = getattr(read, name)
        if name == "ids":
            assert [sorted(item) for item in found] == [sorted(item) for item in wanted]
        else:
            assert (
                str(found) if name in ("address", "parent", "dependent") and found else found
            ) == wanted, name


def test_a_public_listing(test_data: Path) -> None:
    text = (test_data / "esxcli" / "x540-and-lsi-passthru.txt").read_text()
    block = next(part for part in text.split("\n\n") if "0000:02:00.1" in part)
    pairs = (line.strip().partition(": ") for line in block.splitlines() if ": " in line and line[:1] == " ")
    read = read_device({name: value for name, _, value in pairs})
    assert (str(read.parent), str(read.dependent)) == ("0000:00:01.1", "0000:02:00.1")
    assert (read.physical_slot, read.numa_node, read.vmkernel_name) == (2, None, "vmnic5")
    assert read.ids == tuple(frozenset({number}) for number in (0x8086, 0x1528, 0x103C, 0x192D))


def host_with(*pci: str, listed: list[str] | None = None, nodes: int = 2) -> Host:
    """Return a host whose last NUMA node has the devices listed."""
    last = nodes - 1
    lists = [{"id": n, "cores": 8, "devices": (listed or []) if n == last else []} for n in range(nodes)]
    return make_host({"packages": nodes, "nodes": lists, "pci": pci})


def answer(case: dict[str, Any]) -> Data:
    if "fault" in case:
        fault = Data("ReflectManagedMethodExecuterSoapFault", (), {"faultMsg": case["fault"]})
        return Data("ReflectManagedMethodExecuterSoapResult", (), {"fault": fault})
    text = case.get("text")
    if text is None:
        rows = "".join(
            "<DataObject>"
            + "".join(f"<{name}>{escape(value)}</{name}>" for name, value in fields.items())
            + "</DataObject>"
            for fields in case["devices"]
        )
        text = f'<obj xmlns="urn:vim25">{rows}</obj>'
    return Data("ReflectManagedMethodExecuterSoapResult", (), {"response": text})


@pytest.mark.parametrize("case", CASES["answers"], ids=title)
def test_answer(case: dict[str, Any]) -> None:
    host = host_with("0000:3b:00.0 A30", "0000:5e:00.0 nic", "0000:86:00.0 A30", listed=["0000:86:00.0"])
    told = parse_answer(answer(case))
    assert told.not_told == case.get("not_told")
    placed, notes = placed_devices(host, told)
    assert {str(item.address): item.numa_node for item in placed} == case["placed"]
    assert all(item.ids == host.device(item.address).ids for item in placed)  # type: ignore[union-attr]
    wanted = case.get("notes", [])
    said = [*told.notes, *notes]
    assert len(said) == len(wanted), said
    assert all(part in note for part, note in zip(wanted, said, strict=True)), said


class FakeReader:
    def __init__(self, *answers: object) -> None:
        self.answers = list(answers)
        self.calls: list[tuple[MoRef, str, object]] = []

    def call(self, ref: MoRef, method: str, arguments: object = None) -> object:
        self.calls.append((ref, method, arguments))
        found = self.answers.pop(0)
        if isinstance(found, Exception):
            raise found
        return found


def test_the_host_is_asked_through_its_executer() -> None:
    executer = MoRef("ReflectManagedMethodExecuter", "x-1")
    case = {"devices": [{"Address": "0000:3b:00.0", "NUMANode": "1"}]}
    reader = FakeReader(executer, answer(case))
    (found,) = read_pci_list(reader, HOST).devices  # type: ignore[arg-type]
    assert (found.address, found.numa_node) == (address("0000:3b:00.0"), 1)
    assert [(ref, method) for ref, method, _ in reader.calls] == [
        (HOST, "RetrieveManagedMethodExecuter"),
        (executer, "ExecuteSoap"),
    ]
    assert reader.calls[1][2] == {
        "moid": "ha-cli-handler-hardware-pci",
        "version": "urn:vim25/5.0",
        "method": "vim.EsxCLI.hardware.pci.list",
    }


def test_a_denial_is_a_reason_and_a_lost_session_an_error() -> None:
    denied = PermissionMissing("x", why=f"the account lacks Host.Config.Settings on {HOST}")
    told = read_pci_list(FakeReader(denied), HOST)  # type: ignore[arg-type]
    assert told.not_told == "the account lacks Host.Config.Settings"
    assert read_pci_list(FakeReader(None), HOST).not_told is not None  # type: ignore[arg-type]
    with pytest.raises(SessionLost):
        read_pci_list(FakeReader(SessionLost("gone")), HOST)  # type: ignore[arg-type]


def test_only_hosts_with_a_device_that_nobody_places_are_asked() -> None:
    card, bridge = "0000:3b:00.0 A30", "0000:3a:00.0 bridge"
    assert places_unknown(host_with(card))
    assert not places_unknown(host_with(card, bridge, listed=["0000:3b:00.0"]))
    assert not places_unknown(host_with(bridge))
    assert not places_unknown(host_with(card, nodes=0))


def test_where_esxcli_and_vcenter_name_other_devices_it_is_said() -> None:
    host = host_with("0000:3a:00.0 bridge", "0000:3b:00.0 A30 < 0000:3a:00.0")
    fields = {"Address": "0000:3b:00.0", "NUMANode": "0", "ParentDevice": "PCI 0:59:0:0"}
    placed, notes = placed_devices(host, parse_answer(answer({"devices": [fields]})))
    assert [item.numa_node for item in placed] == [0]
    (note,) = notes
    assert note == (
        "the bridge above 0000:3b:00.0 is 0000:3b:00.0 to esxcli and 0000:3a:00.0 to vCenter; "
        "vCenter's is used"
    )
