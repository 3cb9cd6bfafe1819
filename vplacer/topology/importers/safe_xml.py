"""Reads XML of unknown origin: nothing outside the text is loaded, nothing inside it unfolds.

Over the standard library's expat rather than a tree library, because every element keeps its line: what
is refused later is refused by line. An external DTD may be named (hwloc names its own); it is never
loaded. Entities of one's own, and a DTD inside the file, are refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from xml.parsers import expat

from vplacer.errors import FileFormatError

MAX_DEPTH = 200
MAX_ELEMENTS = 500_000
_HEAD = 65_536


@dataclass(slots=True)
class Element:
    """One element: attributes, children, the text directly inside, and its 1-based line."""

    tag: str
    attributes: dict[str, str]
    line: int
    children: list[Element] = field(default_factory=list)
    text: str = ""

    def get(self, name: str) -> str | None:
        """Return an attribute, or None."""
        return self.attributes.get(name)

    def all(self, tag: str) -> Iterator[Element]:
        """Yield the children of a tag."""
        return (child for child in self.children if child.tag == tag)

    def walk(self) -> Iterator[Element]:
        """Yield this element and all below it, in the order of the file."""
        waiting = [self]
        while waiting:
            element = waiting.pop()
            yield element
            waiting += reversed(element.children)


def parse_xml(text: str, path: str, root: str | None = None) -> Element:
    """Return the root element of XML text; ``root``: the tag it must have, None = any.

    Raises:
        FileFormatError: it is no whole XML, nests too deeply, is too large, or brings entities; or its
            root is another element.
    """
    builder = _Builder(path)
    try:
        builder.parser.Parse(text.encode("utf-8", "replace"), True)
    except expat.ExpatError as error:
        raise FileFormatError(
            "not valid XML", path=path, line=error.lineno, why=expat.ErrorString(error.code)
        ) from None
    if builder.root is None:
        raise FileFormatError("not valid XML", path=path, why="no element found")
    if root is not None and builder.root.tag != root:
        raise FileFormatError(f"the root element is not '{root}'", path=path, line=builder.root.line)
    return builder.root


def root_tag(text: str) -> str | None:
    """Return the tag of the first element of what looks like XML; None = it does not."""
    parser = expat.ParserCreate("utf-8")
    found: list[str] = []

    def start(tag: str, _: object) -> None:
        found.append(tag)
        raise _Enough

    parser.StartElementHandler = start
    # What is wrong after the first tag is the reader's to tell.
    with suppress(expat.ExpatError, _Enough):
        parser.Parse(text[:_HEAD].encode("utf-8", "replace"), False)
    return found[0] if found else None


class _Enough(Exception):
    """The first tag was seen."""


class _Builder:
    def __init__(self, path: str) -> None:
        self.path = path
        self.root: Element | None = None
        self.open: list[Element] = []
        self.count = 0
        self.parser = expat.ParserCreate("utf-8")
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._text
        self.parser.StartDoctypeDeclHandler = self._doctype
        self.parser.EntityDeclHandler = self._entity

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        element = Element(tag, attributes, self.parser.CurrentLineNumber)
        self.count += 1
        if len(self.open) >= MAX_DEPTH:
            raise self._error(f"elements nest more than {MAX_DEPTH} deep")
        if self.count > MAX_ELEMENTS:
            raise self._error(f"more than {MAX_ELEMENTS:,} elements")
        if self.open:
            self.open[-1].children.append(element)
        else:
            self.root = element
        self.open.append(element)

    def _end(self, _: str) -> None:
        self.open.pop()

    def _text(self, data: str) -> None:
        self.open[-1].text += data

    def _doctype(self, name: str, _system: str | None, _public: str | None, internal: int) -> None:
        if internal:
            raise self._error(f"a document type of one's own ({name}) is not read")

    def _entity(self, name: str, *_: object) -> None:
        raise self._error(f"entities of one's own ({name}) are not read")

    def _error(self, what: str) -> FileFormatError:
        return FileFormatError(what, path=self.path, line=self.parser.CurrentLineNumber)
