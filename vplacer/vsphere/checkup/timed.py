"""A reader that counts its calls and takes their time, and turns failures into `Untold`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from vplacer.doctor.marks import foreign
from vplacer.doctor.observed import CallTime, Sample, Untold
from vplacer.errors import PermissionMissing, VplacerError, VSphereFault
from vplacer.vsphere.faults import describe
from vplacer.vsphere.raw import Missing, MoRef, RawAnswer, RawReader, Value

T = TypeVar("T")


class TimedReader:
    """Reads through another reader.

    Args:
        reader: the vCenter.
        seconds: a clock that measures durations.
    """

    def __init__(self, reader: RawReader, seconds: Callable[[], float]) -> None:
        self._reader = reader
        self._seconds = seconds
        self._taken: dict[str, list[float]] = {}

    def retrieve(self, kind: str, paths: Sequence[str]) -> RawAnswer:
        """Read the paths of every object of a type."""
        return self.timed(f"list {kind}", lambda: self._reader.retrieve(kind, paths))

    def properties(self, refs: Sequence[MoRef], paths: Sequence[str]) -> RawAnswer:
        """Read the paths of the given objects, which are all of one type."""
        kind = refs[0].type if refs else "nothing"
        return self.timed(f"properties of {kind}", lambda: self._reader.properties(refs, paths))

    def call(self, ref: MoRef, method: str, arguments: Mapping[str, object] | None = None) -> Value:
        """Invoke a method that only reads."""
        return self.timed(method, lambda: self._reader.call(ref, method, arguments))

    def timed(self, what: str, work: Callable[[], T]) -> T:
        """Do something and take its time."""
        started = self._seconds()
        try:
            return work()
        finally:
            self._taken.setdefault(what, []).append(max(0.0, self._seconds() - started))

    def times(self) -> tuple[CallTime, ...]:
        """Return how long the calls took, by what they did."""
        return tuple(
            CallTime(what, len(taken), sum(taken), max(taken)) for what, taken in sorted(self._taken.items())
        )


def attempt(work: Callable[[], T | Untold]) -> T | Untold:
    """Do something; a failure of the vCenter, or of a recording that lacks it, is `Untold`."""
    try:
        return work()
    except PermissionMissing as error:
        return Untold(f"no permission: {foreign(error.why or error.what)}")
    except VSphereFault as error:
        return Untold(f"{foreign(error.fault_type)}: {foreign(error.what)}")
    except VplacerError as error:
        return Untold(foreign(f"{error.what}: {error.why}" if error.why else error.what))


def why_missing(missing: Sequence[Missing]) -> Untold:
    """Return `Untold` for properties that the server did not give."""
    if not missing:
        return Untold("the server does not tell it", failed=False)
    return Untold(foreign(describe(missing[0].fault)))


def spread(items: Sequence[T], most: int) -> tuple[list[T], Sample]:
    """Return at most so many of the items, spread evenly, the first and the last among them."""
    total = len(items)
    if total <= most:
        return list(items), Sample(total, total)
    positions = sorted({round(index * (total - 1) / max(1, most - 1)) for index in range(most)})
    return [items[position] for position in positions], Sample(len(positions), total)
