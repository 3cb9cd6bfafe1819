"""Against the simulated vCenter over SOAP: accounts, faults, and that nothing but reading happens."""

from __future__ import annotations

from datetime import timedelta

import pytest
from pyVmomi import VmomiSupport, vim, vmodl

from tests.doctor.lab_run import open_session, read
from vplacer.doctor.model import Outcome, Verb
from vplacer.doctor.observed import Licences, Rights, Untold
from vplacer.doctor.privileges import judge_verbs
from vplacer.inventory.site import Site
from vplacer.jobs.fixtures import fixture_path
from vplacer.jobs.source import load_site
from vplacer.lab.soap.faults import FaultRule, Harm
from vplacer.lab.soap.server import LabServer
from vplacer.vsphere.raw import MoRef

# A session's own objects; they end with it and change nothing that others see.
OWN = {"Login", "Logout", "CreateContainerView", "DestroyView"}
READING = {"System.Anonymous", "System.View", "System.Read", "Global.ServiceManagers"}
WITHOUT_PRIVILEGE = {
    "RetrieveServiceContent",
    "RetrievePropertiesEx",
    "ContinueRetrievePropertiesEx",
    "HasUserPrivilegeOnEntities",
    "FetchUserPrivilegeOnEntities",
}
"""Methods that only read and for which the type tables name no privilege."""


@pytest.fixture(scope="module")
def site() -> Site:
    return load_site(fixture_path("sites", "nvswitch"))


@pytest.fixture(scope="module")
def small() -> Site:
    return load_site(fixture_path("sites", "floating"))


def test_an_administrator_may_do_everything(site: Site) -> None:
    with LabServer(site) as server:
        observed, _, results = read(server)
    assert isinstance(observed.rights, Rights)
    assert observed.rights.method == "HasPrivilegeOnEntities"
    verbs = {v.verb: v for v in judge_verbs(observed.rights, [Verb.APPLY])}
    assert {verb: result.outcome for verb, result in verbs.items()} == dict.fromkeys(Verb, Outcome.OK)
    assert not [r.id for r in results.values() if r.finding.failed]
    assert results["D03"].finding.outcome is Outcome.OK
    assert results["D26"].finding.outcome is Outcome.OK


def test_a_read_only_account_may_read_and_plan(site: Site) -> None:
    with LabServer(site, read_only=True) as server:
        observed, _, results = read(server)
    verbs = {v.verb: v for v in judge_verbs(observed.rights, [Verb.READ, Verb.PLAN])}
    assert verbs[Verb.READ].outcome is verbs[Verb.PLAN].outcome is Outcome.OK
    assert [m.privilege for m in verbs[Verb.MEASURE].missing] == ["Global.ServiceManagers"]
    lacking = {m.privilege: m for m in verbs[Verb.APPLY].missing}
    assert lacking["Resource.HotMigrate"].objects == lacking["Resource.HotMigrate"].looked_at == 11
    assert lacking["Host.Config.PciPassthru"].kind == "HostSystem"
    # A privilege that nobody said is needed is no incomplete picture.
    assert results["D26"].finding.outcome is Outcome.NOT_CHECKED
    assert not results["D26"].finding.failed
    assert results["D06"].finding.outcome is Outcome.OK


def test_one_missing_privilege_is_named_alone(site: Site) -> None:
    from vplacer.doctor.privileges import needs_of

    held = {need.privilege for need in needs_of(Verb.APPLY)} - {"Network.Assign"} | {"System.Anonymous"}
    with LabServer(site, privileges=held) as server:
        observed, _, _ = read(server)
    (apply,) = (v for v in judge_verbs(observed.rights, [Verb.APPLY]) if v.verb is Verb.APPLY)
    assert [(m.privilege, m.kind, m.objects) for m in apply.missing] == [("Network.Assign", "Network", 2)]


@pytest.mark.parametrize(
    ("refused", "method"),
    [
        (["HasPrivilegeOnEntities"], "HasUserPrivilegeOnEntities"),
        (["HasPrivilegeOnEntities", "HasUserPrivilegeOnEntities"], "FetchUserPrivilegeOnEntities"),
    ],
)
def test_servers_without_a_method_are_asked_otherwise(site: Site, refused: list[str], method: str) -> None:
    with LabServer(site, read_only=True) as server:
        for name in refused:
            server.faults.add(FaultRule(Harm.FAULT, name, count=None, fault=vmodl.fault.NotSupported))
        observed, _, _ = read(server)
    assert isinstance(observed.rights, Rights)
    assert observed.rights.method == method
    (measure,) = (v for v in judge_verbs(observed.rights, []) if v.verb is Verb.MEASURE)
    assert [m.privilege for m in measure.missing] == ["Global.ServiceManagers"]


def test_objects_that_cannot_be_listed_are_not_checked(site: Site) -> None:
    with LabServer(site) as server:
        server.faults.add(
            FaultRule(Harm.FAULT, "CreateContainerView", count=None, fault=vmodl.fault.SystemError)
        )
        observed, _, _ = read(server)
    verbs = {v.verb: v for v in judge_verbs(observed.rights, [Verb.APPLY])}
    assert verbs[Verb.READ].outcome is verbs[Verb.APPLY].outcome is Outcome.NOT_CHECKED
    assert any(text.startswith("VirtualMachine:") for text in verbs[Verb.APPLY].untold)


def test_nothing_but_reading_methods_is_called(site: Site) -> None:
    with LabServer(site) as server:
        read(server)
        calls = dict(server.calls)
    assert calls["HasPrivilegeOnEntities"] > 0
    assert calls["QueryAssignedLicenses"] == 1
    writing = []
    for name in calls:
        info = VmomiSupport.GetWsdlMethod("urn:vim25", name).info
        reads = name in OWN or info.privId in READING or (not info.privId and name in WITHOUT_PRIVILEGE)
        if not reads or info.isTask:
            writing.append(name)
    assert writing == []


def test_esxtop_is_asked_for_its_schema_only(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    from vplacer.vsphere.checkup.timed import TimedReader

    asked = []
    call = TimedReader.call

    def spy(self: TimedReader, ref: MoRef, method: str, arguments: dict[str, object] | None = None) -> object:
        if method == "ExecuteSimpleCommand":
            asked.append(arguments)
        return call(self, ref, method, arguments)

    monkeypatch.setattr(TimedReader, "call", spy)
    with LabServer(site) as server:
        read(server)
    assert asked
    assert all(arguments == {"arguments": ["CounterInfo"]} for arguments in asked)


@pytest.mark.parametrize(
    ("method", "check"),
    [
        ("QueryServiceList", "D26"),
        ("QueryDateTime", "D03"),
        ("CurrentTime", "D03"),
        ("QueryAssignedLicenses", None),
        ("QueryOptions", None),
        ("QueryConfigTarget", "D06"),
        ("QueryConfigOptionDescriptor", "D20"),
        ("HasPrivilegeOnEntities", None),
    ],
)
def test_whatever_fails_the_rest_goes_on(small: Site, method: str, check: str | None) -> None:
    def fault() -> object:
        return vim.fault.NoPermission(privilegeId="System.Read", msg="secret esx01 text")

    with LabServer(small) as server:
        server.faults.add(FaultRule(Harm.FAULT, method, count=None, fault=fault))
        _, _, results = read(server)
    assert len(results) == 31
    if check is not None:
        assert results[check].finding.outcome is not Outcome.OK
    # The inventory is dated by CurrentTime: without it there is none.
    if method != "CurrentTime":
        assert results["D10"].finding.outcome is Outcome.OK


def test_when_all_fails_at_once_every_check_still_answers(small: Site) -> None:
    asked = ("QueryServiceList", "QueryDateTime", "CurrentTime", "QueryAssignedLicenses", "QueryOptions",
             "QueryConfigTarget", "QueryConfigOptionDescriptor", "HasPrivilegeOnEntities",
             "HasUserPrivilegeOnEntities", "FetchUserPrivilegeOnEntities", "CreateContainerView")  # fmt: skip
    with LabServer(small) as server:
        for name in asked:
            fault = vmodl.fault.SystemError(reason="boom", msg="boom")
            server.faults.add(FaultRule(Harm.FAULT, name, count=None, fault=lambda f=fault: f))
        _, evidence, results = read(server)
    assert isinstance(evidence.inventory, Untold)
    assert {result.finding.outcome for result in results.values()} <= {
        Outcome.OK,
        Outcome.NOT_CHECKED,
        Outcome.NOT_APPLICABLE,
    }
    assert results["D06"].finding.outcome is Outcome.NOT_CHECKED
    assert results["D06"].finding.failed


def test_a_dropped_connection_is_told_not_raised(site: Site) -> None:
    with LabServer(site) as server:
        server.faults.add(FaultRule(Harm.DROP_BEFORE, "QueryServiceList", count=None))
        observed, _, results = read(server)
    assert results["D26"].finding.outcome is Outcome.NOT_CHECKED
    assert isinstance(observed.licences, Licences)


def test_clocks_that_differ_are_found(site: Site) -> None:
    with LabServer(site) as server:
        _, _, results = read(server, now=lambda: server.vcenter.now() + timedelta(minutes=5))
    assert results["D03"].finding.outcome is Outcome.DIFFERS
    assert "vCenter: -300 s" in results["D03"].finding.evidence[0]


def test_clocks_that_stand_still_are_not_compared(site: Site) -> None:
    with LabServer(site) as server:
        _, _, results = read(server, now=Untold("still", failed=False))
    assert results["D03"].finding.outcome is Outcome.NOT_CHECKED
    assert not results["D03"].finding.failed


def test_licence_keys_never_leave_unmasked(site: Site) -> None:
    with LabServer(site) as server:
        observed, _, results = read(server)
        with open_session(server) as session:
            manager = session.content.ref("licenseManager")
            assert manager is not None
            from vplacer.vsphere.retrieve import SessionReader

            raw = (
                SessionReader(session).properties([manager], ["licenses"]).objects[0].props.items("licenses")
            )
    keys = [item.text("licenseKey") or "" for item in raw]
    assert len(keys) == 2
    assert not [key for key in keys if key in repr((observed, results))]
    assert isinstance(observed.licences, Licences)
    assert len(observed.licences.found[0].hosts) == 4
