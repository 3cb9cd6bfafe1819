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
    from vplacer.plan.model import Plan
    from vplacer.port import Port


@dataclass(frozen=True, slots=True)
class Reached:
    """A vCenter that answers, and the overlays that go with it."""

    port: Port
    overlays: tuple[Overlay, ...]


@contextmanager
def reached(options: SourceOptions, world: World, plan: Plan) -> Iterator[Reached]:
    """Log in to the vCenter of a plan, and out at the end of the block.

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
        _demand_same(plan, options.vcenter, session.about.instance_uuid)
        uuid = plan.source.instance_uuid
        overlays = find_overlays(options.overlays, (), None, world.environ, uuid)
        yield Reached(VCenterPort(session, workers=WORKERS), overlays.items)


def _demand_same(plan: Plan, address: str, uuid: str) -> None:
    if plan.source.instance_uuid != uuid:
        raise RequestError(
            "this is not the vCenter that the plan was made for; nothing was changed",
            obj=address,
            why=f"its instance UUID is {uuid or 'not told'}, the plan is for {plan.source.vcenter} "
            f"({plan.source.instance_uuid})",
            hint="connect to that vCenter, or plan for this one",
        )
