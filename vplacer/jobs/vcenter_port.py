"""Opens the port to the vCenter that a plan is for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from vplacer.errors import RequestError, UsageError
from vplacer.inventory.overlay import Overlay
from vplacer.jobs.overlays import find_overlays
from vplacer.jobs.source import WORKERS, SourceOptions, login_of
from vplacer.jobs.world import World

if TYPE_CHECKING:
    from vplacer.plan.model import Source
    from vplacer.port import Port


@dataclass(frozen=True, slots=True)
class Reached:
    """A vCenter that answers, and the overlays that go with it."""

    port: Port
    overlays: tuple[Overlay, ...]


@contextmanager
def reached(
    options: SourceOptions,
    world: World,
    source: Source,
    *,
    made: str = "the plan was made",
    again: str = "plan for this one",
) -> Iterator[Reached]:
    """Log in to the vCenter of a plan, and out at the end of the block.

    Args:
        options: how the vCenter is reached.
        world: the outside.
        source: what the plan was made from.
        made: what was done for that vCenter.
        again: what to do instead for the one that answers.

    Raises:
        UsageError: no vCenter was named.
        RequestError: another vCenter answers than the one that the plan was made for.
        VSphereError: it cannot be reached, or does not let us in.
    """
    from vplacer.vsphere.session import Session
    from vplacer.vsphere.writer import VCenterPort

    if options.vcenter is None:
        raise UsageError("no vCenter was named", hint="give --vcenter HOST")
    login = options.login or login_of(options.vcenter, options, world)
    with Session.connect(login.connect, login.credentials) as session:
        _demand_same(source, options.vcenter, session.about.instance_uuid, made=made, again=again)
        overlays = find_overlays(options.overlays, (), None, world.environ, source.instance_uuid)
        yield Reached(VCenterPort(session, workers=WORKERS), overlays.items)


def _demand_same(source: Source, address: str, uuid: str, *, made: str, again: str) -> None:
    """Refuse another vCenter than the one that something was planned for.

    Args:
        source: what it was planned from.
        address: the vCenter that answers, as the user named it.
        uuid: its instance UUID; "" = not told.
        made: what was done for the other one ("the plan was made").
        again: what to do for this one.

    Raises:
        RequestError: it is another.
    """
    if source.instance_uuid != uuid:
        raise RequestError(
            f"this is not the vCenter that {made} for; nothing was changed",
            obj=address,
            why=f"its instance UUID is {uuid or 'not told'}, the plan is for {source.vcenter} "
            f"({source.instance_uuid})",
            hint=f"connect to that vCenter, or {again}",
        )
