"""The PropertyCollector: selecting, paths, pages, updates."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest
from pyVmomi import vim, vmodl

from tests.lab.clients import PC, bind, connect, connected, object_filter, read, view_filter
from tests.lab.small_site import CLUSTER, DATACENTER, HOSTS, ROOT, VM, VM_FOLDER, small_site
from vplacer.lab.soap.server import LabServer


def names(answer: Any) -> list[str]:
    return [o.propSet[0].val for o in answer.objects]


def test_values_arrive_with_their_declared_types(service: Any) -> None:
    values, missing = read(
        service,
        HOSTS[0],
        "name",
        "hardware.memorySize",
        "hardware.cpuInfo.numCpuCores",
        "hardware.pciDevice",
        "hardware.numaInfo.numaNode",
        "vm",
        "runtime.powerState",
        "runtime.inMaintenanceMode",
    )
    assert missing == {}
    assert values["hardware.memorySize"] == 1 << 39
    assert type(values["hardware.memorySize"]).__name__ == "long"
    assert type(values["hardware.cpuInfo.numCpuCores"]).__name__ == "short"
    device = values["hardware.pciDevice"][0]
    assert (device.bus, device.deviceId) == (-54, 0x2330)
    assert [n.pciId for n in values["hardware.numaInfo.numaNode"]] == [[], ["0000:ca:00.0"]]
    assert [v._moId for v in values["vm"]] == ["vm-31"]
    assert values["runtime.powerState"] == vim.HostSystem.PowerState.poweredOn
    assert values["runtime.inMaintenanceMode"] is False


def test_keyed_paths(service: Any) -> None:
    values, missing = read(
        service,
        VM,
        "config.hardware.device[13000].backing.customLabel",
        "config.hardware.device[13000].numaNode",
        'config.extraConfig["numa.nodeAffinity"].value',
        'config.extraConfig["odd\\"key"].value',
        "config.hardware.device[999].backing.customLabel",
        'config.extraConfig["absent"].value',
    )
    assert missing == {}
    assert list(values.values()) == ["gpu-n1", 0, "1", "2"]


def test_unset_value_is_absent_from_the_answer(service: Any) -> None:
    values, missing = read(service, VM, "snapshot", "config.latencySensitivity.level", "parentVApp")
    assert (values, missing) == ({}, {})


def test_unset_property_read_lazily_is_none(service: Any) -> None:
    vm = bind(service, VM)
    assert vm.snapshot is None
    assert vm.config.hardware.numCPU == 16
    assert bind(service, HOSTS[1]).vm == []


@pytest.mark.parametrize(
    "path",
    [
        "bogus",
        "config.bogus",
        "config.hardware.device.key",  # member of a list without a key
        "parent.name",  # through a reference
        "config.name[3]",  # key on what is no array
        "config.numaInfo.bogus",
        "config..name",
        "",
        "config.",
    ],
)
def test_wrong_path_is_a_method_fault(service: Any, path: str) -> None:
    with pytest.raises(vmodl.query.InvalidProperty) as refused:
        read(service, VM, "name", path)
    assert refused.value.name == path


def test_wrong_path_in_missingset_when_so_switched() -> None:
    with LabServer(small_site(), bad_path_is_fault=False) as server, connected(server) as client:
        values, missing = read(client, VM, "name", "config.bogus")
    assert values == {"name": "gpu-vm-0"}
    assert isinstance(missing["config.bogus"], vmodl.query.InvalidProperty)


def test_unreadable_value_is_in_missingset(service: Any) -> None:
    values, missing = read(service, HOSTS[1], "name", "config.product.version")
    assert values == {"name": "esx1.lab"}
    assert isinstance(missing["config.product.version"], vim.fault.NoPermission)
    assert missing["config.product.version"].privilegeId == "System.Read"
    with pytest.raises(vim.fault.NoPermission):
        _ = bind(service, HOSTS[1]).config


def test_all_properties_of_an_object(service: Any) -> None:
    spec = object_filter(bind(service, CLUSTER), [])
    spec.propSet[0].all = True
    # Ignored beside "all" (vSphere API: PropertySpec.all); `govc object.save` sends one of another class.
    spec.propSet[0].pathSet = ["licenseAssignmentManager"]
    answer = service.content.propertyCollector.RetrieveContents([spec])
    assert {p.name for p in answer[0].propSet} == {
        "name", "parent", "host", "resourcePool", "environmentBrowser", "datastore", "network",
        "overallStatus", "configStatus",
    }  # fmt: skip


def test_container_view_holds_what_is_below_and_follows_it(server: LabServer, service: Any) -> None:
    spec = view_filter(service, vim.ManagedEntity, ["name"])
    collector = service.content.propertyCollector
    before = names(collector.RetrievePropertiesEx([spec], PC.RetrieveOptions()))
    assert sorted(before) == sorted(
        ["DC0", "vm", "host", "datastore", "network", "C0", "esx0.lab", "esx1.lab", "Resources", "gpu-vm-0",
         "DS0", "VM Network"]
    )  # fmt: skip
    store = server.vcenter.store
    added = vim.VirtualMachine("vm-32")
    store.add(added, {"name": "late", "parent": VM_FOLDER})
    store.put(VM_FOLDER, "childEntity", [VM, added])
    after = names(collector.RetrievePropertiesEx([spec], PC.RetrieveOptions()))
    assert set(after) - set(before) == {"late"}


def test_view_of_a_cluster_holds_its_vms(service: Any) -> None:
    content = service.content
    view = content.viewManager.CreateContainerView(bind(service, CLUSTER), [vim.VirtualMachine], True)
    assert [v._moId for v in view.view] == ["vm-31"]
    flat = content.viewManager.CreateContainerView(bind(service, CLUSTER), [], False)
    assert [v._moId for v in flat.view] == ["host-21", "host-22", "resgroup-11"]
    view.DestroyView()
    with pytest.raises(vmodl.fault.ManagedObjectNotFound):
        _ = view.view


def test_list_view(service: Any) -> None:
    view = service.content.viewManager.CreateListView([bind(service, VM), bind(service, HOSTS[0])])
    assert [v._moId for v in view.view] == ["vm-31", "host-21"]


def test_recursive_selection_climbs_to_the_root(service: Any) -> None:
    climb = PC.TraversalSpec(
        name="up", type=vim.ManagedEntity, path="parent", skip=False, selectSet=[PC.SelectionSpec(name="up")]
    )
    spec = PC.FilterSpec(
        objectSet=[PC.ObjectSpec(obj=bind(service, VM), skip=False, selectSet=[climb])],
        propSet=[PC.PropertySpec(type=vim.ManagedEntity, pathSet=["name"])],
    )
    answer = service.content.propertyCollector.RetrievePropertiesEx([spec], PC.RetrieveOptions())
    assert names(answer) == ["gpu-vm-0", "vm", "DC0", "Datacenters"]


def test_deep_folders_do_not_exhaust_the_stack(server: LabServer, service: Any) -> None:
    store = server.vcenter.store
    parent = VM_FOLDER
    for number in range(1500):
        folder = vim.Folder(f"group-x{number}")
        store.add(folder, {"name": f"f{number}", "parent": parent})
        store.put(parent, "childEntity", [folder])
        parent = folder
    spec = view_filter(service, vim.Folder, ["name"])
    answer = service.content.propertyCollector.RetrievePropertiesEx([spec], PC.RetrieveOptions())
    assert len(answer.objects) == 1500 + 4


def test_unknown_selection_name(service: Any) -> None:
    spec = object_filter(bind(service, VM), ["name"])
    spec.objectSet[0].selectSet = [PC.SelectionSpec(name="nowhere")]
    with pytest.raises(vmodl.fault.InvalidArgument):
        service.content.propertyCollector.RetrievePropertiesEx([spec], PC.RetrieveOptions())


def test_missing_start_object(service: Any) -> None:
    spec = object_filter(vim.VirtualMachine("vm-404"), ["name"])
    collector = service.content.propertyCollector
    with pytest.raises(vmodl.fault.ManagedObjectNotFound) as refused:
        collector.RetrievePropertiesEx([spec], PC.RetrieveOptions())
    assert refused.value.obj._moId == "vm-404"
    spec.reportMissingObjectsInResults = True
    assert collector.RetrievePropertiesEx([spec], PC.RetrieveOptions()) is None
    with pytest.raises(vmodl.fault.ManagedObjectNotFound):  # right id, wrong class
        collector.RetrievePropertiesEx(
            [object_filter(vim.HostSystem("vm-31"), ["name"])], PC.RetrieveOptions()
        )


def test_pages(service: Any) -> None:
    collector = service.content.propertyCollector
    spec = view_filter(service, vim.ManagedEntity, ["name"])
    whole = names(collector.RetrievePropertiesEx([spec], PC.RetrieveOptions()))
    page = collector.RetrievePropertiesEx([spec], PC.RetrieveOptions(maxObjects=5))
    seen, sizes = names(page), [len(page.objects)]
    while page.token:
        used = page.token
        page = collector.ContinueRetrievePropertiesEx(page.token)
        seen += names(page)
        sizes.append(len(page.objects))
        with pytest.raises(vmodl.query.InvalidProperty):
            collector.ContinueRetrievePropertiesEx(used)
    assert seen == whole
    assert sizes == [5, 5, 2]


def test_pages_cancelled(service: Any) -> None:
    collector = service.content.propertyCollector
    spec = view_filter(service, vim.ManagedEntity, ["name"])
    token = collector.RetrievePropertiesEx([spec], PC.RetrieveOptions(maxObjects=1)).token
    collector.CancelRetrievePropertiesEx(token)
    with pytest.raises(vmodl.query.InvalidProperty):
        collector.ContinueRetrievePropertiesEx(token)


def test_server_may_send_smaller_pages_than_asked_for() -> None:
    with LabServer(small_site(), page_size=3) as server, connected(server) as client:
        spec = view_filter(client, vim.ManagedEntity, ["name"])
        page = client.content.propertyCollector.RetrievePropertiesEx(
            [spec], PC.RetrieveOptions(maxObjects=100)
        )
    assert len(page.objects) == 3
    assert page.token


class Watch:
    """A filter on its own collector."""

    def __init__(self, service: Any, spec: Any) -> None:
        self.collector = service.content.propertyCollector.CreatePropertyCollector()
        self.filter = self.collector.CreateFilter(spec, False)
        self.version = ""

    def wait(self, seconds: int = 5, most: int | None = None) -> list[tuple[str, str, dict[str, Any]]] | None:
        options = PC.WaitOptions(maxWaitSeconds=seconds, maxObjectUpdates=most)
        answer = self.collector.WaitForUpdatesEx(self.version, options)
        if answer is None:
            return None
        self.version = answer.version
        self.truncated = answer.truncated
        return [
            (u.kind, u.obj._moId, {c.name: c.val for c in u.changeSet})
            for s in answer.filterSet
            for u in s.objectSet
        ]


def test_updates_enter_modify_leave(server: LabServer, service: Any) -> None:
    store = server.vcenter.store
    watch = Watch(service, view_filter(service, vim.VirtualMachine, ["name", "config.annotation"]))
    assert watch.wait() == [("enter", "vm-31", {"name": "gpu-vm-0", "config.annotation": ""})]
    assert watch.wait(0) is None
    with store.change(VM, "config") as config:
        config.annotation = "moved"
    assert watch.wait() == [("modify", "vm-31", {"config.annotation": "moved"})]
    with store.change(VM, "config") as config:
        config.hardware.numCPU = 2  # not watched
    assert watch.wait(0) is None
    store.put(VM_FOLDER, "childEntity", [])
    store.put(bind(service, ROOT), "name", "Datacenters")
    store.put(vim.ResourcePool("resgroup-11"), "vm", [])
    store.put(HOSTS[0], "vm", [])
    assert watch.wait() == [("leave", "vm-31", {})]


def test_update_to_unset_and_back(server: LabServer, service: Any) -> None:
    store = server.vcenter.store
    watch = Watch(service, object_filter(bind(service, VM), ["resourcePool"]))
    watch.wait()
    store.put(VM, "resourcePool", None)
    assert watch.wait() == [("modify", "vm-31", {"resourcePool": None})]


def test_many_changes_outrun_the_log(
    server: LabServer, service: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = server.vcenter.store
    watch = Watch(service, object_filter(bind(service, VM), ["name"]))
    watch.wait()
    for number in range(25_000):
        store.put(HOSTS[0], "name", f"h{number}")
    store.put(VM, "name", "renamed")
    assert watch.wait() == [("modify", "vm-31", {"name": "renamed"})]


def test_truncated_updates(service: Any) -> None:
    watch = Watch(service, view_filter(service, vim.ManagedEntity, ["name"]))
    seen = []
    for count in (5, 5, 2):
        part = watch.wait(most=5)
        assert part is not None
        assert len(part) == count
        seen += [moid for _, moid, _ in part]
        assert bool(watch.truncated) == (count == 5)
    assert len(set(seen)) == 12


def test_waiting_is_woken_by_a_change(server: LabServer, service: Any) -> None:
    watch = Watch(service, object_filter(bind(service, VM), ["name"]))
    watch.wait()
    timer = threading.Timer(0.2, server.vcenter.store.put, (VM, "name", "woken"))
    timer.start()
    started = time.monotonic()
    assert watch.wait(10) == [("modify", "vm-31", {"name": "woken"})]
    assert 0.1 < time.monotonic() - started < 5


def test_restart_with_an_empty_version_reports_everything(service: Any) -> None:
    watch = Watch(service, object_filter(bind(service, VM), ["name"]))
    first = watch.wait()
    watch.version = ""
    assert watch.wait() == first


def test_wrong_version_of_a_collector(service: Any) -> None:
    watch = Watch(service, object_filter(bind(service, VM), ["name"]))
    watch.wait()
    watch.version = "77"
    with pytest.raises(vmodl.query.InvalidCollectorVersion):
        watch.wait()


def test_older_waiting_methods(server: LabServer, service: Any) -> None:
    # pyVim.task.WaitForTask still calls WaitForUpdates.
    watch = Watch(service, object_filter(bind(service, VM), ["name"]))
    first = watch.collector.WaitForUpdates("")
    assert first.filterSet[0].objectSet[0].changeSet[0].val == "gpu-vm-0"
    assert watch.collector.CheckForUpdates(first.version) is None
    server.vcenter.store.put(VM, "name", "x")
    assert watch.collector.CheckForUpdates(first.version).version != first.version


@pytest.mark.parametrize("how", ["cancel", "terminate", "stop"])
def test_wait_without_limit_ends_when(site: Any, how: str) -> None:
    server = LabServer(site).start()
    outcome: list[BaseException] = []
    with connected(server) as other:
        client = connect(server)
        watch = Watch(client, object_filter(bind(client, VM), ["name"]))
        watch.wait()
        key = client.content.sessionManager.currentSession.key

        def wait() -> None:
            try:
                watch.collector.WaitForUpdates(watch.version)
            except BaseException as error:
                outcome.append(error)

        thread = threading.Thread(target=wait, daemon=True)
        thread.start()
        time.sleep(0.2)
        if how == "cancel":
            watch.collector.CancelWaitForUpdates()
        elif how == "terminate":
            other.content.sessionManager.TerminateSession([key])
        else:
            server.stop()
        thread.join(5)
    server.stop()
    assert not thread.is_alive()
    expected = vim.fault.NotAuthenticated if how == "terminate" else vmodl.fault.RequestCanceled
    assert isinstance(outcome[0], expected)


def test_bad_path_is_refused_when_the_filter_is_made(service: Any) -> None:
    with pytest.raises(vmodl.query.InvalidProperty):
        service.content.propertyCollector.CreateFilter(object_filter(bind(service, VM), ["bogus"]), False)
    assert service.content.propertyCollector.filter == []


def test_destroyed_filter_and_collector(service: Any) -> None:
    watch = Watch(service, object_filter(bind(service, VM), ["name"]))
    watch.filter.DestroyPropertyFilter()
    assert watch.wait(0) is None
    watch.collector.DestroyPropertyCollector()
    with pytest.raises(vmodl.fault.ManagedObjectNotFound):
        watch.wait(0)


def test_tree_read_lazily(service: Any) -> None:
    datacenter = service.content.rootFolder.childEntity[0]
    assert datacenter == bind(service, DATACENTER)
    cluster = datacenter.hostFolder.childEntity[0]
    assert [h.name for h in cluster.host] == ["esx0.lab", "esx1.lab"]


def test_eight_readers_at_once(server: LabServer) -> None:
    """A soak of bounded time: eight clients read while one writer changes what they read."""
    until = time.monotonic() + 3
    counts: list[int] = []
    errors: list[BaseException] = []
    store = server.vcenter.store

    def reader() -> None:
        try:
            with connected(server) as client:
                spec = view_filter(
                    client, vim.VirtualMachine, ["name", "config.hardware", "config.annotation"]
                )
                watch = Watch(client, spec)
                done = 0
                while time.monotonic() < until:
                    page = client.content.propertyCollector.RetrievePropertiesEx([spec], PC.RetrieveOptions())
                    assert page.objects[0].propSet[0].name == "name"
                    assert page.objects[0].propSet[1].val.numCPU == 16
                    watch.wait(1)
                    done += 1
                counts.append(done)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=reader) for _ in range(8)]
    for thread in threads:
        thread.start()
    number = 0
    while any(t.is_alive() for t in threads) and time.monotonic() < until + 10:
        with store.change(VM, "config") as config:
            config.annotation = f"n{number}"
        number += 1
        time.sleep(0.01)
    for thread in threads:
        thread.join(1)
    assert errors == []
    assert len(counts) == 8
    assert min(counts) >= 1
