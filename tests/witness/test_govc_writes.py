"""What govc sends for a change and what vplacer sends for the same one, field by field.

Both talk to one lab. govc prints its request; vplacer's is caught where it would leave the machine. The
cases name every difference with its reason; one that is not named, or named and not there, fails.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.conftest import REPO
from tests.vsphere.plan_values import change_of
from tests.vsphere.wire import arguments_of, canonical, leaves, method_of
from tests.witness_programs import lab_environment
from vplacer.errors import AnswerLost
from vplacer.inventory.cluster import VmHostRule, VmVmRule
from vplacer.inventory.load import load_inventory_file
from vplacer.inventory.vcenter import Inventory
from vplacer.inventory.vm import VmPower
from vplacer.lab.soap.server import LabServer
from vplacer.plan.changes import Clone, Delete, Power, Relocate, UpgradeHardware
from vplacer.port import RuleChange
from vplacer.vsphere.address import Address
from vplacer.vsphere.credentials import Credentials
from vplacer.vsphere.secret import Secret
from vplacer.vsphere.session import ConnectOptions, Session
from vplacer.vsphere.transport import Reply
from vplacer.vsphere.writer import VCenterPort

pytestmark = pytest.mark.live

SITE = REPO / "fixtures/sites/a30pairs.yaml"
CASES = yaml.safe_load((Path(__file__).parent / "govc_writes.yaml").read_text())
CHANGE_VERSION = "2026-01-01T00:00:00.000000Z"
DECLARED = ("OptionValue", "VirtualDeviceConfigSpec", "Description")
"""Types that govc names where they are those that the field is declared with."""
_ENVELOPE = re.compile(r"<Envelope .*?</Envelope>", re.DOTALL)
_WRITES = re.compile(r"<Body><(\w+_Task|ShutdownGuest) ")


def sent_by_govc(govc: Path, server: LabServer, arguments: list[str]) -> list[bytes]:
    done = subprocess.run(
        [govc, arguments[0], "-trace", *arguments[1:]],
        env=lab_environment(server),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    found = [text.encode() for text in _ENVELOPE.findall(done.stderr) if _WRITES.search(text)]
    assert found, done.stderr[-400:]
    return found


def sent_by_vplacer(server: LabServer, inventory: Inventory, text: Mapping[str, Any]) -> list[bytes]:
    caught: list[bytes] = []

    def catch(path: str, *, body: bytes, headers: Mapping[str, str]) -> Reply:
        caught.append(body)
        raise AnswerLost("caught")

    options = ConnectOptions(Address.parse(server.url), ca_file=server.ca_file)
    account = Credentials(server.username, Secret(server.password), "the lab", "the lab")
    with Session.connect(options, account) as session:
        port = VCenterPort(session)
        session.transport.send_once = catch  # type: ignore[method-assign]
        with pytest.raises(AnswerLost):
            write(port, Named(inventory), text)
    return caught


class Named:
    """Managed object ids by name."""

    def __init__(self, inventory: Inventory) -> None:
        self.inventory = inventory
        self.vms = {vm.name: vm for vm in inventory.vms}
        self.hosts = {host.name: host.moid for host in inventory.hosts}
        self.stores = {store.name: store.moid for store in inventory.datastores}
        self.cluster = inventory.clusters[0].moid


def write(port: VCenterPort, names: Named, text: Mapping[str, Any]) -> None:
    vm = names.vms[text["vm"]] if "vm" in text else next(iter(names.vms.values()))
    match text["do"]:
        case "reconfigure":
            change = change_of(text["change"])
            port.reconfigure(vm.moid, change, CHANGE_VERSION, "op")
        case "upgrade":
            port.upgrade(vm.moid, UpgradeHardware(20, text["version"]), "op")
        case "power_on":
            port.power(vm.moid, Power(VmPower.OFF, VmPower.ON, names.hosts[text["host"]]), "op")
        case "power_off":
            port.power(vm.moid, Power(VmPower.ON, VmPower.OFF, vm.host), "op")
        case "shut_down":
            port.shut_down(vm.moid, "op")
        case "relocate":
            there = names.hosts[text["host"]]
            port.relocate(vm.moid, Relocate(vm.host or "", there, vm.pool, vm.pool, False), "op")
        case "delete":
            port.delete(vm.moid, Delete(vm.name), "op")
        case "clone":
            host, store = names.hosts[text["host"]], names.stores[text["datastore"]]
            port.clone(Clone(vm.moid, text["name"], host, None, store, text["folder"]), "op")
        case "rules":
            rule = text["rule"]
            vms = tuple(names.vms[name].moid for name in rule["vms"])
            if "hosts" in rule:
                hosts = tuple(names.hosts[name] for name in rule["hosts"])
                new: VmVmRule | VmHostRule = VmHostRule(0, rule["name"], True, False, vms, hosts, False)
            else:
                new = VmVmRule(0, rule["name"], True, True, vms, False)
            port.edit_rules([RuleChange(names.cluster, None, new)], "op")


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case["name"]))
def test_as_govc(case: dict[str, Any], witness_bin: Callable[[str], Path]) -> None:
    site = load_inventory_file(SITE)
    with LabServer(site, speed=500) as server:
        (own,) = sent_by_vplacer(server, site.inventory, case["vplacer"])
        other = sent_by_govc(witness_bin("govc"), server, case["govc"])[0]
    assert method_of(own) == method_of(other)
    ours, theirs = leaves(canonical(arguments_of(own))), leaves(canonical(arguments_of(other)))
    if method_of(own) == "ReconfigVM_Task":
        # govc changes a VM whatever happened to it meanwhile.
        assert (ours.pop("spec.changeVersion"), theirs.pop("spec.changeVersion", None)) == (
            CHANGE_VERSION,
            None,
        )
    found = {
        at: [theirs.get(at), ours.get(at)]
        for at in sorted({*ours, *theirs})
        if ours.get(at) != theirs.get(at) and not (at.endswith(".type") and theirs.get(at) in DECLARED)
    }
    assert found == {at: item["govc_vplacer"] for at, item in case.get("differences", {}).items()}
    assert all(item["why"] for item in case.get("differences", {}).values())
