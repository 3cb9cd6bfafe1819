"""Typed access to what the lab uses of pyVmomi's type tables.

Everything here is a name inside pyVmomi, some of them with an underscore. The version is pinned, and
`tests/lab/test_pyvmomi_internals.py` has a test for each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache, lru_cache
from typing import Any, TypeAlias, TypeVar, cast

from pyVmomi import VmomiSupport as _support

NAMESPACE = "urn:vim25"
BASE_VERSION: str = _support.BASE_VERSION
OPTIONAL: int = _support.F_OPTIONAL
LINK: int = _support.F_LINK

Info: TypeAlias = Any
"""pyVmomi's description of a property, parameter or method: name, type, version, flags, privId, ..."""

Ref: TypeAlias = Any
"""A managed object reference: an instance of a pyVmomi managed object class without a stub."""

Value: TypeAlias = Any
"""Any value of the API: a data object, an array, an enum, a reference, a number, text."""

Class: TypeAlias = Any
"""A managed or data object class."""

_F = TypeVar("_F", bound=Callable[..., Any])


def _kept(function: _F) -> _F:
    # functools.cache, but with the function's own signature: classes are hashable, mypy is not sure.
    return cast(_F, cache(function))


_table = cast(Any, _support)

DataObject: Any = _table.DataObject
ManagedObject: Any = _table.ManagedObject
Array: Any = _table.Array
Enum: Any = _table.Enum
Byte: Any = _table.byte
Short: Any = _table.short
Long: Any = _table.long


def make_info(name: str, type_: object, version: str = BASE_VERSION, flags: int = 0, **more: object) -> Info:
    """Describe a property or parameter that is in no table."""
    return _table.Object(name=name, type=type_, version=version, flags=flags, **more)


FETCH: Info = make_info(
    "Fetch",
    ManagedObject,
    wsdlName="Fetch",
    params=(make_info("prop", str),),
    result=object,
    resultFlags=OPTIONAL,
    isTask=False,
    privId="System.Anonymous",
)
"""The method by which pyVmomi reads one property lazily. It is in no table; rights are the property's."""


@_kept
def is_version(version: str, wanted: str) -> bool:
    """Whether `version` has everything that came with `wanted`."""
    return bool(_table.IsChildVersion(version, wanted))


@_kept
def property_info(cls: Class, name: str) -> Info | None:
    """Describe a property of a managed or data object class, or None if it has none of that name."""
    try:
        return cls._GetPropertyInfo(name)
    except AttributeError:
        return None


@_kept
def properties(cls: Class, version: str) -> tuple[Info, ...]:
    """List the properties that a class has in a version, base classes first.

    ``dynamicType`` and ``dynamicProperty``, reserved in every data object and never set, are left out.
    """
    return tuple(
        i
        for i in cls._GetPropertyList()
        if is_version(version, i.version) and i.name not in ("dynamicType", "dynamicProperty")
    )


def method_info(namespace: str, name: str) -> Info | None:
    """Describe a method by its wire name, or None where the namespace has none of that name."""
    if name == "Fetch" and namespace == NAMESPACE:
        return FETCH
    try:
        return _table.GetWsdlMethod(namespace, name).info
    except KeyError:
        return None


def managed_method(name: str) -> Any:
    """Return pyVmomi's method object of a wire name (what TaskInfo.name holds)."""
    return _table.GetWsdlMethod(NAMESPACE, name)


def newest_version() -> str:
    """Return the name of the newest version that the tables know."""
    return next(name for i in version_ids() if (name := version_name(i)) is not None)


@_kept
def compatible_type(cls: Class, version: str) -> Class:
    """Widen a class to the nearest base that a version knows."""
    return _table.GetCompatibleType(cls, version)


@_kept
def wire_name(cls: Class) -> str:
    """Return the name of a type on the wire."""
    return str(_table.GetWsdlName(cls))


def moid(ref: Ref) -> str:
    """Return the id of a reference."""
    return str(ref._moId)


def array_of(cls: Class, items: Iterable[Value] = ()) -> Value:
    """Build a typed array."""
    return _table.GetVmodlType(cls.__name__ + "[]")(items)


@_kept
def version_name(version_id: str) -> str | None:
    """Return pyVmomi's name of an API version such as ``8.0.3.0``, or None if it knows none."""
    return cast("str | None", _table.versionMap.get(f"vim25/{version_id}"))


def version_id(version: str) -> str:
    """Return the id (``8.0.3.0``) of a version name."""
    return str(_table.versionIdMap[version])


@lru_cache(maxsize=1)
def version_ids() -> tuple[str, ...]:
    """List the ids of all vim25 versions that a client may ask for, newest first."""
    ids = (version_id(v) for v in _table.GetServiceVersions("vim25"))
    return tuple(i for i in ids if version_name(i) is not None)


class _KeptXml(dict[tuple[object, ...], str]):
    """Texts of one data object. A copy of the object, made to be edited, starts without them."""

    def __deepcopy__(self, memo: object) -> _KeptXml:
        return _KeptXml()


def share(value: Value) -> Value:
    """Mark a data object as used in many places and never edited: its XML is then made once."""
    object.__setattr__(value, "_kept_xml", _KeptXml())
    return value


def kept_xml(value: Value) -> dict[tuple[object, ...], str] | None:
    """Return the texts kept with a data object, None where it is not shared."""
    return cast("dict[tuple[object, ...], str] | None", value.__dict__.get("_kept_xml"))


def coerce(value: Value, info: Info) -> Value:
    """Give a plain Python value the type that the table declares.

    pyVmomi keeps ``list``, ``int`` and ``str`` as they are set; sent where the type is written beside
    the value (an xsd:any), they would carry the wrong one (xsd:int for an xsd:long), which Go refuses.
    """
    wanted = info.type
    if value is None or isinstance(value, bool) or wanted is object or type(value) is wanted:
        return value
    if issubclass(wanted, list):
        return value if isinstance(value, Array) else wanted(value)
    if isinstance(value, (str, int, float)) and issubclass(wanted, (str, int, float)) and wanted is not bool:
        return wanted(value)
    return value
