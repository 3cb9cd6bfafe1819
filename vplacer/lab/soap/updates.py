"""WaitForUpdates(Ex) and CheckForUpdates: filters, differences, waiting."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

from pyVmomi import vim, vmodl

from vplacer.lab.soap.containers import CONTAINER_PROPERTIES
from vplacer.lab.soap.fragments import Fragment, Fragments
from vplacer.lab.soap.paths import top_property
from vplacer.lab.soap.retrieval import Retrieval
from vplacer.lab.soap.selection import select, structural_properties, wanted_paths
from vplacer.lab.soap.sessions import Session
from vplacer.lab.soap.store import Computed, Entry, Store
from vplacer.lab.soap.wire import serialize, typetable
from vplacer.lab.soap.wire.serialize import Xml
from vplacer.lab.soap.wire.typetable import Ref

_MAX_WAKE_S = 30.0
_EMPTY = Fragment(0, "")


@dataclass(slots=True)
class Reported:
    """What a client was told of an object."""

    ref: Ref
    values: dict[str, Fragment]


@dataclass(frozen=True, slots=True)
class Update:
    """One ObjectUpdate, ready to send, and the filter it belongs to."""

    filter: Ref
    xml: str


class Filter(Entry):
    """A PropertyFilter: its spec, and what its client knows."""

    __slots__ = ("collector", "known", "revision", "spec", "structure", "whole")

    def __init__(self, ref: Ref, collector: Collector, spec: Any, partial: bool) -> None:
        super().__init__(ref, {"spec": spec, "partialUpdates": partial})
        self.collector = collector
        self.spec = spec
        structure = structural_properties(spec)
        self.structure = structure | CONTAINER_PROPERTIES if "view" in structure else structure
        self.reset()

    def reset(self) -> None:
        """Forget what the client knows."""
        self.known: dict[str, Reported] = {}
        self.revision: int | None = None
        # Computed values leave no trace in the log, so a filter that watches one looks at everything.
        self.whole = False


class Collector(Entry):
    """A PropertyCollector of a session."""

    __slots__ = ("filters", "pending", "version", "waits")

    def __init__(self, ref: Ref) -> None:
        self.filters: dict[str, Filter] = {}
        super().__init__(ref, {"filter": Computed(self._filter_refs)})
        self.version = 0
        self.pending: list[Update] = []
        self.waits = 0
        """Counts waits and cancellations: a wait that is no longer the newest must stop."""

    def _filter_refs(self) -> typetable.Value:
        kind = vmodl.query.PropertyCollector.Filter
        return typetable.array_of(kind, [f.ref for f in self.filters.values()])


@dataclass(slots=True)
class Updates:
    """Finds differences and waits for them. ``stopping`` ends all waits."""

    store: Store
    retrieval: Retrieval
    fragments: Fragments
    stopping: bool = field(default=False)

    def create_filter(
        self, session: Session, collector: Collector, spec: Any, partial: bool, version: str
    ) -> Ref:
        """Add a filter; bad paths and unknown start objects are refused now.

        Raises:
            vmodl.query.InvalidProperty: a path does not exist.
            vmodl.fault.ManagedObjectNotFound: a start object is unknown.
        """
        created = Filter(session.new_ref(vmodl.query.PropertyCollector.Filter), collector, spec, partial)
        with self.store.changed:
            self._evaluate(session, created, version)
            created.reset()
            collector.filters[typetable.moid(created.ref)] = created
            session.objects[typetable.moid(created.ref)] = created
            self.store.changed.notify_all()
        return created.ref

    def destroy_filter(self, session: Session, destroyed: Filter) -> None:
        """Remove a filter."""
        with self.store.changed:
            session.objects.pop(typetable.moid(destroyed.ref), None)
            destroyed.collector.filters.pop(typetable.moid(destroyed.ref), None)

    def cancel(self, collector: Collector) -> None:
        """Make a wait on a collector fail with RequestCanceled."""
        with self.store.changed:
            collector.waits += 1
            self.store.changed.notify_all()

    def stop(self) -> None:
        """End all waits: the server closes."""
        with self.store.changed:
            self.stopping = True
            self.store.changed.notify_all()

    def wait(
        self,
        session: Session,
        collector: Collector,
        version: str,
        since: str | None,
        max_wait_s: int | None,
        max_updates: int | None,
    ) -> Xml | None:
        """Answer with what changed since a version, waiting for it; None when the time is over.

        Raises:
            vmodl.query.InvalidCollectorVersion: `since` is not the last version sent.
            vmodl.fault.RequestCanceled: cancelled, overtaken by a newer wait, or the server stops.
            vim.fault.NotAuthenticated: the session ended meanwhile.
        """
        for name, number in (("maxWaitSeconds", max_wait_s), ("maxObjectUpdates", max_updates)):
            if number is not None and number < (1 if name == "maxObjectUpdates" else 0):
                raise vmodl.fault.InvalidArgument(invalidProperty=name)
        deadline = None if max_wait_s is None else time.monotonic() + max_wait_s
        with self.store.changed:
            if since and since != str(collector.version):
                raise vmodl.query.InvalidCollectorVersion(msg="The version is not the last one sent")
            if not since:
                collector.pending = []
                for filter_ in collector.filters.values():
                    filter_.reset()
            collector.waits += 1
            ticket = collector.waits
            while True:
                self._stop_if_over(session, collector, ticket)
                if not collector.pending:
                    collector.pending = self._differences(session, collector, version)
                if collector.pending:
                    return self._answer(collector, max_updates)
                left = _MAX_WAKE_S if deadline is None else deadline - time.monotonic()
                if left <= 0:
                    return None
                self.store.changed.wait(min(left, _MAX_WAKE_S))

    def _stop_if_over(self, session: Session, collector: Collector, ticket: int) -> None:
        if session.ended:
            raise vim.fault.NotAuthenticated(
                object=collector.ref, privilegeId="System.View", msg="The session is not authenticated."
            )
        if self.stopping or collector.waits != ticket:
            raise vmodl.fault.RequestCanceled(msg="The request was canceled.")

    def _answer(self, collector: Collector, max_updates: int | None) -> Xml:
        count = max_updates or len(collector.pending)
        sent, collector.pending = collector.pending[:count], collector.pending[count:]
        collector.version += 1
        sets: dict[Ref, list[str]] = {}
        for update in sent:
            sets.setdefault(update.filter, []).append(update.xml)
        body = "".join(
            f"<filterSet>{serialize.reference('filter', ref)}{''.join(updates)}</filterSet>"
            for ref, updates in sets.items()
        )
        more = "<truncated>true</truncated>" if collector.pending else ""
        return Xml(f"<returnval><version>{collector.version}</version>{body}{more}</returnval>")

    def _differences(self, session: Session, collector: Collector, version: str) -> list[Update]:
        found: list[Update] = []
        for filter_ in collector.filters.values():
            touched = self._touched(filter_)
            if touched is None:
                found.extend(self._evaluate(session, filter_, version))
            else:
                found.extend(self._evaluate_touched(session, filter_, touched, version))
            filter_.revision = self.store.revision
        return found

    def _touched(self, filter_: Filter) -> dict[str, set[str]] | None:
        """Objects and properties that changed since the filter was last looked at; None = look at all."""
        if filter_.revision is None or filter_.whole:
            return None
        changes = self.store.changes_since(filter_.revision)
        if changes is None or any(c.name is None or c.name in filter_.structure for c in changes):
            return None
        touched: dict[str, set[str]] = {}
        for change in changes:
            if change.name is not None and change.moid in filter_.known:
                touched.setdefault(change.moid, set()).add(change.name)
        return touched

    def _evaluate(self, session: Session, filter_: Filter, version: str) -> list[Update]:
        """Compare everything a filter selects with what its client knows."""
        updates: list[Update] = []
        known: dict[str, Reported] = {}
        for entry in select(self.retrieval.find(session), filter_.spec, version):
            paths = wanted_paths(filter_.spec, entry, version)
            if paths is None:
                continue
            values = {path: self.fragments.get(session, entry, path, version) for path in paths}
            filter_.whole = filter_.whole or any(entry.is_computed(top_property(p)) for p in paths)
            known[typetable.moid(entry.ref)] = Reported(entry.ref, values)
            before = filter_.known.get(typetable.moid(entry.ref))
            if before is None:
                updates.append(Update(filter_.ref, _object_update("enter", entry.ref, values)))
            elif changed := _changed(before.values, values):
                updates.append(Update(filter_.ref, _object_update("modify", entry.ref, changed)))
        for moid, reported in filter_.known.items():
            if moid not in known:
                updates.append(Update(filter_.ref, _object_update("leave", reported.ref, {})))
        filter_.known = known
        return updates

    def _evaluate_touched(
        self, session: Session, filter_: Filter, touched: dict[str, set[str]], version: str
    ) -> list[Update]:
        updates: list[Update] = []
        for moid, names in touched.items():
            reported = filter_.known[moid]
            entry = self.store.require(reported.ref)
            values = {
                path: self.fragments.get(session, entry, path, version)
                for path in reported.values
                if top_property(path) in names
            }
            changed = _changed(reported.values, values)
            reported.values.update(values)
            if changed:
                updates.append(Update(filter_.ref, _object_update("modify", entry.ref, changed)))
        return updates


def _changed(before: dict[str, Fragment], now: dict[str, Fragment]) -> dict[str, Fragment]:
    return {path: value for path, value in now.items() if not value.same_as(before.get(path, _EMPTY))}


def _object_update(kind: str, ref: Ref, values: dict[str, Fragment]) -> str:
    changes, missing = [], []
    for path, value in values.items():
        name = serialize.escape(path)
        if value.missing:
            missing.append(f"<missingSet><path>{name}</path>{value.missing}</missingSet>")
        elif value.xml:
            changes.append(f"<changeSet><name>{name}</name><op>assign</op>{value.xml}</changeSet>")
        elif kind == "modify":
            # Became unset: an assignment without a value.
            changes.append(f"<changeSet><name>{name}</name><op>assign</op></changeSet>")
    head = f"<kind>{kind}</kind>{serialize.reference('obj', ref)}"
    return f"<objectSet>{head}{''.join(changes)}{''.join(missing)}</objectSet>"
