"""Keeps what was measured, a file a benchmark, so that a part can be renewed without the rest."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import yaml

FOLDER: Final = Path(__file__).resolve().parent / "results"
CAUSES: Final = Path(__file__).resolve().parent / "causes.yaml"
_TESTS: Final = "long-tests"


def keep(name: str, item: Mapping[str, Any], *, part: bool) -> None:
    """Write down what a benchmark found; ``part``: only some of its rows, the others stay."""
    before = _read(name)
    if part and before is not None:
        made = {**before["made"], "made by": _both(before["made"]["made by"], item["made"]["made by"])}
        item = {"made": made, "result": merged(before["result"], item["result"])}
    _store(name, item)


def merged(before: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """Return a result with the rows, goals and checks of another in the place of its own of that name."""
    tables = {table["title"]: table for table in before["tables"]}
    for table in new["tables"]:
        old = tables.get(table["title"], {**table, "rows": []})
        tables[table["title"]] = {**table, "rows": _by_name(old["rows"], table["rows"], _first_cell)}
    return {
        **new,
        "tables": list(tables.values()),
        "goals": _by_name(before["goals"], new["goals"], lambda goal: str(goal["what"])),
        "checks": _by_name(before["checks"], new["checks"], lambda check: str(check["what"])),
    }


def kept(names: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Return what is kept of some benchmarks, in their order."""
    found = {name: _read(name) for name in names}
    return {name: item for name, item in found.items() if item is not None}


def keep_tests(told: Sequence[tuple[str, str]]) -> None:
    """Write down what the long tests said, in place of what those of the same name said before."""
    if told:
        rows = {name.partition(" (")[0]: (name, text) for name, text in (*tests(), *told)}
        _store(_TESTS, {"rows": list(rows.values())})


def tests() -> list[tuple[str, str]]:
    """Return what the long tests said."""
    item = _read(_TESTS)
    return [] if item is None else [(name, text) for name, text in item["rows"]]


def causes() -> dict[str, str]:
    """Return why goals are missed, by goal or by the start of its name."""
    found = yaml.safe_load(CAUSES.read_text(encoding="utf-8")) if CAUSES.is_file() else None
    return {str(goal): str(cause) for goal, cause in (found or {}).items()}


def _by_name(before: Sequence[Any], new: Sequence[Any], name_of: Any) -> list[Any]:
    rows = {name_of(row): row for row in before}
    return list((rows | {name_of(row): row for row in new}).values())


def _first_cell(row: Mapping[str, Any]) -> str:
    return str(next(iter(row.values())))


def _both(before: str, new: str) -> str:
    return before if new in before else f"{before}, then {new}"


def _read(name: str) -> dict[str, Any] | None:
    path = FOLDER / f"{name}.json"
    if not path.is_file():
        return None
    item: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return item


def _store(name: str, item: Mapping[str, Any]) -> None:
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / f"{name}.json").write_text(json.dumps(item, indent=1) + "\n", encoding="utf-8")
