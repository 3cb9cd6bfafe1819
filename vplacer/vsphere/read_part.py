"""Some objects read afresh, by the same collector that reads all of them.

What hardly moves is asked once and kept: folders, datacenters, compute resources, and what hardware
versions allow. Tags are those of the last whole reading.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from vplacer.inventory.vcenter import About, Inventory
from vplacer.port import Part
from vplacer.vsphere.collector import CollectOptions, Collector, Tags
from vplacer.vsphere.existing import existing_answer
from vplacer.vsphere.raw import Data, MoRef, RawAnswer, RawObject, RawReader, Value

_KEPT = ("Datacenter", "Folder", "ComputeResource")
_KEPT_CALLS = ("QueryConfigOptionDescriptor", "QueryConfigOptionEx")


@dataclass
class PartReader:
    """Reads parts of one vCenter.

    Args:
        reader: the vCenter.
        about: who answers.
        workers: how many hosts are asked at a time.
        tags: tags by moid.
    """

    reader: RawReader
    about: About
    workers: int = 8
    tags: Tags = field(default_factory=dict)
    _answers: dict[str, RawAnswer] = field(default_factory=dict)
    _calls: dict[tuple[MoRef, str, str], Value] = field(default_factory=dict)

    def read(
        self,
        vms: Iterable[str] = (),
        hosts: Iterable[str] = (),
        clusters: Iterable[str] = (),
        taken_at: str = "",
    ) -> Inventory:
        """Return an inventory that has these objects alone; those that are gone are missing from it."""
        wanted = {
            "VirtualMachine": tuple(dict.fromkeys(vms)),
            "HostSystem": tuple(dict.fromkeys(hosts)),
            "ClusterComputeResource": tuple(dict.fromkeys(clusters)),
        }
        inventory = self._collect(wanted, taken_at)
        if any(vm.readable and not vm.folder for vm in inventory.vms) or any(
            cluster.name == cluster.moid for cluster in inventory.clusters
        ):
            # A folder or a cluster that is newer than what was kept.
            self._answers.clear()
            inventory = self._collect(wanted, taken_at)
        return inventory

    def _collect(self, wanted: Mapping[str, tuple[str, ...]], taken_at: str) -> Inventory:
        return Collector(
            _Some(self, wanted),
            about=self.about,
            taken_at=taken_at,
            tags=self.tags,
            options=CollectOptions(workers=self.workers),
        ).collect()

    def kept(self, kind: str, paths: Sequence[str]) -> RawAnswer:
        """Return all objects of a kind that hardly moves."""
        if kind not in self._answers:
            self._answers[kind] = self.reader.retrieve(kind, paths)
        return self._answers[kind]

    def kept_call(self, ref: MoRef, method: str, arguments: Mapping[str, object] | None) -> Value:
        """Return the answer of a method that always tells the same of a host."""
        key = (ref, method, repr(arguments))
        if key not in self._calls:
            self._calls[key] = self.reader.call(ref, method, arguments)
        return self._calls[key]


@dataclass(frozen=True, slots=True)
class _Some:
    """A reader to which the inventory has only the objects that are wanted."""

    parts: PartReader
    wanted: Mapping[str, tuple[str, ...]]

    def retrieve(self, kind: str, paths: Sequence[str]) -> RawAnswer:
        if kind == "ComputeResource":
            return self._units(self.parts.kept(kind, paths))
        if kind in _KEPT:
            return self.parts.kept(kind, paths)
        refs = [MoRef(kind, moid) for moid in self.wanted.get(kind, ())]
        return existing_answer(self.parts.reader, refs, paths) if refs else RawAnswer()

    def properties(self, refs: Sequence[MoRef], paths: Sequence[str]) -> RawAnswer:
        return self.parts.reader.properties(refs, paths)

    def call(self, ref: MoRef, method: str, arguments: Mapping[str, object] | None = None) -> Value:
        if method in _KEPT_CALLS:
            return self.parts.kept_call(ref, method, arguments)
        return self.parts.reader.call(ref, method, arguments)

    def _units(self, answer: RawAnswer) -> RawAnswer:
        """Leave out the hosts that nobody asked for: they are not missing."""
        wanted = set(self.wanted["HostSystem"])
        objects = tuple(
            RawObject(
                raw.ref,
                Data(
                    raw.props.type,
                    raw.props.kinds,
                    {
                        **raw.props.fields,
                        "host": [ref for ref in raw.props.refs("host") if ref.moid in wanted],
                    },
                ),
            )
            for raw in answer.objects
        )
        return dataclasses.replace(answer, objects=objects)


def part_of(inventory: Inventory) -> Part:
    """Return an inventory's objects."""
    return Part(inventory.vms, inventory.hosts, inventory.clusters)
