"""The esxtop service: columns by name, rows that do not fit, privileges that are missing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from vplacer.errors import PermissionMissing, SessionLost, VplacerError, VSphereFault
from vplacer.vsphere.esxtop import HostSample, measure, vm_samples
from vplacer.vsphere.raw import Data, MoRef, RawAnswer, Value

COUNTERS = """|PCPU|NumOfLCPUs,U32|NumOfCores,U32|NumOfPackages,U32|
|NUMANode|NodeID,U32|TotalInPages,U32|FreeInPages,U32|
|SchedGroup|GroupID,U32|GroupName,CSTR|IsValid,B|IsVM,B|VMName,CSTR|IsNUMAValid,B|HomeNodes,U32|\
NumOfBalanceMigrations,U32|NumOfLocalitySwap,U32|NumOfLoadSwap,U32|RemoteMemoryInKB,U32|LocalMemoryInKB,U32|\
LocalityPct,U32|NumOfNUMANodes,U32|GroupLeaderID,U32|
"""
STATS = """==NUM-OF-OBJECTS==
|SchedGroup|5|
|PCPU|1|
==COUNTER-VALUE==
|PCPU|8|8|2|
|SchedGroup|1|host|1|0||0|0|0|0|0|0|0|0|2|0|
|SchedGroup|13567824|vm.4430541|1|1|web-b|1|2|7|1|0|1024|3913712|97|2|4430541|
|SchedGroup|12883482|vm.4316334|1|1|train-a|1|3|0|0|0|0|8179712|100|2|4316334|
|SchedGroup|12883483|vm.4316335|1|1|unmanaged|0|1|0|0|0|0|0|0|2|4316335|
|SchedGroup|12883484|vm.4316336|1|1|odd|1|4|0|0|0|0|1|100|2|4316336|
|SchedGroup|12883485|vm.4316337|1|1|bar|name|1|1|0|0|0|0|1|100|2|4316337|
==END==
|SchedGroup|garbage|
"""


def test_samples() -> None:
    sample = vm_samples(COUNTERS, STATS)
    by_name = {vm.name: vm for vm in sample.vms}
    assert list(by_name) == ["odd", "train-a", "unmanaged", "web-b"]
    assert by_name["web-b"].home_nodes == (1,)
    assert by_name["train-a"].home_nodes == (0, 1)
    assert (by_name["web-b"].locality_percent, by_name["web-b"].balance_migrations) == (97, 7)
    assert (by_name["web-b"].remote_kib, by_name["web-b"].local_kib) == (1024, 3913712)
    # Not managed by the NUMA scheduler; a node beyond those the host has.
    assert by_name["unmanaged"].home_nodes is None
    assert by_name["odd"].home_nodes is None
    # "bar|name" shifts the columns: not guessed at.
    assert sample.skipped_rows == 1


def test_columns_in_another_order_and_without_sections() -> None:
    counters = "|SchedGroup|VMName,CSTR|NumOfNUMANodes,U32|HomeNodes,U32|GroupName,CSTR|\n"
    sample = vm_samples(counters, "|SchedGroup|a|4|8|vm.1|\r\n")
    (vm,) = sample.vms
    assert vm.home_nodes == (3,)
    assert vm.locality_percent is None


def test_release_without_the_columns() -> None:
    sample = vm_samples("|SchedGroup|GroupName,CSTR|\n", "|SchedGroup|vm.1|\n")
    assert sample == HostSample(not_measured="this release's esxtop service names no home nodes")
    assert vm_samples("", "").not_measured is not None


SERVICES = MoRef("ServiceManager", "ServiceMgr")
COMMAND = MoRef("SimpleCommand", "esxtop-1")


class FakeReader:
    def __init__(
        self, fails: Mapping[str, VplacerError] | None = None, services: Sequence[str] = ("Esxtop",)
    ):
        self.fails = fails or {}
        self.services = services
        self.calls: list[str] = []

    def retrieve(self, kind: str, paths: Sequence[str]) -> RawAnswer:
        raise AssertionError

    def properties(self, refs: Sequence[MoRef], paths: Sequence[str]) -> RawAnswer:
        raise AssertionError

    def call(self, ref: MoRef, method: str, arguments: Mapping[str, object] | None = None) -> Value:
        assert arguments is not None
        if method == "QueryServiceList":
            assert arguments == {"location": ["vmware.host.esx1.example"]}
            name = "QueryServiceList"
        else:
            assert ref == COMMAND
            (name,) = arguments["arguments"]  # type: ignore[misc]
        self.calls.append(name)
        if name in self.fails:
            raise self.fails[name]
        if name == "QueryServiceList":
            return [
                Data("ServiceManagerServiceInfo", (), {"serviceName": name, "service": COMMAND})
                for name in self.services
            ]
        return {"CounterInfo": COUNTERS, "FetchStats": STATS, "FreeStats": ""}[name]


def test_measure_frees_the_sample() -> None:
    reader = FakeReader()
    assert measure(reader, SERVICES, "esx1.example") == vm_samples(COUNTERS, STATS)
    assert reader.calls == ["QueryServiceList", "CounterInfo", "FetchStats", "FreeStats"]


@pytest.mark.parametrize(
    ("fails", "services", "expected", "freed"),
    [
        (
            {"QueryServiceList": PermissionMissing("x", why="the account lacks Global.ServiceManagers")},
            ["Esxtop"],
            "the account lacks Global.ServiceManagers",
            False,
        ),
        ({}, ["VscsiStats"], "the host offers no esxtop service", False),
        (
            {"FetchStats": VSphereFault("x", fault_type="SystemError", why="busy")},
            ["Esxtop"],
            "SystemError: busy",
            True,
        ),
        ({"FreeStats": VSphereFault("x", fault_type="SystemError")}, ["Esxtop"], None, True),
    ],
)
def test_not_measured_is_no_error(
    fails: Mapping[str, VplacerError], services: Sequence[str], expected: str | None, freed: bool
) -> None:
    reader = FakeReader(fails, services)
    assert measure(reader, SERVICES, "esx1.example").not_measured == expected
    assert ("FreeStats" in reader.calls) == freed


def test_no_service_manager() -> None:
    assert measure(FakeReader(), None, "esx1.example").not_measured == "the vCenter has no service manager"


def test_lost_session_is_an_error() -> None:
    with pytest.raises(SessionLost):
        measure(FakeReader({"FetchStats": SessionLost("gone")}), SERVICES, "esx1.example")
