"""Loads YAML and JSON files that people write, and remembers where each value stands.

Differences from YAML 1.1, all in favour of what a person means: ``on``, ``off``, ``yes`` and ``no`` are
words; ``10:20:30`` and ``00:1c.0`` are text, not numbers in base 60; dates are text; a key given twice is
an error. Aliases work within a bound, so that a small file cannot unfold into a huge one.
"""

from __future__ import annotations

import difflib
import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias

import yaml
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode
from yaml.resolver import BaseResolver

from vplacer.errors import FileFormatError, UnknownObjectError

Pointer: TypeAlias = tuple[str | int, ...]

MAX_VALUES: Final = 500_000
MAX_BYTES: Final = 64 * 1024 * 1024
MAX_DEPTH: Final = 100

try:
    from yaml.cyaml import CParser as _Parser  # type: ignore[attr-defined]
except ImportError:  # PyYAML without libyaml
    from yaml.composer import Composer
    from yaml.parser import Parser
    from yaml.reader import Reader
    from yaml.scanner import Scanner

    class _Parser(Reader, Scanner, Parser, Composer):  # type: ignore[no-redef]
        def __init__(self, stream: str) -> None:
            Reader.__init__(self, stream)
            Scanner.__init__(self)
            Parser.__init__(self)
            Composer.__init__(self)


class _CoreLoader(_Parser, BaseResolver):
    """YAML's composer with the plain scalars of JSON only."""

    def __init__(self, stream: str) -> None:
        _Parser.__init__(self, stream)
        BaseResolver.__init__(self)


_TAG: Final = "tag:yaml.org,2002:"
_CoreLoader.add_implicit_resolver(f"{_TAG}null", re.compile(r"^(?:~|null|)$"), ["~", "n", ""])
_CoreLoader.add_implicit_resolver(f"{_TAG}bool", re.compile(r"^(?:true|false)$"), ["t", "f"])
_CoreLoader.add_implicit_resolver(
    f"{_TAG}int", re.compile(r"^(?:[-+]?(?:0|[1-9][0-9]*)|0x[0-9a-fA-F]+)$"), list("-+0123456789")
)
_CoreLoader.add_implicit_resolver(
    f"{_TAG}float",
    re.compile(r"^[-+]?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?$"),
    list("-+0123456789"),
)


@dataclass(frozen=True, slots=True)
class Mark:
    """Where a value starts: 1-based line and column."""

    line: int
    column: int


@dataclass(frozen=True)
class Document:
    """A loaded file: plain Python values, and the place of each by its pointer."""

    path: str
    data: Any
    marks: dict[Pointer, Mark]
    key_marks: dict[Pointer, Mark]

    def mark(self, pointer: Pointer) -> Mark | None:
        """Return the place of a value, or of the nearest enclosing one that is in the file."""
        for length in range(len(pointer), -1, -1):
            found = self.key_marks.get(pointer[:length]) or self.marks.get(pointer[:length])
            if found is not None:
                return found
        return None

    def error(
        self, pointer: Pointer, what: str, *, why: str | None = None, hint: str | None = None
    ) -> FileFormatError:
        """Return an error that names the file, the line and the pointer."""
        mark = self.mark(pointer)
        return FileFormatError(
            what,
            path=self.path,
            line=mark.line if mark else None,
            column=mark.column if mark else None,
            pointer=pointer_text(pointer) or None,
            why=why,
            hint=hint,
        )


def pointer_text(pointer: Pointer) -> str:
    """Return ``vms[2].devices[0].gpu`` for the parts of a pointer; empty for the whole document."""
    text = ""
    for part in pointer:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += f".{part}" if text else part
    return text


def read_text(path: Path) -> str:
    """Return the text of a file.

    Raises:
        UnknownObjectError: there is no such file, or it cannot be read.
        FileFormatError: it is not text, or larger than 64 MiB.
    """
    return decode_text(read_bytes(path), str(path))


def read_bytes(path: Path) -> bytes:
    """Return the bytes of a file.

    Raises:
        UnknownObjectError: there is no such file, it is a folder, or it cannot be read.
    """
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise UnknownObjectError("there is no such file", obj=str(path), hint=_nearest(path)) from None
    except IsADirectoryError:
        raise UnknownObjectError("this is a folder; a file is needed", obj=str(path)) from None
    except OSError as error:
        raise UnknownObjectError("cannot be read", obj=str(path), why=error.strerror) from None


def _nearest(path: Path) -> str:
    """Say which file may have been meant instead of one that is not there."""
    folder = path.parent
    if not folder.is_dir():
        return f"there is no folder {folder} either; look at the path"
    try:
        names = sorted(item.name for item in folder.iterdir() if item.is_file())
    except OSError:
        return "look at the path"
    close = difflib.get_close_matches(path.name, names, n=3)
    return f"did you mean {', '.join(str(folder / name) for name in close)}?" if close else "look at the path"


def decode_text(raw: bytes, path: str) -> str:
    """Return the bytes of a file as text.

    Raises:
        FileFormatError: they are not UTF-8 text, or more than 64 MiB.
    """
    if len(raw) > MAX_BYTES:
        raise FileFormatError("larger than 64 MiB, which no such file is", path=path)
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise FileFormatError("not text", path=path, line=line, why="not UTF-8") from None
    if "\x00" in text:
        raise FileFormatError("not text", path=path, why="it holds zero bytes")
    return text


def read_document(path: Path) -> Document:
    """Load a YAML or JSON file.

    Raises:
        UnknownObjectError: there is no such file, or it cannot be read.
        FileFormatError: it is not text, not YAML, has a key twice, or holds a type vplacer does not use.
    """
    return parse_document(read_text(path), str(path))


def parse_document(text: str, path: str) -> Document:
    """Load YAML or JSON text; ``path`` is what errors call it.

    Raises:
        FileFormatError: the text is not YAML, has a key twice, or holds a type vplacer does not use.
    """
    try:
        loader = _CoreLoader(text)
        root = loader.get_single_node()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise FileFormatError(
            "not valid YAML",
            path=path,
            line=mark.line + 1 if mark else None,
            column=mark.column + 1 if mark else None,
            why=error.problem or error.context,
        ) from None
    except yaml.YAMLError as error:
        raise FileFormatError("not valid YAML", path=path, why=str(error).splitlines()[0]) from None
    except RecursionError:
        raise FileFormatError("nested too deeply", path=path) from None
    if root is None:
        return Document(path, None, {}, {})
    return _Builder(path).build(root)


class _Builder:
    """Turns the node tree into values and marks."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.marks: dict[Pointer, Mark] = {}
        self.key_marks: dict[Pointer, Mark] = {}

    def build(self, root: Node) -> Document:
        data = self._value(root, ())
        return Document(self.path, data, self.marks, self.key_marks)

    def _value(self, node: Node, pointer: Pointer) -> Any:
        if len(pointer) > MAX_DEPTH:
            raise self._error(node, "nested too deeply, or an alias inside itself")
        if len(self.marks) > MAX_VALUES:
            raise self._error(node, "more than 500,000 values", why="aliases may multiply them")
        self.marks[pointer] = _mark(node)
        if isinstance(node, MappingNode):
            return self._mapping(node, pointer)
        if isinstance(node, SequenceNode):
            self._plain(node, "seq")
            return [self._value(item, (*pointer, index)) for index, item in enumerate(node.value)]
        assert isinstance(node, ScalarNode)
        return self._scalar(node)

    def _mapping(self, node: MappingNode, pointer: Pointer) -> dict[str, Any]:
        self._plain(node, "map")
        result: dict[str, Any] = {}
        for key_node, value_node in node.value:
            if not isinstance(key_node, ScalarNode):
                raise self._error(key_node, "a key must be a word")
            # Keys are words whatever they look like: `21:` in a table of versions is "21".
            key = key_node.value
            if key in result:
                raise self._error(key_node, f"the key '{key}' is given twice")
            self.key_marks[(*pointer, key)] = _mark(key_node)
            result[key] = self._value(value_node, (*pointer, key))
        return result

    def _scalar(self, node: ScalarNode) -> Any:
        kind = node.tag.removeprefix(_TAG)
        text = node.value
        try:
            if kind == "str":
                return text
            if kind == "null":
                return None
            if kind == "bool":
                return {"true": True, "false": False}[text]
            if kind == "int":
                return int(text, 16) if text.lower().startswith("0x") else int(text)
            if kind == "float" and math.isfinite(number := float(text)):
                return number
        except (KeyError, ValueError):
            raise self._error(node, f"'{text[:40]}' is not of the type {kind}") from None
        if kind == "float":
            raise self._error(node, f"'{text[:40]}' is out of range")
        raise self._error(node, f"values of the type {node.tag} are not used here")

    def _plain(self, node: Node, kind: str) -> None:
        if node.tag != f"{_TAG}{kind}":
            raise self._error(node, f"values of the type {node.tag} are not used here")

    def _error(self, node: Node, what: str, why: str | None = None) -> FileFormatError:
        mark = _mark(node)
        return FileFormatError(what, path=self.path, line=mark.line, column=mark.column, why=why)


def _mark(node: Node) -> Mark:
    return Mark(node.start_mark.line + 1, node.start_mark.column + 1)
