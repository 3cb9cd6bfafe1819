"""What the doctor reads beside the inventory: raw spellings, clocks, rights, licences, times.

A fact that could not be read is `Untold`, with the reason; it never stands for "no".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Untold:
    """A fact that was not read: ``why``, in words that may hold marks (`vplacer.doctor.marks`).

    ``failed`` True = somebody tried, so the picture is incomplete; False = nobody asked (a file is the
    source, an option was not given).
    """

    why: str
    failed: bool = True


@dataclass(frozen=True, slots=True)
class Sample:
    """How many objects were looked at, of how many there are."""

    looked_at: int
    of: int

    @property
    def words(self) -> str:
        """Say it: "all 12", or "500 of 3210, spread evenly"."""
        if self.looked_at == self.of:
            return f"all {self.of}"
        return f"{self.looked_at} of {self.of}, spread evenly"


@dataclass(frozen=True, slots=True)
class Transport:
    """How the server was reached. ``verification``: "verified" | "not verified" | "none" (replay)."""

    verification: str
    authorities: str


@dataclass(frozen=True, slots=True)
class Clocks:
    """Times as Unix seconds. ``client`` is the client's own when the vCenter's was asked for.

    ``round_trip_s`` bounds how exact the comparison is; ``hosts``: moid to the difference between the
    host's clock and the client's, in seconds.
    """

    vcenter_minus_client_s: float
    round_trip_s: float
    hosts: Mapping[str, float | Untold]
    sample: Sample


@dataclass(frozen=True, slots=True)
class RawHost:
    """Spellings of one host's answer, before any of it is parsed.

    ``pci_ids`` and ``node_ids``: HostPciDevice.id and HostNumaNode.pciId; ``parents``: parentBridge of
    those devices that have one; ``negative``: field to how many values of it were below zero.
    """

    moid: str
    pci_ids: tuple[str, ...]
    node_ids: tuple[str, ...]
    parents: tuple[str, ...]
    negative: Mapping[str, int]
    feature_capability: int | None = None
    masked_feature_capability: int | None = None


@dataclass(frozen=True, slots=True)
class EsxtopSchema:
    """Tables and columns that a host's esxtop service names (CounterInfo only, no sample is taken)."""

    moid: str
    tables: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class VmRaw:
    """``keys``: how many extraConfig entries came, None = the property did not. ``change_versions``:
    config.changeVersion read twice, with nothing done in between."""

    moid: str
    keys: int | None
    change_versions: tuple[str | None, str | None]


@dataclass(frozen=True, slots=True)
class Licence:
    """One licence. ``edition`` is its editionKey; ``key`` masked to its last group.

    ``features``: keys of its feature list, None = it names none. ``expires``: text of the date as the
    server gives it; ``hours_left`` None = it does not say. ``hosts``: moids it is assigned to.
    """

    edition: str
    name: str
    key: str
    features: tuple[str, ...] | None
    product: str | None
    total: int | None
    used: int | None
    expires: str | None
    hours_left: float | None
    hosts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Licences:
    """The licences of a vCenter. ``assigned`` Untold = which host has which is not known."""

    found: tuple[Licence, ...]
    assigned: Sample | Untold


@dataclass(frozen=True, slots=True)
class RightsOnKind:
    """What the account may do on the objects of one kind: for each privilege, who lacks it."""

    kind: str
    sample: Sample
    lacking: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Rights:
    """The account's privileges. ``method``: the API method that told."""

    method: str
    kinds: Mapping[str, RightsOnKind | Untold]


@dataclass(frozen=True, slots=True)
class CallTime:
    """How long calls of one method took, in seconds."""

    method: str
    count: int
    total_s: float
    longest_s: float


@dataclass(frozen=True, slots=True)
class Limits:
    """``sessions``: how many there are now; ``settings``: numbers of the vCenter that limit sessions."""

    sessions: int | Untold
    settings: Mapping[str, str] | Untold


@dataclass(frozen=True, slots=True)
class Observed:
    """All of it. ``names``: moid to kind and name, of objects that the listing of the doctor's own saw."""

    user: str | Untold
    transport: Transport | Untold
    clocks: Clocks | Untold
    hosts: tuple[RawHost, ...] | Untold
    host_sample: Sample
    vms: tuple[VmRaw, ...] | Untold
    esxtop: tuple[EsxtopSchema | Untold, ...] | Untold
    licences: Licences | Untold
    rights: Rights | Untold
    limits: Limits | Untold
    calls: tuple[CallTime, ...] = ()
    names: Mapping[str, tuple[str, str]] = field(default_factory=dict)
