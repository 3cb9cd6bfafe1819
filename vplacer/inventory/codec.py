"""Turns the frozen values of the inventory into plain JSON values and back, by their annotations.

A dataclass becomes a mapping of all its fields; a tuple a list; an enum its value; a PCI address its
canonical text. A union of dataclasses carries the class name under "type". Nothing is left out: a field
that is None is written as null, so that "not said" and "not written" cannot be confused.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache, lru_cache
from typing import Any, TypeVar

from vplacer.inventory.pci import PciAddress

T = TypeVar("T")
Path = tuple[str | int, ...]
Decoder = Callable[[Any], Any]

_TAG = "type"
_NONE = type(None)
_SCALARS = frozenset((_NONE, bool, int, str))
_WORDS = {bool: "true or false", int: "a whole number", str: "text"}


class CodecError(Exception):
    """A value does not fit the model. ``pointer`` leads to it, outermost part first."""

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.what = what
        self.parts: list[str | int] = []

    @property
    def pointer(self) -> Path:
        """Where the value stands."""
        return tuple(reversed(self.parts))


def encode(value: Any, *, tagged: bool = False) -> Any:
    """Return a value of the model as JSON values; ``tagged`` adds the class name of a dataclass."""
    kind = type(value)
    if kind in _SCALARS:
        return value
    if kind is tuple:
        return [encode(item) for item in value]
    if kind is PciAddress:
        return str(value)
    if isinstance(value, Enum):
        return value.value
    if not is_dataclass(kind):
        raise TypeError(f"{kind.__name__} is no value of the inventory")
    result: dict[str, Any] = {_TAG: kind.__name__} if tagged else {}
    for name, is_union in _plan(kind):
        part = getattr(value, name)
        # Most fields are scalars: a call for each would take most of the time.
        result[name] = part if type(part) in _SCALARS else encode(part, tagged=is_union)
    return result


def decode(kind: type[T], value: Any) -> T:
    """Return JSON values as a value of the model.

    Raises:
        CodecError: a value is missing, unknown or of the wrong type; it says where.
    """
    reader: Decoder = _decoder(kind)  # type: ignore[arg-type]
    result: T = reader(value)
    return result


@cache
def _plan(kind: type) -> tuple[tuple[str, bool], ...]:
    """Return a dataclass's field names, each with whether its value is one of several classes."""
    hints = _hints(kind)
    return tuple((field.name, _is_class_union(hints[field.name])) for field in fields(kind))


@cache
def _hints(kind: type) -> dict[str, Any]:
    return typing.get_type_hints(kind)


def _members(hint: Any) -> tuple[Any, ...]:
    if isinstance(hint, types.UnionType) or typing.get_origin(hint) is typing.Union:
        return typing.get_args(hint)
    return (hint,)


def _is_class_union(hint: Any) -> bool:
    return len([member for member in _members(hint) if is_dataclass(member)]) > 1


@cache
def _decoder(hint: Any) -> Decoder:
    scalars = _scalar_types(hint)
    if scalars is not None:
        return lambda value: _checked(value, scalars)
    members = _members(hint)
    rest = tuple(member for member in members if member is not _NONE)
    inner = _union(rest) if len(rest) > 1 else _single(rest[0])
    if _NONE not in members:
        return inner
    return lambda value: None if value is None else inner(value)


def _scalar_types(hint: Any) -> frozenset[type] | None:
    """Return the exact JSON types of a field that holds a scalar or null; None = it holds more."""
    members = frozenset(_members(hint))
    return members if members <= _SCALARS else None


def _checked(value: Any, scalars: frozenset[type]) -> Any:
    # The exact type, because True is an int to isinstance.
    if type(value) not in scalars:
        words = [_WORDS[kind] for kind in _WORDS if kind in scalars]
        raise CodecError(f"{_shown(value)} is not {' or '.join(words)}")
    return value


def _single(hint: Any) -> Decoder:
    if typing.get_origin(hint) is tuple:
        return _tuple(typing.get_args(hint))
    if hint is PciAddress:
        return _address
    if isinstance(hint, type) and issubclass(hint, Enum):
        return _enum(hint)
    assert isinstance(hint, type)
    return _dataclass(hint)


def _address(value: Any) -> PciAddress:
    if type(value) is not str:
        raise CodecError(f"{_shown(value)} is not a PCI address")
    try:
        return _parsed(value)
    except ValueError as error:
        raise CodecError(str(error)) from None


@lru_cache(maxsize=65536)
def _parsed(text: str) -> PciAddress:
    """Hosts of one model have the same addresses: parse each once, keep one value of it."""
    return PciAddress.parse(text)


def _enum(kind: type[Enum]) -> Decoder:
    table = {member.value: member for member in kind}

    def read(value: Any) -> Any:
        if not isinstance(value, str) or value not in table:
            raise CodecError(f"{_shown(value)} is none of {', '.join(table)}")
        return table[value]

    return read


def _tuple(args: tuple[Any, ...]) -> Decoder:
    if len(args) == 2 and args[1] is Ellipsis:
        item = _decoder(args[0])

        def read_many(value: Any) -> Any:
            if type(value) is not list:
                raise CodecError(f"{_shown(value)} is not a list")
            return tuple(_at(index, item, part) for index, part in enumerate(value))

        return read_many
    items = tuple(_decoder(arg) for arg in args)

    def read_fixed(value: Any) -> Any:
        if type(value) is not list or len(value) != len(items):
            raise CodecError(f"{_shown(value)} is not a list of {len(items)}")
        return tuple(
            _at(index, item, part) for index, (item, part) in enumerate(zip(items, value, strict=True))
        )

    return read_fixed


def _at(index: int, item: Decoder, part: Any) -> Any:
    try:
        return item(part)
    except CodecError as error:
        error.parts.append(index)
        raise


def _dataclass(kind: type, extra: frozenset[str] = frozenset()) -> Decoder:
    hints = _hints(kind)
    names = tuple(field.name for field in fields(kind))
    plan = tuple((name, _scalar_types(hints[name]), _decoder(hints[name])) for name in names)
    known = frozenset(names) | extra

    def read(value: Any) -> Any:
        if type(value) is not dict:
            raise CodecError(f"{_shown(value)} is not a mapping ({kind.__name__})")
        arguments = []
        name = ""
        try:
            for name, scalars, read_field in plan:
                part = value[name]
                # As in `encode`: most fields are scalars, and need no call if all is well.
                if scalars is None or type(part) not in scalars:
                    part = read_field(part)
                arguments.append(part)
        except KeyError:
            raise CodecError(f"the key '{name}' is missing ({kind.__name__})") from None
        except CodecError as error:
            error.parts.append(name)
            raise
        if len(value) != len(names) + len(extra):
            unknown = sorted(set(value) - known)
            raise CodecError(f"unknown key '{unknown[0]}' ({kind.__name__})")
        try:
            return kind(*arguments)
        except ValueError as error:
            raise CodecError(str(error)) from None

    return read


def _union(members: tuple[Any, ...]) -> Decoder:
    return _class_union(members) if all(is_dataclass(member) for member in members) else _plain_union(members)


def _plain_union(members: tuple[Any, ...]) -> Decoder:
    """Numbers, truth values, texts and lists: JSON's own types tell them apart."""
    table = {list if typing.get_origin(member) is tuple else member: _decoder(member) for member in members}

    def read(value: Any) -> Any:
        reader = table.get(type(value))
        if reader is None:
            raise CodecError(f"{_shown(value)} is of none of the types that may stand here")
        return reader(value)

    return read


def _class_union(members: tuple[Any, ...]) -> Decoder:
    table = {member.__name__: _dataclass(member, frozenset((_TAG,))) for member in members}

    def read(value: Any) -> Any:
        tag = value.get(_TAG) if type(value) is dict else None
        if not isinstance(tag, str) or tag not in table:
            raise CodecError(f"the type {_shown(tag)} is none of {', '.join(table)}")
        return table[tag](value)

    return read


def _shown(value: Any) -> str:
    if isinstance(value, str):
        return f"'{value[:60]}'"
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)
    return "a list" if isinstance(value, list) else "a mapping"
