"""The table of what each written thing needs, held against pyVmomi's type tables, the doctor and the docs."""

from __future__ import annotations

from typing import Any

import pytest
from pyVmomi import VmomiSupport

from tests.conftest import REPO
from vplacer.doctor.model import Verb
from vplacer.doctor.privileges import NEEDS
from vplacer.inventory.vm import AllowedDevice, DynamicBacking, VgpuBacking, VmPower
from vplacer.plan.changes import (
    Action,
    DeviceChange,
    DeviceValue,
    ExtraConfigChange,
    Field,
    FieldChange,
    GroupChange,
    GroupRef,
    Power,
    Reconfigure,
    Relocate,
)
from vplacer.plan.features import (
    FEATURES,
    Feature,
    PowerNeed,
    features_markdown,
    features_of,
    needs_of,
    version_number,
)

WITHOUT_PRIVILEGE_IN_THE_TABLES = {"CloneVM_Task", "Destroy_Task", "LogUserEvent"}
"""Methods whose privileges only the API reference tells; ReconfigVM_Task has one for each member."""
COLD_AND_HOT = {"RelocateVM_Task"}
"""The tables name Resource.ColdMigrate for it, the reference Resource.HotMigrate for a VM that runs."""


def type_named(name: str) -> Any:
    try:
        return VmomiSupport.GuessWsdlType(name)
    except KeyError:
        return None


def since(member: str) -> str:
    """Return the public id of the API version that introduced a method, type or field."""
    kind, _, name = member.partition(".")
    owner = type_named(kind)
    if owner is None:
        version = VmomiSupport.GetWsdlMethod("urn:vim25", kind).info.version
    elif name:
        version = next(info.version for info in owner._GetPropertyList() if info.name == name)
    else:
        version = owner._version
    return str(VmomiSupport.versionIdMap[version])


@pytest.mark.parametrize("feature", FEATURES, ids=lambda feature: feature.id)
def test_the_api_version_is_that_of_the_newest_member(feature: Feature) -> None:
    newest = max((since(member) for member in feature.members), key=version_number)
    assert version_number(feature.api) == version_number(newest)


@pytest.mark.parametrize("feature", FEATURES, ids=lambda feature: feature.id)
def test_methods_need_the_privilege_of_the_tables(feature: Feature) -> None:
    for member in feature.members:
        if "." in member or type_named(member) is not None:
            continue
        told = VmomiSupport.GetWsdlMethod("urn:vim25", member).info.privId
        if member in WITHOUT_PRIVILEGE_IN_THE_TABLES:
            assert told is None
        elif member in COLD_AND_HOT:
            assert told == "Resource.ColdMigrate"
        else:
            assert told in {privilege for _, privilege in feature.privileges}


def test_ids_are_unique_and_each_says_all() -> None:
    assert len({feature.id for feature in FEATURES}) == len(FEATURES)
    assert all(feature.privileges and feature.source and feature.title for feature in FEATURES)


def test_the_doctor_asks_for_what_is_needed_and_no_more() -> None:
    asked = {(need.kind, need.privilege) for need in NEEDS if need.verb is Verb.APPLY}
    assert asked == {pair for feature in FEATURES for pair in feature.privileges}


def test_the_page_prints_the_table() -> None:
    page = (REPO / "docs" / "apply.md").read_text(encoding="utf-8")
    printed = page.partition("<!-- features -->\n")[2].partition("\n<!-- /features -->")[0]
    assert printed == features_markdown()


def test_what_a_change_needs() -> None:
    group = GroupRef("g0", "pair")
    change = Reconfigure(
        (FieldChange(Field.CPUS, 1, 2), FieldChange(Field.CORES_PER_NUMA_NODE, None, 2)),
        (ExtraConfigChange("numa.nodeAffinity", None, "0"),),
        (
            DeviceChange(Action.ADD, "a", None, None, DeviceValue(DynamicBacking((AllowedDevice(1, 2),)))),
            DeviceChange(Action.ADD, "b", None, None, DeviceValue(VgpuBacking("p"), 0, group, 1)),
            DeviceChange(Action.REMOVE, "c", 5, DeviceValue(VgpuBacking("p")), None),
        ),
        (GroupChange(Action.ADD, group, None),),
    )
    features = features_of(change)
    assert [feature.id for feature in features] == [
        "cpus",
        "vnuma",
        "extra_config",
        "device_numa_node",
        "dynamic",
        "vgpu",
        "device_group",
        "remove_device",
    ]
    needs = needs_of(features)
    assert (needs.api, needs.hardware) == ("8.0.0.1", 20)
    assert needs.power == (PowerNeed.CYCLE, PowerNeed.GROW, PowerNeed.OFF)
    assert [privilege.rpartition(".")[2] for _, privilege in needs.privileges] == [
        "CPUCount",
        "AdvancedConfig",
        "EditDevice",
        "AddRemoveDevice",
    ]


def test_moves_and_power() -> None:
    def ids(change: Relocate | Power) -> list[str]:
        return [feature.id for feature in features_of(change)]

    assert ids(Relocate("a", "b", None, None, True)) == ["migrate"]
    assert ids(Relocate("a", "b", None, None, False)) == ["relocate"]
    assert ids(Power(VmPower.OFF, VmPower.ON, "a")) == ["power_on"]
    assert ids(Power(VmPower.SUSPENDED, VmPower.OFF, "a")) == ["power_off"]
    assert needs_of(()).hardware is None
