"""Where new and moved VMs go: the folder of a path, the root pool of a host."""

from __future__ import annotations

from vplacer.errors import InventoryIncomplete
from vplacer.vsphere.existing import read_existing
from vplacer.vsphere.raw import Data, MoRef, RawReader
from vplacer.vsphere.session import Session

_MAX_DEPTH = 64


class Places:
    """Looks places up afresh.

    Args:
        reader: the vCenter.
        session: the same.
    """

    def __init__(self, reader: RawReader, session: Session) -> None:
        self._reader = reader
        self._session = session

    def folder(self, vm: MoRef, path: str) -> MoRef:
        """Return the folder of a path such as ``vm/team``, below the datacenter that a VM is in.

        Raises:
            InventoryIncomplete: there is none, or the account cannot see it.
        """
        above, datacenter = self._above(vm)
        if above and "/".join(name for _, name in reversed(above)) == path:
            return above[0][0]
        index = self._session.service("searchIndex")
        current: MoRef | None = datacenter
        for name in path.split("/"):
            if current is None or index is None:
                break
            current = self._reader.call(index, "FindChild", {"entity": current, "name": name})
        if current is None or current.type != "Folder":
            raise InventoryIncomplete(
                f"the folder {path} is not there",
                obj=self._session.host,
                why="it is gone, or the account cannot see it",
                hint="make the folder again, or plan again",
            )
        return current

    def root_pool(self, host: MoRef) -> MoRef:
        """Return the root resource pool of a host's cluster, or of a host outside clusters.

        Raises:
            InventoryIncomplete: the account cannot see it.
        """
        unit = self._unit(host)
        props = self._props(unit, ["resourcePool"]) if unit is not None else None
        pool = props.ref("resourcePool") if props is not None else None
        if pool is None:
            raise InventoryIncomplete(
                "the resource pool of the host is not visible",
                obj=host.moid,
                hint="give the account System.View on its cluster, propagated to children",
            )
        return pool

    def same_unit(self, first: MoRef, second: MoRef) -> bool:
        """Whether two hosts are in one cluster: a pool of the one is then the other's too."""
        unit = self._unit(first)
        return unit is not None and unit == self._unit(second)

    def _above(self, vm: MoRef) -> tuple[list[tuple[MoRef, str]], MoRef | None]:
        """Return the folders above a VM, nearest first, with their names, and its datacenter."""
        found: list[tuple[MoRef, str]] = []
        props = self._props(vm, ["parent"])
        current = props.ref("parent") if props is not None else None
        for _ in range(_MAX_DEPTH):
            if current is None or current.type == "Datacenter":
                return found, current
            props = self._props(current, ["name", "parent"])
            if props is None:
                break
            # A slash inside a name would read as a step.
            found.append((current, (props.text("name") or "").replace("/", "%2f")))
            current = props.ref("parent")
        return found, None

    def _unit(self, host: MoRef) -> MoRef | None:
        props = self._props(host, ["parent"])
        return props.ref("parent") if props is not None else None

    def _props(self, ref: MoRef, paths: list[str]) -> Data | None:
        found = read_existing(self._reader, [ref], paths)
        return found[0].props if found else None
