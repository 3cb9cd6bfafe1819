"""Property paths: ``config.hardware.device[4000].backing``, ``config.extraConfig["numa.nodeAffinity"]``."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from pyVmomi import vmodl

from vplacer.lab.soap.wire import typetable
from vplacer.lab.soap.wire.typetable import Value

_STEP = re.compile(r'([A-Za-z_]\w*)(?:\[(?:"((?:[^"\\]|\\.)*)"|(-?\d+))\])?(?:\.(?=.)|$)')


@dataclass(frozen=True, slots=True)
class Step:
    """A property, and the key of an element where the property is an array."""

    name: str
    key: str | int | None


def invalid(path: str) -> Any:
    """Make the fault for a path that the version does not have."""
    return vmodl.query.InvalidProperty(name=path, msg=f"The property '{path}' is not valid")


@lru_cache(maxsize=4096)
def parse_path(path: str) -> tuple[Step, ...]:
    """Split a path into steps.

    Raises:
        vmodl.query.InvalidProperty: the text is no path.
    """
    steps: list[Step] = []
    position = 0
    while position < len(path):
        match = _STEP.match(path, position)
        if match is None:
            raise invalid(path)
        name, text, number = match.groups()
        key: str | int | None = int(number) if number is not None else text
        steps.append(Step(name, re.sub(r"\\(.)", r"\1", key) if isinstance(key, str) else key))
        position = match.end()
    if not steps:
        raise invalid(path)
    return tuple(steps)


def top_property(path: str) -> str:
    """Return the managed object's property that a path starts from."""
    return parse_path(path)[0].name


def resolve(cls: Any, read: Callable[[str], Value], path: str, version: str) -> Value:
    """Follow a path.

    Steps are looked up on the class of the value met, so members of subclasses are found. A key matches
    an element's ``key`` or, in an array of references, its id. An unset member on the way, and a key
    that no element has, give None.

    Args:
        cls: class of the managed object.
        read: reads one of its properties.
        path: the path.
        version: the API version asked for.

    Raises:
        vmodl.query.InvalidProperty: the version has no such path: an unknown or newer property, a
            member of a list without a key, or a step through a reference.
    """
    owner: Any = cls
    value: Value = None
    selected_nothing = False
    for position, step in enumerate(parse_path(path)):
        if position and not issubclass(owner, typetable.DataObject):
            raise invalid(path)
        info = typetable.property_info(owner, step.name)
        if info is None and selected_nothing:
            # The element asked for does not exist, and its class might have had the member.
            return None
        if info is None or not typetable.is_version(version, info.version):
            raise invalid(path)
        if position == 0:
            value = read(step.name)
        elif value is not None:
            value = typetable.coerce(getattr(value, step.name), info)
        owner = type(value) if isinstance(value, typetable.DataObject) else info.type
        if step.key is not None:
            if not issubclass(info.type, list):
                raise invalid(path)
            value = _element(value, step.key)
            selected_nothing = selected_nothing or value is None
            owner = info.type.Item if value is None else type(value)
    return value


def _element(array: Value, key: str | int) -> Value:
    for item in array or ():
        found = item._moId if isinstance(item, typetable.ManagedObject) else getattr(item, "key", None)
        if found == key:
            return item
    return None
