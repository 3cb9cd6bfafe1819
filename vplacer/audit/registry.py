"""The rules: every module of `audit.rules` whose name is that of a rule.

To add one: write ``audit/rules/vplNNN_<name>.py`` with a module-level `RULE`, and its cases in
``tests/cases/audit/vplNNN.yaml``. The next free number is one above the highest of rules and `RETIRED`.
"""

from __future__ import annotations

import re
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Final

from vplacer.audit import rules as package
from vplacer.audit.model import Rule
from vplacer.errors import InternalError, UnknownObjectError

RETIRED: Final[tuple[str, ...]] = ()
"""Ids of rules that are gone; none is given again."""

_MODULE = re.compile(r"vpl\d{3}_\w+")


@cache
def all_rules() -> tuple[Rule, ...]:
    """Return all rules, by id.

    Raises:
        InternalError: two rules share an id, or one has an id that was given before.
    """
    names = sorted(item.name for item in iter_modules(package.__path__) if _MODULE.fullmatch(item.name))
    found: dict[str, Rule] = {}
    for name in names:
        rule: Rule = import_module(f"{package.__name__}.{name}").RULE
        if rule.id in found or rule.id in RETIRED or not name.startswith(f"{rule.id.lower()}_"):
            raise InternalError(f"the rule of {name} has the id {rule.id}, which is not its own")
        found[rule.id] = rule
    return tuple(found.values())


def find_rule(word: str) -> Rule:
    """Return the rule of an id or name, in any case of letters.

    Raises:
        UnknownObjectError: there is none.
    """
    wanted = word.strip().lower()
    for rule in all_rules():
        if wanted in (rule.id.lower(), rule.name):
            return rule
    if wanted.upper() in RETIRED:
        raise UnknownObjectError("this rule is gone; its id is not used again", obj=word)
    raise UnknownObjectError("no rule has this id or name", obj=word, hint="vplacer rule lists them")


def chosen_rules(select: tuple[str, ...], ignore: tuple[str, ...]) -> tuple[Rule, ...]:
    """Return the rules selected (empty = all) and not ignored, by id.

    Raises:
        UnknownObjectError: one of the words names no rule.
    """
    wanted = {find_rule(word).id for word in select} or {rule.id for rule in all_rules()}
    unwanted = {find_rule(word).id for word in ignore}
    return tuple(rule for rule in all_rules() if rule.id in wanted - unwanted)
