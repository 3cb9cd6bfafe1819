"""Reads a folder that ``govc object.save`` wrote: managed objects and answers of methods, as raw values.

The format (govmomi: cli/object/save.go): ``NNNN-Type-id.xml`` holds one ObjectContent; a folder
``Type-id`` holds the answers of methods, ``Method.xml`` with a ``MethodResponse``. Nothing of a folder is
trusted: it comes from somebody else. A file that is not well-formed, not UTF-8, or that brings a DOCTYPE
(and with it entities) is refused by its name; what it says is never quoted.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import quote
from xml.etree import ElementTree

from vplacer.errors import FileFormatError, UsageError
from vplacer.vsphere.parse import parse_element
from vplacer.vsphere.raw import Data, MoRef, Notes, Progress, Value

SERVICE: Final = MoRef("ServiceInstance", "ServiceInstance")
_LARGEST_FILE: Final = 1 << 28
_DEEPEST: Final = 100
_HINT: Final = "give a folder that `govc object.save -d FOLDER` wrote"
_KEPT: Final = frozenset(
    {
        "ClusterComputeResource",
        "ComputeResource",
        "Datacenter",
        "Datastore",
        "DistributedVirtualPortgroup",
        "Folder",
        "HostSystem",
        "Network",
        "OpaqueNetwork",
        "OptionManager",
        "ResourcePool",
        "ServiceInstance",
        "SessionManager",
        "StoragePod",
        "VirtualApp",
        "VirtualMachine",
    }
)
"""Types of which the properties are read; of others only that the file is whole."""
_ANSWERS: Final = ("QueryConfigTarget", "QueryConfigOption", "QueryConfigOptionDescriptor")


@dataclass(frozen=True, slots=True)
class SavedFolder:
    """What a folder holds.

    Attributes:
        path: the folder.
        objects: properties of each object, by name.
        answers: results by (environment browser, method).
        written: when the newest file was, seconds since 1970.
    """

    path: Path
    objects: dict[MoRef, Data] = field(default_factory=dict)
    answers: dict[tuple[MoRef, str], Value] = field(default_factory=dict)
    written: float = 0.0


def is_saved_folder(path: Path) -> bool:
    """Whether a path is a folder with XML files in it; it may still be no whole one."""
    return path.is_dir() and any(True for _ in path.glob("*.xml"))


def saved_files(path: Path) -> tuple[Path, ...]:
    """Return the files of a folder that are read, in the order in which they are."""
    try:
        found = [item for item in path.iterdir() if item.suffix == ".xml" and item.is_file()]
        for folder in path.iterdir():
            if folder.name.startswith("EnvironmentBrowser-") and folder.is_dir():
                found += [file for name in _ANSWERS if (file := folder / f"{name}.xml").is_file()]
    except OSError as error:
        raise UsageError("cannot be read", obj=str(path), why=error.strerror) from None
    return tuple(sorted(found))


def load_folder(path: Path, notes: Notes, progress: Progress | None = None) -> SavedFolder:
    """Read a folder.

    Args:
        path: the folder.
        notes: told of types and fields that are not known and were left out.
        progress: told of every file done.

    Raises:
        FileFormatError: a file is cut off, damaged or no saved object; the folder has none, or one of a
            part of an inventory only.
        UsageError: the folder or a file cannot be read.
    """
    files = saved_files(path)
    folder = SavedFolder(path)
    source: dict[MoRef, Path] = {}
    newest = 0.0
    for number, file in enumerate(files, start=1):
        newest = max(newest, _modified(file))
        if file.parent == path:
            ref, props = _object(file, notes)
            if ref in source:
                raise FileFormatError(
                    f"{ref} is in {source[ref].name} as well",
                    path=str(file),
                    hint="the folder holds two inventories or two states of one: save it again into an empty "
                    "folder",
                )
            source[ref] = file
            if ref.type in _KEPT:
                folder.objects[ref] = props
        if progress is not None:
            progress("saved objects", number, len(files))
    if not source:
        raise FileFormatError("holds no saved objects (*.xml)", path=str(path), hint=_HINT)
    browsers = {_place(ref): ref for ref in source if ref.type == "EnvironmentBrowser"}
    _add_answers(folder, (file for file in files if file.parent != path), browsers, notes)
    return SavedFolder(path, folder.objects, folder.answers, newest)


def _place(ref: MoRef) -> str:
    """Return the name of an object's folder (govmomi: ManagedObjectReference.Encode)."""
    return f"{ref.type}-{quote(ref.moid, safe='')}"


def _add_answers(
    folder: SavedFolder, files: Iterable[Path], browsers: dict[str, MoRef], notes: Notes
) -> None:
    for file in files:
        browser = browsers.get(file.parent.name)
        if browser is not None:
            folder.answers[browser, file.stem] = _answer(file, notes)


def _object(file: Path, notes: Notes) -> tuple[MoRef, Data]:
    """Read one ObjectContent: whose it is, and its properties by name."""
    from pyVmomi import vmodl

    root = _root(file)
    if _local(root.tag) != "ObjectContent":
        raise FileFormatError("holds no saved object", path=str(file), hint=_HINT)
    element = next((child for child in root if _local(child.tag) == "obj"), None)
    if element is None or not element.get("type") or not element.text:
        raise FileFormatError("does not say which object it is", path=str(file), hint=_HINT)
    ref = MoRef(element.get("type", ""), element.text)
    props = Data(ref.type, (ref.type,), {})
    if ref.type not in _KEPT:
        return ref, props
    content = parse_element(root, vmodl.query.PropertyCollector.ObjectContent, notes)
    for prop in content.items("propSet"):
        # A property that was unset is saved without a value.
        if prop.get("val") is not None:
            props.fields[prop.text("name") or ""] = prop.get("val")
    return ref, props


def _answer(file: Path, notes: Notes) -> Value:
    """Read the result of a method; a list for a method that returns one."""
    from pyVmomi import VmomiSupport

    root = _root(file)
    if _local(root.tag) != f"{file.stem}Response":
        raise FileFormatError(f"holds no answer of {file.stem}", path=str(file), hint=_HINT)
    result: type = VmomiSupport.GetWsdlMethod("urn:vim25", file.stem).info.result
    is_list = issubclass(result, list)
    item = getattr(result, "Item", result)
    values = [parse_element(child, item, notes) for child in root if _local(child.tag) == "returnval"]
    if is_list:
        return values
    return values[0] if values else None


def _root(file: Path) -> ElementTree.Element:
    """Parse a file. Strict where a stranger's file could do harm: see the module."""
    try:
        if file.stat().st_size > _LARGEST_FILE:
            raise FileFormatError("is larger than any saved object", path=str(file), hint=_HINT)
        text = file.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise UsageError("cannot be read", obj=str(file), why=error.strerror) from None
    except UnicodeDecodeError:
        raise FileFormatError("is not UTF-8", path=str(file), hint=_HINT) from None
    # A "<" inside text is always written as an entity, so this can only be markup.
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise FileFormatError(
            "declares a document type, which no saved object does", path=str(file), hint=_HINT
        )
    parser = ElementTree.XMLParser(target=_ShallowBuilder())
    try:
        # As text, so that an encoding declared inside has no say.
        parser.feed(text)
        root = parser.close()
    except ElementTree.ParseError as error:
        line, column = error.position
        raise FileFormatError(
            "is cut off or not well-formed XML", path=str(file), line=line, column=column + 1, hint=_HINT
        ) from None
    except _TooDeep:
        raise FileFormatError(f"has elements more than {_DEEPEST} deep", path=str(file), hint=_HINT) from None
    assert isinstance(root, ElementTree.Element)
    return root


class _TooDeep(Exception):
    """Elements are nested deeper than those of any API type."""


class _ShallowBuilder(ElementTree.TreeBuilder):
    """Builds a tree of bounded depth, so that nothing that walks it runs out of stack."""

    def __init__(self) -> None:
        super().__init__()
        self._depth = 0

    def start(self, tag: str, attrs: dict[str, str], /) -> ElementTree.Element:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise _TooDeep
        return super().start(tag, attrs)

    def end(self, tag: str, /) -> ElementTree.Element:
        self._depth -= 1
        return super().end(tag)


def _modified(file: Path) -> float:
    try:
        return file.stat().st_mtime
    except OSError as error:
        raise UsageError("cannot be read", obj=str(file), why=error.strerror) from None


def _local(tag: str) -> str:
    return tag.rpartition("}")[2]
