"""The state machine's faults, which knows no protocol, are faults of the API with members that it has."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyVmomi import VmomiSupport, vmodl

from tests.conftest import REPO
from vplacer.lab.soap.wire import typetable


def _raised() -> Iterator[tuple[Path, str, list[str]]]:
    for path in sorted((REPO / "vplacer/lab/model").glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call) or getattr(node.func, "id", "") != "LabFault" or not node.args:
                continue
            name = node.args[0]
            if isinstance(name, ast.Constant):
                yield path, str(name.value), [word.arg for word in node.keywords if word.arg is not None]


FAULTS = sorted({(name, tuple(members)) for _, name, members in _raised()})


@pytest.mark.parametrize(
    ("name", "members"), FAULTS, ids=lambda value: value if isinstance(value, str) else ""
)
def test_the_api_has_the_fault_and_its_members(name: str, members: tuple[str, ...]) -> None:
    kind = VmomiSupport.GetWsdlType(typetable.NAMESPACE, name)
    assert issubclass(kind, vmodl.MethodFault)
    assert [member for member in members if typetable.property_info(kind, member) is None] == []


def test_there_are_faults_to_check() -> None:
    assert len({name for name, _ in FAULTS}) > 30
