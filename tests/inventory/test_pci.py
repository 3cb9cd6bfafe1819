"""PCI addresses and numbers in every spelling of the field."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.inventory.data import cases
from vplacer.inventory.pci import PciAddress, PciIds, known_index, signed16, unsigned8, unsigned16

ADDRESSES = st.builds(
    PciAddress,
    st.integers(0, 0xFFFFFFFF),
    st.integers(0, 0xFF),
    st.integers(0, 0x1F),
    st.integers(0, 7),
)


@pytest.mark.parametrize("case", cases("pci-addresses"), ids=lambda case: repr(case["text"]))
def test_spelling(case: dict[str, Any]) -> None:
    parse = PciAddress.parse_vmx if case.get("reader") == "vmx" else PciAddress.parse
    if "error" in case:
        with pytest.raises(ValueError, match=case["error"]):
            parse(case["text"])
    else:
        assert str(parse(case["text"])) == case["is"]


@given(ADDRESSES)
def test_canonical_text_names_the_same_address(address: PciAddress) -> None:
    assert PciAddress.parse(str(address)) == address


@given(ADDRESSES.filter(lambda a: a.segment <= 99999))
def test_vmx_text_names_the_same_address(address: PciAddress) -> None:
    assert PciAddress.parse_vmx(address.vmx()) == address


def test_a_bus_number_alone_names_no_bus() -> None:
    same_bus = {PciAddress.parse(f"{segment}:00:00.0").bus_key for segment in ("0001", "0002", "10000")}
    assert len(same_bus) == 3


@pytest.mark.parametrize("case", cases("signed-numbers"), ids=lambda case: case["what"])
def test_sign(case: dict[str, Any]) -> None:
    mask = unsigned8 if case["bits"] == 8 else unsigned16
    assert mask(case["signed"]) == case["is"]


@given(st.integers(0, 0xFFFF))
def test_an_id_goes_back_as_it_came(value: int) -> None:
    assert -0x8000 <= signed16(value) <= 0x7FFF
    assert unsigned16(signed16(value)) == value


def test_missing_subsystem_is_not_zero() -> None:
    assert PciIds.from_signed(-32634, 14280) == PciIds(0x8086, 0x37C8, None, None)
    assert PciIds.from_signed(-32634, 14280, 0, 0) == PciIds(0x8086, 0x37C8, 0, 0)
    assert str(PciIds.from_signed(-32634, 14280)) == "8086:37c8"


@pytest.mark.parametrize("case", cases("unknown-indexes"), ids=str)
def test_unknown_index(case: dict[str, Any]) -> None:
    assert known_index(case["value"]) == case["is"]
