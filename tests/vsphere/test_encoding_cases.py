"""What goes over the wire for each change of a plan: cases under ``cases/encoding``.

A case has a change, the VM and the host as they are now, and the ConfigSpec expected, field by field; or
the error and a text that it holds. ``only``: members of the spec that are compared, the rest is not.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

import vplacer.errors
from tests.vsphere.plan_values import change_of, host_side, present_vm
from tests.vsphere.wire import arguments_of, canonical
from vplacer.errors import VplacerError
from vplacer.vsphere.encode_reconfigure import encode_reconfigure
from vplacer.vsphere.raw import MoRef, Notes
from vplacer.vsphere.soap import Codec

FOLDER = Path(__file__).parent / "cases" / "encoding"
CASES = [
    pytest.param(case, id=f"{file.stem}: {case['name']}")
    for file in sorted(FOLDER.glob("*.yaml"))
    for case in yaml.safe_load(file.read_text())
]


def encoded(case: dict[str, Any]) -> Any:
    codec = Codec(case.get("api", "vim.version.v8_0_3_0"), Notes())
    spec = encode_reconfigure(
        change_of(case["change"]),
        present_vm(case.get("vm", {})),
        host_side(case.get("host", {})),
        case.get("change_version"),
    )
    return arguments_of(codec.encode(MoRef("VirtualMachine", "vm-1"), "ReconfigVM_Task", {"spec": spec}))[
        "spec"
    ]


@pytest.mark.parametrize("case", CASES)
def test_encoding(case: dict[str, Any]) -> None:
    if "error" in case:
        with pytest.raises(VplacerError) as caught:
            encoded(case)
        assert type(caught.value) is getattr(vplacer.errors, case["error"]["kind"])
        assert case["error"]["text"] in str(caught.value)
        return
    found = encoded(case)
    if "only" in case:
        found = {name: found.get(name) for name in case["only"]}
    assert canonical(found) == canonical(case["spec"])
