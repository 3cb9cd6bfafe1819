"""The rules: every module of `audit.rules` whose name is that of a rule.

To add one: write ``audit/rules/vplNNN_<name>.py`` with a module-level `RULE`, and its cases in
``tests/cases/audit/vplNNN.yaml``. The next free number is one above the highest of rules and `RETIRED`.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Final

from vplacer.audit import rules as package
from vplacer.audit.model import Rule
from vplacer.errors import InternalError, UnknownObjectError, UsageError

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


def chosen_rules(
    select: tuple[str, ...], ignore: tuple[str, ...], given: Collection[str] = ()
) -> tuple[Rule, ...]:
    """Return the rules selected (empty = all that have something to look at) and not ignored, by id.

    Args:
        select, ignore: ids or names.
        given: options that were given, of those that a rule may need.

    Raises:
        UnknownObjectError: one of the words names no rule.
        UsageError: one was selected without the option that it needs.
    """
    selected = [find_rule(word) for word in select]
    for rule in selected:
        if rule.needs and rule.needs not in given:
            raise UsageError(f"{rule.id} {rule.name} has nothing to look at without {rule.needs}")
    wanted = {rule.id for rule in selected} or {r.id for r in all_rules() if not r.needs or r.needs in given}
    unwanted = {find_rule(word).id for word in ignore}
    return tuple(rule for rule in all_rules() if rule.id in wanted - unwanted)
