"""Where objects live: folders, datacenters and compute resources above them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from vplacer.vsphere.raw import MoRef, RawObject
from vplacer.vsphere.read_names import shown_name

_MAX_DEPTH = 64


@dataclass(frozen=True, slots=True)
class _Place:
    ref: MoRef
    name: str
    parent: str | None


class Tree:
    """Look-ups over the containers that were read. What is not visible to the account is not there."""

    def __init__(self, containers: Iterable[RawObject]) -> None:
        self._places: Mapping[str, _Place] = {
            raw.ref.moid: _Place(
                raw.ref,
                shown_name(raw.props.text("name")),
                parent.moid if (parent := raw.props.ref("parent")) else None,
            )
            for raw in containers
        }

    def datacenter_of(self, moid: str | None) -> str | None:
        """Return the datacenter that a container is or is in, or None."""
        for place in self._up(moid):
            if place.ref.type == "Datacenter":
                return place.ref.moid
        return None

    def folder_path(self, moid: str | None) -> str:
        """Return the path of a folder below its datacenter, such as ``vm/team``; "" where it is unknown."""
        names = []
        for place in self._up(moid):
            if place.ref.type == "Datacenter":
                break
            # A slash inside a name would read as a step.
            names.append(place.name.replace("/", "%2f"))
        return "/".join(reversed(names))

    def name_of(self, moid: str) -> str:
        """Return a container's name; its moid where it is not visible."""
        place = self._places.get(moid)
        return place.name if place else moid

    def _up(self, moid: str | None) -> Iterable[_Place]:
        for _ in range(_MAX_DEPTH):
            place = self._places.get(moid) if moid is not None else None
            if place is None:
                return
            yield place
            moid = place.parent
