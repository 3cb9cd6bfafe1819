"""The site as it might be: the section ``what_if`` of a request, or of another file."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from vplacer.errors import UsageError
from vplacer.jobs.fixtures import file_or_fixture
from vplacer.jobs.source import Reading
from vplacer.jobs.world import World

if TYPE_CHECKING:
    from vplacer.constraints.state import Problem
    from vplacer.inventory.vm import Vm
    from vplacer.request.file import RequestFile
    from vplacer.request.what_if.file import WhatIfFile

OF_REQUEST = ""
"""Says that the section is that of the request itself."""


@dataclass(frozen=True)
class Supposed:
    """A reading as it might be; ``changes`` None = it is as it was read."""

    reading: Reading
    changes: tuple[str, ...] | None = None
    displaced: tuple[Vm, ...] = ()


def load_supposition(word: str | None, request: Path | None) -> WhatIfFile | None:
    """Return the section that is meant, None where none is asked for.

    Args:
        word: a file, or `OF_REQUEST`; None = none.
        request: the request file.

    Raises:
        UsageError: the request's section is meant, and there is no request.
        VplacerError: the file cannot be read, has no such section, or the section is wrong.
    """
    from vplacer.request.what_if.file import load_what_if

    if word is None:
        return None
    if word != OF_REQUEST:
        return load_what_if(file_or_fixture("what-if", word))
    if request is None:
        raise UsageError("--what-if without a file means the section of the request", why="there is none")
    return load_what_if(request)


def tell_unused(request: RequestFile, word: str | None, world: World) -> None:
    """Warn of a section that is not looked at, so that nobody takes the answer for one about it."""
    if word is None and "what_if" in request.data:
        world.warn(f"{request.document.path} has a section what_if, which is looked at with --what-if only")


def suppose(reading: Reading, what_if: WhatIfFile | None) -> Supposed:
    """Return what was read as it might be.

    Raises:
        UnknownObjectError, AmbiguousObjectError, FileFormatError: a name fits nothing, or it cannot be.
    """
    if what_if is None:
        return Supposed(reading)
    from vplacer.request.what_if.change import change_site

    site = change_site(what_if, reading.inventory, reading.overlays)
    changed = replace(reading, inventory=site.inventory, overlays=site.overlays)
    return Supposed(changed, site.changes, site.displaced)


def with_displaced_vms(problem: Problem, displaced: tuple[Vm, ...]) -> tuple[Problem, tuple[str, ...]]:
    """Return a problem that asks for a place for displaced VMs too, and the ids of their demands."""
    if not displaced:
        return problem, ()
    from vplacer.constraints.state import Problem
    from vplacer.request.asks import group_sizes
    from vplacer.request.what_if.displaced import as_templates, with_displaced

    sizes = group_sizes(problem.inventory, problem.topologies)
    request, ids = with_displaced(problem.request, problem.inventory, displaced, sizes)
    return Problem(as_templates(problem.inventory, displaced), problem.topologies, request), ids
