"""What licences say, from the values a vCenter sends."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from vplacer.doctor.checks.licences import editions
from vplacer.doctor.licensing import DRS, VGPU, VMOTION, Has, has_feature, in_use
from vplacer.doctor.model import Evidence, Outcome
from vplacer.doctor.observed import Licence, Licences, Sample, Untold
from vplacer.vsphere.checkup.licences import masked, read_licences
from vplacer.vsphere.checkup.timed import TimedReader
from vplacer.vsphere.raw import Data, MoRef, RawAnswer, RawObject, Value

MANAGER = MoRef("LicenseManager", "LicenseManager")


def pair(key: str, value: Value) -> Data:
    return Data("KeyAnyValue", ("KeyAnyValue",), {"key": key, "value": value})


def info(edition: str, key: str, *properties: Data) -> Data:
    fields = {"editionKey": edition, "licenseKey": key, "name": "n", "properties": list(properties)}
    return Data("LicenseManagerLicenseInfo", ("LicenseManagerLicenseInfo",), fields)


class Server:
    """Answers the two calls from values."""

    def __init__(self, licences: list[Data], evaluation: list[Data] = []) -> None:  # noqa: B006
        fields = {
            "licenses": licences,
            "evaluation": Data("EvaluationInfo", ("EvaluationInfo",), {"properties": evaluation}),
        }
        self.props = Data("LicenseManager", ("LicenseManager",), fields)

    def retrieve(self, kind: str, paths: Sequence[str]) -> RawAnswer:
        raise NotImplementedError

    def properties(self, refs: Sequence[MoRef], paths: Sequence[str]) -> RawAnswer:
        return RawAnswer((RawObject(refs[0], self.props),))

    def call(self, ref: MoRef, method: str, arguments: Mapping[str, object] | None = None) -> Value:
        raise NotImplementedError


def read(*licences: Data, evaluation: tuple[Data, ...] = ()) -> Licences | Untold:
    reader = TimedReader(Server(list(licences), list(evaluation)), time.monotonic)
    return read_licences(reader, MANAGER, 1)


def test_the_end_of_an_evaluation_stands_beside_the_licences() -> None:
    found = read(info("eval", "00000-00000-00000-00000-00000"), evaluation=(pair("expirationHours", 240),))
    assert isinstance(found, Licences)
    assert (found.found[0].hours_left, found.found[0].key) == (240, "evaluation")


def test_a_licence_that_ends_soon_says_so_in_minutes() -> None:
    found = read(
        info("esx.standard.cpuCoreMin", "AAAAA-BBBBB-CCCCC-DDDDD-EEEEE", pair("expirationMinutes", 30)),
        evaluation=(pair("expirationHours", 240),),
    )
    assert isinstance(found, Licences)
    assert (found.found[0].hours_left, found.found[0].key) == (0.5, "*****-*****-*****-*****-***EE")


def test_no_licence_is_not_none_at_all() -> None:
    assert isinstance(read(), Untold)


@pytest.mark.parametrize("key", [None, "", "scrubbed", "AAAAABBBBB"])
def test_a_key_of_another_form_is_hidden_whole(key: str | None) -> None:
    assert masked(key) == "*****"


def licence(edition: str, *features: str) -> Licence:
    return Licence(edition, "n", "k", features or None, None, None, None, None, None)


@pytest.mark.parametrize(
    ("edition", "features", "drs", "vmotion", "vgpu"),
    [
        ("esx.enterprisePlus.cpuPackage", ("vmotion", "drs"), Has.YES, Has.YES, Has.LIKELY),
        ("esx.standard.cpuPackage", ("vmotion", "das"), Has.NO, Has.YES, Has.UNLIKELY),
        ("esx.standard.cpuPackage", (), Has.UNLIKELY, Has.UNKNOWN, Has.UNLIKELY),
        ("esx.hypervisor.free", (), Has.UNLIKELY, Has.UNLIKELY, Has.UNLIKELY),
        ("eval", ("serialuri:2", "dvs"), Has.LIKELY, Has.LIKELY, Has.LIKELY),
        ("somethingNew", (), Has.UNKNOWN, Has.UNKNOWN, Has.UNKNOWN),
        ("somethingNew", ("drs:1",), Has.YES, Has.NO, Has.UNKNOWN),
    ],
)
def test_features(edition: str, features: tuple[str, ...], drs: Has, vmotion: Has, vgpu: Has) -> None:
    one = licence(edition, *features)
    assert tuple(has_feature(one, feature) for feature in (DRS, VMOTION, VGPU)) == (drs, vmotion, vgpu)


@pytest.mark.parametrize(
    ("edition", "used", "hosts", "assigned", "expected"),
    [
        ("esx.standard", 4, (), Untold("no"), True),
        ("esx.standard", 0, (), Untold("no"), False),
        ("esx.standard", 0, ("host-1",), Sample(1, 1), True),
        ("esx.standard", None, (), Untold("no"), None),
        ("esx.standard", None, (), Sample(1, 4), None),
        ("esx.standard", None, (), Sample(4, 4), False),
        ("eval", None, (), Untold("no"), False),
        ("eval", None, ("host-1",), Sample(1, 1), True),
    ],
)
def test_use(
    edition: str, used: int | None, hosts: tuple[str, ...], assigned: Sample | Untold, expected: bool | None
) -> None:
    one = replace(licence(edition), used=used, hosts=hosts)
    assert in_use(one, assigned) is expected


def test_an_evaluation_that_nobody_uses_has_not_expired() -> None:
    paid = replace(licence("esx.enterprisePlus.cpuPackage", "drs", "vmotion"), used=2, hosts=("host-1",))
    over = replace(licence("eval"), hours_left=0.0)
    facts = Licences((over, paid), Sample(1, 1))
    nothing = Evidence(Untold("not read"), Untold("not read"))
    assert editions(facts, nothing).outcome is Outcome.OK
    used = Licences((replace(over, hosts=("host-1",)), paid), Sample(1, 1))
    assert "eval: has expired" in editions(used, nothing).evidence


def test_a_recording_has_no_keys_to_tell_licences_apart() -> None:
    found = read(info("eval", "scrubbed"), info("esx.enterprisePlus", "scrubbed"))
    assert isinstance(found, Licences)
    assert found.assigned == Untold("the recording holds no licence keys", failed=False)
    assert [item.hosts for item in found.found] == [(), ()]
