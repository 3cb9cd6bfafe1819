"""TaskHistoryCollector and EventHistoryCollector: a cursor over what has happened, and its newest page."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pyVmomi import vim

from vplacer.lab.soap.decode.members import invalid_argument
from vplacer.lab.soap.store import Computed, Entry
from vplacer.lab.soap.wire import typetable
from vplacer.lab.soap.wire.typetable import Ref, Value

_LARGEST_PAGE = 1000
_DEFAULT_PAGE = 10


class History(Entry):
    """A history collector of a session.

    Args:
        ref: what it is called.
        spec: the filter that made it.
        items: returns what fits the filter now, the oldest first.
    """

    __slots__ = ("_items", "_page", "_position")

    def __init__(self, ref: Ref, spec: Value, items: Callable[[], Sequence[Value]]) -> None:
        super().__init__(ref, {"filter": spec, "latestPage": Computed(self._latest)})
        self._items = items
        self._page = _DEFAULT_PAGE
        # At the oldest item (vSphere API: RewindCollector, "the default setting").
        self._position = 0

    def next(self, count: int) -> list[Value]:
        """Return the items after the position, the oldest first, and go past them."""
        items = self._items()[self._position :][: _checked(count)]
        self._position += len(items)
        return list(items)

    def previous(self, count: int) -> list[Value]:
        """Return the items before the position, the newest first, and go before them."""
        start = max(0, self._position - _checked(count))
        items = self._items()[start : self._position]
        self._position = start
        return list(reversed(items))

    def rewind(self) -> None:
        """Go before the oldest item."""
        self._position = 0

    def reset(self) -> None:
        """Go before the newest page."""
        self._position = max(0, len(self._items()) - self._page)

    def set_page_size(self, count: int) -> None:
        """Say how long the newest page is."""
        self._page = _checked(count)

    def _latest(self) -> Value:
        newest = list(reversed(self._items()[-self._page :]))
        events = isinstance(self.ref, vim.event.EventHistoryCollector)
        return typetable.array_of(vim.event.Event if events else vim.TaskInfo, newest)


def _checked(count: int) -> int:
    if not 1 <= count <= _LARGEST_PAGE:
        raise invalid_argument("maxCount", f"1 to {_LARGEST_PAGE}")
    return count
