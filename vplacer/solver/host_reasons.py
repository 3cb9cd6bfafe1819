"""The reason of every host that a class has no place there: the first that rejects it."""

from __future__ import annotations

from collections.abc import Mapping

from vplacer.solver.alike import WorkDone
from vplacer.solver.barred import is_particular, rejected
from vplacer.solver.beside import Beside
from vplacer.solver.classes import DemandClass
from vplacer.solver.eligible import eligibility_of
from vplacer.solver.instance import Instance, Rejection
from vplacer.solver.verdict import HostReason

_OTHERS = Rejection("others", "it fits here by itself, and not together with what is planned")
"""Where nothing that is looked at stands in the way: a search that was stopped may have left it out."""

NOT_LOOKED_AT = Rejection("not-looked-at", "the work or the time allowed for reasons was used up before")


class HostReasons:
    """Finds the reasons; what filters say is shared by hosts that are alike."""

    def __init__(self, instance: Instance, beside: Beside) -> None:
        self.instance = instance
        self.beside = beside
        problem = instance.problem
        eligibility = eligibility_of(problem)
        self.hosts = tuple(host for host in problem.inventory.hosts if host.moid in problem.topologies)
        self._numbers = {host.moid: eligibility.host(problem, host.moid) for host in self.hosts}
        self._pairs: dict[tuple[str, str], tuple[str, str]] = {}

    def of(self, cls: DemandClass) -> dict[str, Rejection]:
        """Return the reason of every host. Hosts for which no work is left are said not to be looked at."""
        found = self._filtered(cls)
        done = False
        for moid, rejection in found.items():
            if rejection is not None:
                continue
            if not done:
                try:
                    found[moid] = self._looked_at(cls, moid)
                    continue
                except WorkDone:
                    done = True
            found[moid] = NOT_LOOKED_AT
        return {moid: rejection for moid, rejection in found.items() if rejection is not None}

    def told(self, rejections: Mapping[str, Rejection]) -> tuple[HostReason, ...]:
        """Put hosts together by constraint, the most frequent first."""
        groups: dict[str, list[tuple[str, str]]] = {}
        for moid, rejection in rejections.items():
            pair = (moid, rejection.evidence)
            groups.setdefault(rejection.constraint, []).append(self._pairs.setdefault(pair, pair))
        ordered = sorted(groups.items(), key=lambda item: (-len(item[1]), item[0]))
        return tuple(HostReason(constraint, tuple(hosts)) for constraint, hosts in ordered)

    def _looked_at(self, cls: DemandClass, moid: str) -> Rejection:
        self.beside.memo.spend()
        return (
            self.instance.rejections.get((cls.index, moid))
            or self.beside.why_not(cls, cls.demand, moid)
            or _OTHERS
        )

    def _filtered(self, cls: DemandClass) -> dict[str, Rejection | None]:
        """What keeps a class off each host whatever else is placed, None where nothing does."""
        problem = self.instance.problem
        eligibility = eligibility_of(problem)
        if is_particular(problem, cls):
            return {
                host.moid: _of_the_request(cls, host.moid, rejected(problem, cls, host))
                for host in self.hosts
            }
        known: dict[int, Rejection | None] = {}
        found: dict[str, Rejection | None] = {}
        for host in self.hosts:
            number = self._numbers[host.moid]
            if number not in known:
                answer = rejected(problem, cls, host)
                if not eligibility.fits_all(problem, cls.demand, host.moid):
                    found[host.moid] = answer  # the next of its number may be larger
                    continue
                known[number] = answer
            found[host.moid] = known[number]
        return found


def _of_the_request(cls: DemandClass, moid: str, found: Rejection | None) -> Rejection | None:
    """Tell hosts that the request leaves out from those of another cluster."""
    demand = cls.demand
    if found is None or found.constraint != "cluster" or not demand.hosts or moid in demand.hosts:
        return found
    return Rejection("hosts", found.evidence) if "the request names" in found.evidence else found
