"""Checks a loaded file against a JSON Schema; every fault is named with its line, in plain words."""

from __future__ import annotations

import difflib
from typing import Any, Final

from vplacer.errors import FileFormatError
from vplacer.inventory.yaml_marks import Document, Pointer, pointer_text

_MAX_SHOWN: Final = 50


def validate(document: Document, schema: dict[str, Any]) -> None:
    """Check a document against a JSON Schema (draft 2020-12).

    Raises:
        FileFormatError: it does not validate. The error stands at the first fault; its text lists all,
            one a line, each with file, line and pointer.
    """
    faults = schema_faults(document, schema)
    if faults:
        raise faults_error(document.path, faults)


def schema_faults(document: Document, schema: dict[str, Any]) -> list[tuple[int, int, str, str]]:
    """Return what a JSON Schema refuses, as (line, column, pointer, message) in the order of the file."""
    from jsonschema import Draft202012Validator

    faults: set[tuple[int, int, str, str]] = set()
    for found in Draft202012Validator(schema).iter_errors(document.data):
        for pointer, message in _explain(found):
            mark = document.mark(pointer)
            place = (mark.line, mark.column) if mark else (0, 0)
            faults.add((*place, pointer_text(pointer), message))
    return sorted(faults)


def faults_error(path: str, faults: list[tuple[int, int, str, str]]) -> FileFormatError:
    """Return one error for faults given as (line, column, pointer, message), in that order."""
    line, column, pointer, message = faults[0]
    rest = [
        f"{path}:{other_line}:{other_column}: {f'{other}: ' if other else ''}{text}"
        for other_line, other_column, other, text in faults[1:_MAX_SHOWN]
    ]
    if len(faults) > _MAX_SHOWN:
        rest.append(f"and {len(faults) - _MAX_SHOWN} more")
    return FileFormatError(
        "\n".join([message, *rest]),
        path=path,
        line=line or None,
        column=column or None,
        pointer=pointer or None,
    )


def _explain(error: Any) -> list[tuple[Pointer, str]]:
    """Return a schema error as pointers and sentences a person can act on."""
    pointer: Pointer = tuple(error.absolute_path)
    if error.validator == "additionalProperties" and isinstance(error.instance, dict):
        return _unknown_keys(error, pointer)
    if error.validator == "required":
        missing = [key for key in error.validator_value if key not in error.instance]
        return [(pointer, f"the key '{key}' is missing") for key in missing]
    if error.validator in ("anyOf", "oneOf"):
        return _explain_choice(error, pointer)
    shown = _shown(error.instance)
    if error.validator == "type":
        return [(pointer, f"{shown} is not {_type_words(error.validator_value)}")]
    if error.validator == "enum":
        words = [str(choice) for choice in error.validator_value]
        return [
            (pointer, f"{shown} is none of {', '.join(words)}{_did_you_mean(str(error.instance), words)}")
        ]
    if error.validator == "pattern":
        expected = error.schema.get("title") or f"text of the form {error.validator_value}"
        return [(pointer, f"{shown} is not {expected}")]
    if error.validator in ("minimum", "maximum"):
        word = "less" if error.validator == "minimum" else "more"
        return [(pointer, f"{shown} is {word} than {error.validator_value}")]
    if error.validator in ("minItems", "minProperties", "minLength"):
        return [(pointer, "this must not be empty" if error.validator_value == 1 else error.message)]
    if error.validator == "not":
        return [(pointer, error.schema.get("title") or error.message)]
    return [(pointer, error.message)]


def _unknown_keys(error: Any, pointer: Pointer) -> list[tuple[Pointer, str]]:
    known = list(error.schema.get("properties", {}))
    return [
        ((*pointer, key), f"unknown key '{key}'{_did_you_mean(key, known)}")
        for key in error.instance
        if key not in known
    ]


def _explain_choice(error: Any, pointer: Pointer) -> list[tuple[Pointer, str]]:
    """Of several allowed shapes, speak of the one whose type the value has."""
    branches: dict[int, list[Any]] = {}
    for sub in error.context or []:
        branches.setdefault(int(sub.schema_path[0]), []).append(sub)
    fitting = [
        subs for subs in branches.values() if not any(s.validator == "type" and not s.path for s in subs)
    ]
    title = error.schema.get("title")
    if len(fitting) == 1:
        return [item for sub in fitting[0] for item in _explain(sub)]
    if title is not None:
        return [(pointer, f"{_shown(error.instance)} is not {title}")]
    return [(pointer, f"{_shown(error.instance)} fits none of the allowed forms")]


def _did_you_mean(word: str, known: list[str]) -> str:
    close = difflib.get_close_matches(word, known, n=1)
    return f" (did you mean '{close[0]}'?)" if close else ""


def _type_words(types: str | list[str]) -> str:
    words = {
        "string": "text",
        "integer": "a whole number",
        "number": "a number",
        "boolean": "true or false",
        "array": "a list",
        "object": "a mapping",
        "null": "empty",
    }
    names = [types] if isinstance(types, str) else types
    return " or ".join(words.get(name, name) for name in names)


def _shown(value: Any) -> str:
    if isinstance(value, str):
        return f"'{value[:60]}'"
    if value is None:
        return "an empty value"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)
    return "a list" if isinstance(value, list) else "a mapping"
