"""The esxtop service: columns by name, rows that do not fit, and that a sample is always freed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from vplacer.errors import PermissionMissing, SessionLost, VplacerError, VSphereFault
from vplacer.vsphere.esxtop import HostSample, open_esxtop, parse_schema, read_sample, take_sample
from vplacer.vsphere.raw import Data, MoRef, RawAnswer, Value

CASES = yaml.safe_load((Path(__file__).parent / "cases" / "esxtop.yaml").read_text())
COUNTERS: str = CASES["counters"]
STATS = "|SchedGroup|3|vm.1|a|1|1|0|0|0|100|2|\n"
SERVICES = MoRef("ServiceManager", "ServiceMgr")
COMMAND = MoRef("SimpleCommand", "esxtop-1")


def title(case: dict[str, Any]) -> str:
    return str(case["title"])


@pytest.mark.parametrize("case", CASES["cases"], ids=title)
def test_sample(case: dict[str, Any]) -> None:
    sample = read_sample(parse_schema(case.get("counters", COUNTERS)), case["stats"], case["nodes"])
    read = [
        [
            vm.name,
            None if vm.home_nodes is None else list(vm.home_nodes),
            vm.locality_percent,
            vm.local_kib,
            vm.remote_kib,
            vm.balance_migrations,
        ]
        for vm in sample.vms
    ]
    assert read == case["vms"]
    assert [[node.node, node.total_kib, node.free_kib] for node in sample.nodes] == case.get("memory", [])
    wanted = case.get("notes", [])
    assert len(sample.notes) == len(wanted), sample.notes
    assert all(part in note for part, note in zip(wanted, sample.notes, strict=True)), sample.notes


class FakeReader:
    def __init__(
        self,
        fails: Mapping[str, VplacerError] | None = None,
        services: Sequence[str] = ("Esxtop",),
        counters: str = COUNTERS,
    ):
        self.fails = fails or {}
        self.services = services
        self.counters = counters
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
        return {"CounterInfo": self.counters, "FetchStats": STATS, "FreeStats": ""}[name]


def measured(reader: FakeReader) -> HostSample:
    return take_sample(reader, open_esxtop(reader, SERVICES, "esx1.example"), (0, 1))


def test_what_the_host_took_is_freed_after_each_call() -> None:
    reader = FakeReader()
    assert [vm.name for vm in measured(reader).vms] == ["a"]
    assert reader.calls == ["QueryServiceList", "CounterInfo", "FreeStats", "FetchStats", "FreeStats"]


@pytest.mark.parametrize(
    ("fails", "services", "expected", "freed"),
    [
        (
            {"QueryServiceList": PermissionMissing("x", why="the account lacks Global.ServiceManagers")},
            ["Esxtop"],
            "the account lacks Global.ServiceManagers",
            0,
        ),
        ({}, ["VscsiStats"], "the host offers no esxtop service", 0),
        ({"CounterInfo": VSphereFault("x", fault_type="SystemError")}, ["Esxtop"], "SystemError", 1),
        (
            {"FetchStats": VSphereFault("x", fault_type="SystemError", why="busy")},
            ["Esxtop"],
            "SystemError: busy",
            2,
        ),
        ({"FreeStats": VSphereFault("x", fault_type="SystemError")}, ["Esxtop"], None, 2),
    ],
)
def test_not_measured_is_no_error(
    fails: Mapping[str, VplacerError], services: Sequence[str], expected: str | None, freed: int
) -> None:
    reader = FakeReader(fails, services)
    assert measured(reader).not_measured == expected
    assert reader.calls.count("FreeStats") == freed


@pytest.mark.parametrize("case", CASES["not_measured"], ids=title)
def test_a_release_that_tells_too_little_is_not_measured(case: dict[str, Any]) -> None:
    reader = FakeReader(counters=case["counters"])
    assert case["reason"] in (measured(reader).not_measured or "")
    assert "FetchStats" not in reader.calls


def test_no_service_manager() -> None:
    assert open_esxtop(FakeReader(), None, "x").not_measured == "the vCenter has no service manager"


def test_lost_session_is_an_error() -> None:
    reader = FakeReader({"FetchStats": SessionLost("gone")})
    with pytest.raises(SessionLost):
        measured(reader)
    assert reader.calls[-1] == "FreeStats"
