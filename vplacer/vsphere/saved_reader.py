"""A folder of ``govc object.save`` as a vCenter: read through the same collector as a live one.

Such a folder keeps less than a session reads, and says less about what it lacks:

- What the account could not read is left out without a word (object.save drops the missing sets). An
  object without a property that every such object has is therefore a gap, never "none".
- Objects that others name and that are not there (a part of an inventory was saved, or the account could
  not see them) are gaps.
- QueryConfigTarget is kept once for an environment browser: see `HostQueries`, ``whole_units``.
- Tags are not kept, which is a gap; nor are the answers of esxtop.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from vplacer.errors import FileFormatError, VSphereFault
from vplacer.inventory.cycle_search import no_cycle_search
from vplacer.inventory.moids import moid_order
from vplacer.inventory.vcenter import About, Inventory
from vplacer.vsphere.collector import CollectOptions, Collector
from vplacer.vsphere.gaps import Gaps
from vplacer.vsphere.raw import Data, Missing, MoRef, Notes, Progress, RawAnswer, RawObject, Value
from vplacer.vsphere.saved_files import SERVICE, SavedFolder, load_folder

_KINDS: Final[Mapping[str, tuple[str, ...]]] = {
    "ComputeResource": ("ComputeResource", "ClusterComputeResource"),
    "Folder": ("Folder", "StoragePod"),
    "Network": ("Network", "DistributedVirtualPortgroup", "OpaqueNetwork"),
    "ResourcePool": ("ResourcePool", "VirtualApp"),
}
"""Types that are of another type too (vSphere API)."""

_ALWAYS: Final[Mapping[str, tuple[str, ...]]] = {
    "ClusterComputeResource": ("name", "configurationEx", "host", "environmentBrowser"),
    "ComputeResource": ("name", "host", "environmentBrowser"),
    "Datacenter": ("name",),
    "Datastore": ("name", "summary"),
    "HostSystem": ("name", "parent", "runtime", "summary", "hardware", "config", "datastore", "network"),
    "ResourcePool": ("name", "owner", "config", "runtime"),
    "VirtualApp": ("name", "owner", "config", "runtime"),
    "VirtualMachine": ("name", "runtime", "datastore", "network"),
}
"""Properties that every object of a type has, if the account may read it (vSphere API: not optional)."""

_CHILDREN: Final = (
    "childEntity",
    "datastore",
    "host",
    "hostFolder",
    "network",
    "resourcePool",
    "vm",
    "vmFolder",
)
_COLLECTED: Final = frozenset(
    {"Datacenter", "Datastore", "HostSystem", "VirtualMachine"}.union(*_KINDS.values())
)
_STEP: Final = re.compile(r'(\w+)(?:\["((?:[^"\\]|\\.)*)"\])?')
_ABSENT: Final = Data("NotSaved", ("NotSaved",), {"localizedMessage": "the folder does not have it"})


def collect_folder(path: Path, options: CollectOptions, progress: Progress | None = None) -> Inventory:
    """Read the inventory that a folder holds.

    Args:
        path: a folder that ``govc object.save`` wrote.
        options: what to read; homes cannot be measured, ``taken_at`` None = when the folder was saved.
        progress: told what is being read, how much is done, and the total where it is known.

    Raises:
        FileFormatError: the folder or a file in it is not what object.save writes.
        UsageError: it cannot be read.
    """
    notes, gaps = Notes(), Gaps()
    with no_cycle_search():
        folder = load_folder(path, notes, progress)
        about = _about(folder)
        gaps.add(about.instance_uuid, "tags", "fault", "a folder of govc object.save has no tags")
        for ref, named_by in _not_there(folder):
            gaps.add(ref.moid, "", "fault", f"{named_by} names it, but the folder does not have it")
        return Collector(
            SavedReader(folder),
            about=about,
            taken_at=options.taken_at or _saved_at(folder, notes),
            options=options,
            progress=progress,
            gaps=gaps,
            notes=notes,
            whole_units=True,
        ).collect()


class SavedReader:
    """Reads from a folder. It is a `RawReader`."""

    def __init__(self, folder: SavedFolder) -> None:
        self._folder = folder

    def retrieve(self, kind: str, paths: Sequence[str]) -> RawAnswer:
        """Read the paths of every object of a type; see the module for what counts as missing."""
        kinds = _KINDS.get(kind, (kind,))
        found = [ref for ref in self._folder.objects if ref.type in kinds]
        return self._answer(sorted(found, key=lambda ref: moid_order(ref.moid)), paths)

    def properties(self, refs: Sequence[MoRef], paths: Sequence[str]) -> RawAnswer:
        """Read the paths of the given objects."""
        return self._answer([ref for ref in refs if ref in self._folder.objects], paths)

    def call(self, ref: MoRef, method: str, arguments: Mapping[str, object] | None = None) -> Value:
        """Return the kept answer of a method, whatever host it is asked for.

        Raises:
            VSphereFault: the folder has none.
        """
        del arguments
        kept = "QueryConfigOption" if method == "QueryConfigOptionEx" else method
        value = self._folder.answers.get((ref, kept))
        if value is None:
            raise VSphereFault(
                f"{method} cannot be asked",
                fault_type="NotSaved",
                why="the folder has no answer of it",
                obj=str(self._folder.path),
            )
        return value

    def _answer(self, refs: Sequence[MoRef], paths: Sequence[str]) -> RawAnswer:
        tops = {path.partition(".")[0] for path in paths}
        objects, missing = [], []
        for ref in refs:
            props = self._folder.objects[ref]
            read = {path: value for path in paths if (value := _follow(props, path)) is not None}
            objects.append(RawObject(ref, Data(ref.type, (ref.type,), read)))
            missing += [
                Missing(ref, name, _ABSENT)
                for name in _ALWAYS.get(ref.type, ())
                if name in tops and name not in props.fields
            ]
        return RawAnswer(tuple(objects), tuple(missing))


def _follow(props: Data, path: str) -> Value:
    """Return what a property path leads to; None where it leads nowhere."""
    value: Value = props
    for name, key in _STEP.findall(path):
        if not isinstance(value, Data):
            return None
        value = value.get(name)
        if key:
            value = next(
                (item for item in value or () if isinstance(item, Data) and item.get("key") == key), None
            )
    return value


def _about(folder: SavedFolder) -> About:
    """Return who was saved, by the name its administrator gave the vCenter, else by the folder's name."""
    service = folder.objects.get(SERVICE)
    content = service.data("content") if service else None
    about = content.data("about") if content else None
    if about is None:
        raise FileFormatError(
            "holds a part of an inventory only",
            path=str(folder.path),
            why="there is no ServiceInstance among the saved objects",
            hint="save it whole: `govc object.save -d FOLDER`, without a path",
        )
    name = None
    setting = content.ref("setting") if content else None
    if setting is not None and setting in folder.objects:
        option = _follow(folder.objects[setting], 'setting["VirtualCenter.InstanceName"]')
        name = option.text("value") if isinstance(option, Data) else None
    return About(
        name=name or folder.path.resolve().name,
        instance_uuid=about.text("instanceUuid") or "",
        version=about.text("version") or "",
        build=about.text("build") or "",
        api_version=about.text("apiVersion") or "",
    )


def _saved_at(folder: SavedFolder, notes: Notes) -> str:
    """Return when the folder was saved: the vCenter's time at the last call of the session that did it."""
    for ref, props in folder.objects.items():
        if ref.type == "SessionManager":
            session = props.data("currentSession")
            at = session.text("lastActiveTime") if session else None
            moment = _moment(at)
            if moment is not None:
                return moment
    notes.add("when the folder was saved is not in it: the time of its newest file was taken")
    return datetime.fromtimestamp(int(folder.written), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _moment(text: str | None) -> str | None:
    try:
        moment = datetime.fromisoformat(text or "")
    except ValueError:
        return None
    return None if moment.tzinfo is None else moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _not_there(folder: SavedFolder) -> Iterator[tuple[MoRef, MoRef]]:
    """Yield objects that are named by others as theirs and are not in the folder, each with who names it."""
    for ref, props in folder.objects.items():
        for name in _CHILDREN:
            single = props.ref(name)
            for child in [*props.refs(name), *([single] if single else [])]:
                if child.type in _COLLECTED and child not in folder.objects:
                    yield child, ref
