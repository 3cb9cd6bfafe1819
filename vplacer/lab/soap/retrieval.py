"""RetrieveProperties(Ex): read the selected objects, in pages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pyVmomi import vmodl

from vplacer.lab.soap.fragments import Fragments, refused
from vplacer.lab.soap.selection import Find, select, wanted_paths
from vplacer.lab.soap.sessions import Session
from vplacer.lab.soap.store import Entry, Store
from vplacer.lab.soap.wire import serialize, typetable
from vplacer.lab.soap.wire.serialize import Xml


@dataclass(frozen=True, slots=True)
class Wanted:
    """An object and the paths to read of it."""

    entry: Entry
    paths: list[str]


@dataclass(frozen=True, slots=True)
class Page:
    """What a token stands for: the objects still to be sent, and how many at a time."""

    rest: list[Wanted]
    size: int


class Retrieval:
    """Answers the reading methods of a PropertyCollector.

    Args:
        store: the site.
        fragments: makes the values.
        page_size: objects in a page at most, whatever the client asks; None = the client decides. Real
            servers may send fewer than asked for.
    """

    def __init__(self, store: Store, fragments: Fragments, page_size: int | None = None) -> None:
        self._store = store
        self._fragments = fragments
        self._page_size = page_size

    def find(self, session: Session) -> Find:
        """Return the look-up of objects as a session sees them: its own first."""

        def look_up(ref: typetable.Ref) -> Entry | None:
            own = session.objects.get(typetable.moid(ref))
            return own if own is not None and isinstance(own.ref, type(ref)) else self._store.find(ref)

        return look_up

    def all(self, session: Session, specs: list[Any], version: str) -> Xml:
        """Answer RetrieveProperties: everything at once."""
        return Xml(
            "".join(
                f"<returnval>{self._content(session, wanted, version)}</returnval>"
                for wanted in self._select(session, specs, version)
            )
        )

    def first_page(self, session: Session, specs: list[Any], limit: int | None, version: str) -> Xml | None:
        """Answer RetrievePropertiesEx; None when nothing is selected."""
        if limit is not None and limit < 0:
            raise vmodl.fault.InvalidArgument(invalidProperty="maxObjects")
        sizes = [size for size in (limit, self._page_size) if size]
        wanted = self._select(session, specs, version)
        return self._page(session, wanted, min(sizes) if sizes else max(len(wanted), 1), version)

    def next_page(self, session: Session, token: str, version: str) -> Xml | None:
        """Answer ContinueRetrievePropertiesEx. A token can be used once."""
        page = self.drop_page(session, token)
        live = [w for w in page.rest if self.find(session)(w.entry.ref) is w.entry]
        return self._page(session, live, page.size, version)

    def drop_page(self, session: Session, token: str) -> Page:
        """Forget a token.

        Raises:
            vmodl.query.InvalidProperty: the token is unknown or used (the fault the API declares).
        """
        page = session.pages.pop(token, None)
        if not isinstance(page, Page):
            raise vmodl.query.InvalidProperty(name="token", msg="The token is not valid")
        return page

    def one(self, session: Session, ref: typetable.Ref, name: str, version: str) -> Xml | None:
        """Answer Fetch: one top-level property, under its declared type."""
        entry = self.find(session)(ref) or self._store.require(ref)
        info = typetable.property_info(type(ref), name)
        if info is None or not typetable.is_version(version, info.version):
            raise vmodl.query.InvalidProperty(name=name, msg=f"The property '{name}' is not valid")
        refusal = refused(session, entry, name)
        if refusal is not None:
            raise refusal
        fragment = self._fragments.get(session, entry, name, version)
        if fragment.missing:
            barred = entry.withheld_fault(name)
            if barred is not None:
                raise barred
            with self._store.changed:
                entry.get(name)  # raises what withholds it
        return Xml(_rename(fragment.xml)) if fragment.xml else None

    def _select(self, session: Session, specs: list[Any], version: str) -> list[Wanted]:
        found: list[Wanted] = []
        with self._store.changed:
            for spec in specs:
                for entry in select(self.find(session), spec, version):
                    paths = wanted_paths(spec, entry, version)
                    if paths is not None:
                        found.append(Wanted(entry, paths))
        return found

    def _page(self, session: Session, wanted: list[Wanted], size: int, version: str) -> Xml | None:
        if not wanted:
            return None
        parts = []
        rest = wanted[size:]
        if rest:
            token = session.new_id()
            session.pages[token] = Page(rest, size)
            parts.append(f"<token>{token}</token>")
        parts.extend(f"<objects>{self._content(session, w, version)}</objects>" for w in wanted[:size])
        return Xml(f"<returnval>{''.join(parts)}</returnval>")

    def _content(self, session: Session, wanted: Wanted, version: str) -> str:
        present, missing = [], []
        for path in wanted.paths:
            fragment = self._fragments.get(session, wanted.entry, path, version)
            name = serialize.escape(path)
            if fragment.missing:
                missing.append(f"<missingSet><path>{name}</path>{fragment.missing}</missingSet>")
            elif fragment.xml:
                present.append(f"<propSet><name>{name}</name>{fragment.xml}</propSet>")
        return "".join((serialize.reference("obj", wanted.entry.ref), *present, *missing))


def _rename(fragment: str) -> str:
    """Turn ``<val ..>..</val>`` into ``<returnval ..>..</returnval>``."""
    return f"<returnval{fragment[len('<val') : -len('</val>')]}</returnval>"
