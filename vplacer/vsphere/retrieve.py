"""Reading many objects: one view per type, explicit property paths, pages; nothing lost in silence.

A page's ``missingSet`` is data ("this host's config: NoPermission"), not an exception. Two of its
faults are not: NotAuthenticated means that the session has ended (the call itself succeeds, with every
property missing), and InvalidProperty that the server does not know the path, which real servers say
with a fault of the whole method instead.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from vplacer.errors import InternalError
from vplacer.inventory.moids import moid_order
from vplacer.vsphere import faults
from vplacer.vsphere.parse import SoapFault
from vplacer.vsphere.raw import Data, Missing, MoRef, Progress, RawAnswer, RawObject, Value
from vplacer.vsphere.session import Session, SessionEnded
from vplacer.vsphere.soap import managed_object, type_named

PAGE_SIZE = 100


class SessionReader:
    """Reads through a session. It is a `RawReader`.

    Args:
        session: the session.
        progress: called after every page.
        page_size: objects asked for at a time; a server may send fewer.
    """

    def __init__(
        self, session: Session, *, progress: Progress | None = None, page_size: int = PAGE_SIZE
    ) -> None:
        self._session = session
        self._progress = progress
        self._page_size = page_size

    def retrieve(self, kind: str, paths: Sequence[str]) -> RawAnswer:
        """Read the paths of every object of a type in the inventory.

        Args:
            kind: API type name ("HostSystem").
            paths: property paths, leaves rather than whole trees.

        Raises:
            VSphereError: any failure; SessionLost if the session ends twice.
        """
        return self._without_unknown_paths(
            kind, paths, lambda asked: self._session.run(lambda: self._read_view(kind, asked))
        )

    def properties(self, refs: Sequence[MoRef], paths: Sequence[str]) -> RawAnswer:
        """Read the paths of the given objects, which are all of one type; see `retrieve`."""
        if not refs:
            return RawAnswer()
        kind = refs[0].type
        selected = [_query_type("ObjectSpec")(obj=managed_object(ref), skip=False) for ref in refs]
        return self._without_unknown_paths(
            kind,
            paths,
            lambda asked: self._session.run(lambda: self._read(kind, asked, selected)),
        )

    def call(self, ref: MoRef, method: str, arguments: Mapping[str, object] | None = None) -> Value:
        """Invoke a method that only reads."""
        return self._session.call(ref, method, arguments)

    def _without_unknown_paths(
        self, kind: str, paths: Sequence[str], read: Callable[[Sequence[str]], RawAnswer]
    ) -> RawAnswer:
        """Read; a path that the server refuses the whole call for is dropped, kept count of, and left out."""
        asked = list(paths)
        dropped: list[str] = []
        while True:
            try:
                answer = read(asked)
            except _PathUnknown as unknown:
                refused = _refused_path(unknown.path, asked)
                if refused is None:
                    raise faults.to_error(
                        unknown.fault.fault,
                        unknown.fault.message,
                        what=f"cannot read objects of type {kind}",
                        obj=self._session.host,
                    ) from None
                asked.remove(refused)
                dropped.append(refused)
                continue
            return RawAnswer(answer.objects, answer.missing, tuple(sorted({*dropped, *answer.unknown_paths})))

    def _read_view(self, kind: str, paths: Sequence[str]) -> RawAnswer:
        with self._view(kind) as view:
            traversal = _query_type("TraversalSpec")(
                name="view", path="view", skip=False, type=type_named("ContainerView")
            )
            selected = _query_type("ObjectSpec")(obj=managed_object(view), skip=True, selectSet=[traversal])
            return self._read(kind, paths, [selected])

    @contextlib.contextmanager
    def _view(self, kind: str) -> Iterator[MoRef]:
        session = self._session
        manager = session.service("viewManager")
        root = session.service("rootFolder")
        if manager is None or root is None:
            raise InternalError("the service content names no view manager or root folder", obj=session.host)
        view = session.call_once(
            manager,
            "CreateContainerView",
            {"container": root, "type": [type_named(kind)], "recursive": True},
            what=f"cannot list objects of type {kind}",
        )
        try:
            yield view
        finally:
            session.drop(view, "DestroyView")

    def _read(self, kind: str, paths: Sequence[str], selected: list[Any]) -> RawAnswer:
        session = self._session
        collector = session.service("propertyCollector")
        if collector is None:
            raise InternalError("the service content names no property collector", obj=session.host)
        wanted = _query_type("PropertySpec")(type=type_named(kind), all=False, pathSet=list(paths))
        spec = _query_type("FilterSpec")(objectSet=selected, propSet=[wanted])
        options = _query_type("RetrieveOptions")(maxObjects=self._page_size)
        builder = _AnswerBuilder()
        page = self._page(collector, "RetrievePropertiesEx", {"specSet": [spec], "options": options}, kind)
        while page is not None:
            builder.add(page)
            if self._progress is not None:
                self._progress(kind, len(builder.objects), None)
            token = page.text("token")
            if not token:
                break
            page = self._page(collector, "ContinueRetrievePropertiesEx", {"token": token}, kind)
        return builder.answer()

    def _page(self, collector: MoRef, method: str, arguments: Mapping[str, object], kind: str) -> Data | None:
        try:
            page: Data | None = self._session.call_raw(collector, method, arguments)
        except SoapFault as fault:
            if faults.is_session_end(fault.fault):
                raise SessionEnded from None
            path = fault.fault.text("name")
            if fault.fault.is_a("InvalidProperty") and path:
                raise _PathUnknown(path, fault) from None
            raise faults.to_error(
                fault.fault,
                fault.message,
                what=f"cannot read objects of type {kind}",
                obj=self._session.host,
            ) from None
        return page


class _PathUnknown(Exception):
    def __init__(self, path: str, fault: SoapFault) -> None:
        self.path = path
        self.fault = fault
        super().__init__(path)


def _refused_path(name: str, asked: Sequence[str]) -> str | None:
    """Return which path an InvalidProperty fault means; it names the path or only its last part."""
    if name in asked:
        return name
    return next((path for path in asked if path.endswith(f".{name}")), None)


class _AnswerBuilder:
    """Gathers pages into one answer. A server may send one object in several pieces."""

    def __init__(self) -> None:
        self.objects: dict[MoRef, Data] = {}
        self._missing: list[Missing] = []
        self._unknown: set[str] = set()

    def add(self, page: Data) -> None:
        for content in page.items("objects"):
            ref = content.ref("obj")
            if ref is None:
                continue
            props = self.objects.setdefault(ref, Data(ref.type, (ref.type,), {}))
            for prop in content.items("propSet"):
                props.fields[prop.text("name") or ""] = prop.get("val")
            for entry in content.items("missingSet"):
                self._add_missing(ref, entry)

    def _add_missing(self, ref: MoRef, entry: Data) -> None:
        path = entry.text("path") or ""
        envelope = entry.data("fault")
        fault = faults.inner_fault(envelope) if envelope else Data("MethodFault", ("MethodFault",), {})
        if faults.is_session_end(fault):
            raise SessionEnded
        if fault.is_a("InvalidProperty"):
            self._unknown.add(path)
        else:
            self._missing.append(Missing(ref, path, fault))

    def answer(self) -> RawAnswer:
        objects = tuple(
            RawObject(ref, self.objects[ref])
            for ref in sorted(self.objects, key=lambda ref: moid_order(ref.moid))
        )
        missing = tuple(sorted(self._missing, key=lambda entry: (moid_order(entry.ref.moid), entry.path)))
        return RawAnswer(objects, missing, tuple(sorted(self._unknown)))


def _query_type(name: str) -> Any:
    from pyVmomi import vmodl

    return getattr(vmodl.query.PropertyCollector, name)
