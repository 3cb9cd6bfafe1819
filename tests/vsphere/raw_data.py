"""Raw values for tests: pyVmomi objects written as a server would and parsed; a reader over a dictionary."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pyVmomi import VmomiSupport, vmodl
from pyVmomi.SoapAdapter import SerializeToStr

from tests.vsphere.servers import ENVELOPE
from vplacer.errors import VplacerError
from vplacer.vsphere.parse import parse_answer
from vplacer.vsphere.raw import Data, Missing, MoRef, Notes, RawAnswer, RawObject, Value

VERSION = "vim.version.v9_1_1_0"


def value(thing: object, version: str = VERSION) -> Value:
    """Return a pyVmomi value as a client reads it in an answer of the version."""
    if thing is None or type(thing) in (Data, MoRef, list):
        return thing
    prop = vmodl.DynamicProperty(name="p", val=thing)
    info = VmomiSupport.Object(name="returnval", type=vmodl.DynamicProperty, version=version, flags=0)
    text = SerializeToStr(prop, info, version)
    body = ENVELOPE.format(f'<QResponse xmlns="urn:vim25">{text}</QResponse>').encode()
    return parse_answer(body, vmodl.DynamicProperty, Notes()).get("val")


def obj(kind: str, moid: str, props: Mapping[str, object]) -> RawObject:
    """Return a raw object; its properties may be pyVmomi values."""
    fields = {path: value(thing) for path, thing in props.items() if thing is not None}
    return RawObject(MoRef(kind, moid), Data(kind, (kind,), fields))


def fault(name: str, **fields: object) -> Data:
    """Return a fault as it comes in a missingSet."""
    kind = VmomiSupport.GuessWsdlType(name)
    kinds = tuple(base._wsdlName for base in kind.__mro__ if getattr(base, "_wsdlName", None))
    return Data(name, kinds, dict(fields))


@dataclass
class FakeVCenter:
    """A `RawReader` over given objects.

    ``answers``: (method, moid or "" for all) to a value, an error or a function of the arguments.
    """

    objects: list[RawObject] = field(default_factory=list)
    missing: list[Missing] = field(default_factory=list)
    unknown: dict[str, tuple[str, ...]] = field(default_factory=dict)
    answers: dict[tuple[str, str], Any] = field(default_factory=dict)
    calls: list[tuple[str, str]] = field(default_factory=list)

    def retrieve(self, kind: str, paths: Sequence[str]) -> RawAnswer:
        kinds = {"ComputeResource": ("ComputeResource", "ClusterComputeResource")}.get(kind, (kind,))
        unknown = self.unknown.get(kind, ())
        found = [
            RawObject(raw.ref, Data(kind, (kind,), {p: v for p, v in raw.props.fields.items() if p in paths}))
            for raw in self.objects
            if raw.ref.type in kinds
        ]
        missing = [entry for entry in self.missing if entry.ref.type in kinds and entry.path in paths]
        return RawAnswer(tuple(found), tuple(missing), unknown)

    def properties(self, refs: Sequence[MoRef], paths: Sequence[str]) -> RawAnswer:
        return RawAnswer(tuple(raw for raw in self.objects if raw.ref in refs))

    def call(self, ref: MoRef, method: str, arguments: Mapping[str, object] | None = None) -> Value:
        arguments = arguments or {}
        target = arguments.get("host")
        moid = target.moid if isinstance(target, MoRef) else ref.moid
        self.calls.append((method, moid))
        answer = self.answers.get((method, moid), self.answers.get((method, "")))
        if isinstance(answer, VplacerError):
            raise answer
        if isinstance(answer, Callable):  # type: ignore[arg-type]
            return answer(arguments)
        return value(answer) if not isinstance(answer, list) else [value(item) for item in answer]
