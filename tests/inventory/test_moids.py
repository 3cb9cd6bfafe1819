"""The order of managed object ids."""

from __future__ import annotations

from vplacer.inventory.moids import moid_order


def test_by_type_then_by_number_whatever_the_text() -> None:
    long = "host-" + "9" * 5000
    wanted = ["host", "host-", "host-9", "host-10", long, "host-x", "vm-07", "vm-7", "vm-8"]
    shuffled = [wanted[index * 4 % len(wanted)] for index in range(len(wanted))]
    assert sorted(shuffled, key=moid_order) == wanted
