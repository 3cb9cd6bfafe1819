"""Methods beside session and collector; the store; the check that all can be served."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from pyVmomi import vim, vmodl

from tests.lab.clients import bind, connected
from tests.lab.serialisable import check_serialisable
from tests.lab.small_site import (
    BROWSER,
    CLUSTER,
    DATACENTER,
    ESXTOP,
    HOSTS,
    ROOT,
    VM,
    VM_INSTANCE_UUID,
    VM_UUID,
    small_site,
)
from vplacer.lab.soap.methods.table import MethodTable
from vplacer.lab.soap.server import LabServer
from vplacer.lab.soap.store import Computed, Lazy, Store

VERSIONS = ("6.7", "7.0.3.0", "8.0.0.1", "8.0.3.0", "9.1.0.0")


def test_every_reference_of_the_service_content_resolves(service: Any) -> None:
    members = {n: v for n, v in vars(service.content).items() if isinstance(v, vim.ManagedEntity | object)}
    references = [v for v in members.values() if hasattr(v, "_moId")]
    assert len(references) == 17
    collector = service.content.propertyCollector
    from tests.lab.clients import PC, object_filter

    for ref in references:
        spec = object_filter(ref, [])
        answer = collector.RetrievePropertiesEx([spec], PC.RetrieveOptions())
        assert answer.objects[0].obj == ref


def test_config_target_is_the_host_s_own(service: Any) -> None:
    browser = bind(service, BROWSER)
    assert [t.vgpu for t in browser.QueryConfigTarget(HOSTS[0]).sharedGpuPassthroughTypes] == [
        "grid_a100-40c"
    ]
    assert browser.QueryConfigTarget().sharedGpuPassthroughTypes == []
    assert [d.key for d in browser.QueryConfigOptionDescriptor()] == ["vmx-20", "vmx-21"]
    with pytest.raises(vmodl.fault.ManagedObjectNotFound):
        browser.QueryConfigTarget(vim.HostSystem("host-404"))


def test_method_the_lab_does_not_have(service: Any) -> None:
    with pytest.raises(vmodl.fault.MethodNotFound) as refused:
        bind(service, VM).Rename_Task("x")
    assert refused.value.method == "Rename_Task"
    with pytest.raises(vmodl.fault.MethodNotFound):  # known, but this object gives no answer
        bind(service, BROWSER).QueryConfigOption()


def test_search(service: Any) -> None:
    search = service.content.searchIndex
    assert search.FindByUuid(None, VM_UUID.upper(), True) == VM
    assert search.FindByUuid(None, VM_INSTANCE_UUID, True, True) == VM
    assert search.FindByUuid(None, VM_UUID, True, True) is None
    assert search.FindByUuid(None, "00000000-0000-0000-0000-000000000000", False) == HOSTS[0]
    assert search.FindAllByUuid(DATACENTER, VM_UUID, True) == [VM]
    assert search.FindByDnsName(None, "esx1.lab", False) == HOSTS[1]
    assert search.FindByIp(None, "10.0.0.1", True) is None
    assert search.FindByInventoryPath("DC0/host/C0/esx0.lab") == HOSTS[0]
    assert search.FindByInventoryPath("/DC0/vm/gpu-vm-0/") == VM
    assert search.FindByInventoryPath("DC0/vm/none") is None
    assert search.FindChild(bind(service, ROOT), "DC0") == DATACENTER


def test_esxtop_service(service: Any) -> None:
    manager = service.content.serviceManager
    found = manager.QueryServiceList(location=["vmware.host.esx0.lab"])
    assert [(s.serviceName, s.service) for s in found] == [("Esxtop", ESXTOP)]
    assert found[0].service.Execute(["CounterInfo"]) == "ran CounterInfo"
    assert manager.QueryServiceList(location=["vmware.host.other"]) == []
    assert manager.QueryServiceList("Other") == []


def test_permissions(service: Any, server: LabServer) -> None:
    manager = service.content.authorizationManager
    root = service.content.rootFolder
    assert [(p.principal, p.roleId) for p in manager.RetrieveEntityPermissions(root, False)] == [
        (server.username, -1)
    ]
    assert manager.RetrieveEntityPermissions(bind(service, CLUSTER), False) == []
    assert len(manager.RetrieveEntityPermissions(bind(service, CLUSTER), True)) == 1
    held = manager.FetchUserPrivilegeOnEntities([root], server.username)[0].privileges
    assert "Global.ServiceManagers" in held
    assert manager.FetchUserPrivilegeOnEntities([root], "nobody")[0].privileges == []
    with LabServer(small_site(), read_only=True) as limited, connected(limited) as client:
        manager = client.content.authorizationManager
        wanted = ["System.View", "Host.Config.Settings"]
        assert manager.HasPrivilegeOnEntity(client.content.rootFolder, "", wanted) == [True, False]


def test_missing_parameter(server: LabServer) -> None:
    from tests.lab.clients import envelope, post

    status, body = post(
        server,
        envelope('<Login xmlns="urn:vim25"><_this type="SessionManager">SessionManager</_this></Login>'),
    )
    assert status == 500
    assert b"<invalidProperty>userName</invalidProperty>" in body


def test_declaring_a_method_that_does_not_exist() -> None:
    with pytest.raises(ValueError, match="cannot declare"):
        MethodTable().method(vim.HostSystem, "NoSuchMethod")(lambda *_: None)


def test_small_site_can_be_served_at_every_version(site: Any, server: LabServer) -> None:
    assert check_serialisable(site.store, VERSIONS) == []


def test_check_finds_what_cannot_be_served() -> None:
    store = Store()
    vm = vim.VirtualMachine("vm-1")
    store.add(vm, {"runtime": vim.vm.RuntimeInfo(), "parent": vim.Folder("group-9"), "name": "bell \x07"})
    found = check_serialisable(store, ["8.0.3.0"])
    assert found == [
        "VirtualMachine vm-1 runtime at 8.0.3.0: "
        "VirtualMachineRuntimeInfo.connectionState is required but unset",
        "VirtualMachine vm-1 parent: Folder group-9 does not exist",
        "VirtualMachine vm-1 name at 8.0.3.0: not XML: not well-formed (invalid token): line 1, column 63",
    ]


def test_lazy_values_are_built_once_and_computed_ones_each_time() -> None:
    store = Store()
    calls: list[str] = []

    def build(name: str) -> str:
        calls.append(name)
        return name

    vm = vim.VirtualMachine("vm-1")
    entry = store.add(
        vm, {"name": Lazy(lambda: build("lazy")), "customValue": Computed(lambda: calls.append("c"))}
    )
    for _ in range(3):
        assert store.read(vm, "name") == "lazy"
        assert entry.get("customValue") is None
    assert calls.count("lazy") == 1
    assert calls.count("c") == 3


def test_store_refuses_unknown_properties_and_taken_ids() -> None:
    store = Store()
    store.add(vim.VirtualMachine("vm-1"))
    with pytest.raises(ValueError, match="taken"):
        store.add(vim.VirtualMachine("vm-1"))
    with pytest.raises(AttributeError, match="no property colour"):
        store.put(vim.VirtualMachine("vm-1"), "colour", "red")
    store.remove(vim.VirtualMachine("vm-1"))
    with pytest.raises(vmodl.fault.ManagedObjectNotFound):
        store.read(vim.VirtualMachine("vm-1"), "name")


def test_change_leaves_the_old_value_to_its_readers(site: Any) -> None:
    before = site.store.read(VM, "config")
    with site.store.change(VM, "config") as config:
        config.hardware.numCPU = 99
    assert before.hardware.numCPU == 16
    assert site.store.read(VM, "config").hardware.numCPU == 99
    with contextlib.suppress(RuntimeError), site.store.change(VM, "config") as config:
        config.hardware.numCPU = 1
        raise RuntimeError
    assert site.store.read(VM, "config").hardware.numCPU == 99
