"""Parses PowerShell without PowerShell."""

from __future__ import annotations

from collections.abc import Iterator

import tree_sitter
import tree_sitter_powershell


def tree(text: str) -> tree_sitter.Node:
    language = tree_sitter.Language(tree_sitter_powershell.language())
    return tree_sitter.Parser(language).parse(text.encode()).root_node


def powershell_errors(text: str) -> list[str]:
    """Return what does not parse, each with its line."""
    return [f"line {node.start_point[0] + 1}: {node.text!r}" for node in _errors(tree(text))]


def _errors(node: tree_sitter.Node) -> Iterator[tree_sitter.Node]:
    if node.type == "ERROR" or node.is_missing:
        yield node
    elif node.has_error:
        for child in node.children:
            yield from _errors(child)


def strings(text: str) -> list[str]:
    """Return the single-quoted strings of a script as PowerShell reads them."""
    found = []
    todo = [tree(text)]
    while todo:
        node = todo.pop()
        if node.type == "verbatim_string_characters":
            found.append((node.text or b"").decode()[1:-1].replace("''", "'"))
        todo += node.children
    return found
