"""Do all VMs have a place when hosts are lost? Every loss is tried, alike ones once.

VMs that run on lost hosts are restarted by HA as they are configured, on hosts of their cluster; VMs of
the request that do not run are placed as it asks. What runs elsewhere stays where it is. First the VMs
are placed one after the other, which proves that it can be done; where that fails, the solver decides.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from vplacer.constraints.state import Placement, Problem
from vplacer.errors import UsageError
from vplacer.inventory.host import Host
from vplacer.solver.loss.aftermath import aftermath, faults
from vplacer.solver.loss.exact import Decision, decide, reasons
from vplacer.solver.loss.losses import HostKindLost, LossSets, how_many, kinds_of, sets_of
from vplacer.solver.loss.model import AfterLoss, Homeless, Loss, Outcome
from vplacer.solver.loss.prepare import Prepared, prepare
from vplacer.solver.loss.restarts import Restart
from vplacer.solver.loss.trial import Trial
from vplacer.solver.residual import residual_state
from vplacer.solver.verdict import StoppedBy

MOST_LOSSES = 4_000
"""Losses that are looked at, alike ones counted once; the fullest hosts go first."""

Stop = Callable[[], StoppedBy | None]
_NO_ROOM = "no host that is left takes it"


def after_loss(
    problem: Problem,
    *,
    lost: int | None = None,
    named: Sequence[str] = (),
    seed: int = 1,
    most: int = MOST_LOSSES,
    stop: Stop = lambda: None,
) -> AfterLoss:
    """Return what happens when hosts are lost.

    Args:
        problem: inventory, topologies and resolved request; a request without VMs asks about what runs.
        lost: how many hosts of one cluster at a time, whichever they are.
        named: or these hosts, all at once (managed object ids).
        seed: seed of the searches.
        most: losses that are looked at.
        stop: asked now and then; a reason ends the search with what was found out.

    Raises:
        UsageError: no cluster has so many hosts.
    """
    run = _Run(prepare(problem), seed, stop)
    before = run.before()
    found: list[Loss] = []
    notes: tuple[str, ...] = ()
    possible = 1
    if named:
        found.append(run.loss(LossSets((tuple(named),), 1)))
    elif lost is not None:
        clusters, notes = _clusters(problem, lost)
        possible = sum(how_many(len(hosts), lost) for hosts in clusters)
        for hosts in clusters:
            for item in sets_of(run.kinds(hosts), lost):
                if len(found) >= most or stop() is not None:
                    break
                found.append(run.loss(item))
    worst = max(
        (loss for loss in found if loss.outcome is not Outcome.PLACED),
        key=lambda loss: len(loss.homeless),
        default=None,
    )
    if worst is not None:
        worst = run.loss(LossSets(worst.alike, worst.count), explain=True)
    short = sum(loss.count for loss in found) < possible
    open_ones = short or any(loss.outcome is Outcome.UNDECIDED for loss in (before, *found))
    return AfterLoss(
        lost=lost,
        before=before,
        losses=tuple(found),
        possible=possible,
        worst=worst,
        stopped_by=(stop() or StoppedBy.WORK) if open_ones else None,
        notes=notes,
    )


def _clusters(problem: Problem, lost: int) -> tuple[list[list[Host]], tuple[str, ...]]:
    """Return the hosts of each cluster that has some left after the loss, and what is not tried.

    A host in no cluster is lost alone.
    """
    inventory = problem.inventory
    groups: dict[str, list[Host]] = {}
    for host in inventory.hosts:
        if host.moid in problem.topologies:
            groups.setdefault(host.cluster or host.moid, []).append(host)
    kept, notes = [], []
    for moid, hosts in groups.items():
        cluster = inventory.cluster_by_moid.get(moid)
        if len(hosts) > lost or (cluster is None and lost == 1):
            kept.append(hosts)
        elif cluster is not None:
            told = "1 host" if len(hosts) == 1 else f"{len(hosts)} hosts"
            notes.append(f"not tried: cluster {cluster.name} has {told} in all")
    if not kept:
        most = max((len(hosts) for hosts in groups.values()), default=0)
        raise UsageError(
            f"no cluster would have a host left after the loss of {lost}",
            why=f"the largest has {most}",
            hint="give a smaller number",
        )
    return kept, tuple(notes)


class _Run:
    """One run: losses, one after the other, of one site."""

    def __init__(self, prepared: Prepared, seed: int, stop: Stop) -> None:
        self.prepared = prepared
        self.seed = seed
        self.stop = stop
        self.states = dict(prepared.ground.states)
        self.placed: dict[str, Placement] = {}

    def before(self) -> Loss:
        """Place the VMs of the request with nothing lost; losses begin from there."""
        trial = Trial(self.prepared.ground, self.states)
        if not trial.place_all(self.prepared.asked) and self._judged((), trial):
            self._settle([*trial.placed.values()])
            return Loss((), (), 1, Outcome.PLACED, 0, ())
        decision = self._decide((), self.prepared.asked)
        self._settle(decision.placements)
        homeless = tuple(
            replace(item, stops=reasons(decision, item.vm)) for item in self._homeless(decision, [])
        )
        return Loss((), (), 1, decision.outcome, 0, homeless)

    def _settle(self, placements: Sequence[Placement]) -> None:
        for placement in placements:
            self.placed[placement.demand] = placement
            state = self.states[placement.host]
            self.states[placement.host] = residual_state(self.prepared.ground.stub, state, (placement,))

    def kinds(self, hosts: Sequence[Host]) -> tuple[HostKindLost, ...]:
        """Group hosts of a cluster by what their loss comes to."""
        prepared = self.prepared
        keys = {host.moid: prepared.key(host) for host in hosts}
        loads = {host.moid: prepared.load(host.moid) for host in hosts}
        return kinds_of(hosts, keys, loads)

    def loss(self, sets: LossSets, explain: bool = False) -> Loss:
        """Say what one loss comes to; ``explain``: why VMs have no place, host by host."""
        lost = sets.named[0]
        restarts, never = self.prepared.on(lost)
        moved = [r for r in self.prepared.asked if r.demand.id in self.placed and self._on(r, lost)]
        trial = Trial(self.prepared.ground, self.states, lost)
        missing = trial.place_all([*restarts, *moved])
        outcome, homeless = Outcome.PLACED, [self._never(vm, reason) for vm, reason in never]
        if missing and not explain and self._hopeless(missing, lost) and self._judged(lost, trial):
            # Nobody makes room for a VM that no host takes by itself; all the others have a place.
            outcome = Outcome.NOT_PLACED
            homeless += [
                Homeless(r.demand.id, self.prepared.names[r.demand.id], True, False, _NO_ROOM)
                for r in sorted(missing, key=lambda r: r.demand.id)
            ]
        elif missing or not self._judged(lost, trial):
            asked = [r for r in self.prepared.asked if r.demand.id in self.placed]
            decision = self._decide(lost, [*restarts, *asked])
            outcome = decision.outcome
            found = self._homeless(decision, restarts)
            homeless += [replace(h, stops=reasons(decision, h.vm)) for h in found] if explain else found
        if never:
            outcome = Outcome.NOT_PLACED
        return Loss(lost, sets.named, sets.count, outcome, len(restarts), tuple(homeless))

    def _hopeless(self, missing: Sequence[Restart], lost: Sequence[str]) -> bool:
        """Whether each of some VMs fits no host that is left even if no other had to be restarted.

        Of a VM of the request that cannot be told so: others may leave vSphere no worse card to choose.
        """
        ground = self.prepared.ground
        alone = Trial(ground, ground.states, lost)
        found = all(not restart.requested and not alone.fits(restart) for restart in missing)
        return found and not ground.cut

    def _on(self, restart: Restart, hosts: Sequence[str]) -> bool:
        return self.placed[restart.demand.id].host in hosts

    def _never(self, vm: str, reason: str) -> Homeless:
        return Homeless(vm, self.prepared.names[vm], False, False, reason)

    def _homeless(self, decision: Decision, restarts: Sequence[Restart]) -> list[Homeless]:
        running = {restart.demand.id for restart in restarts}
        return [
            Homeless(vm, self.prepared.names[vm], True, vm not in running, _NO_ROOM)
            for vm in decision.homeless
        ]

    def _judged(self, lost: Sequence[str], trial: Trial) -> bool:
        """Whether the judge accepts a trial, beside the VMs of the request that stay where they were put."""
        host_of = self.prepared.ground.problem.inventory.host_by_moid
        placed = {vm: p for vm, p in self.placed.items() if p.host not in lost} | trial.placed
        clusters = {host_of[moid].cluster for moid in lost}
        clusters |= {host_of[placement.host].cluster for placement in trial.placed.values()}
        placed = {vm: p for vm, p in placed.items() if host_of[p.host].cluster in clusters}
        ground = self.prepared.ground
        demands = tuple(ground.problem.demand_by_id[vm] for vm in sorted(placed))
        problem = aftermath(ground.problem, lost, demands, ground.waiting, clusters)
        return not faults(problem, placed.values())

    def _decide(self, lost: Sequence[str], restarts: Sequence[Restart]) -> Decision:
        """Let the solver decide; where only restarts ask for a place, their cluster is all that matters."""
        ground = self.prepared.ground
        host_of = ground.problem.inventory.host_by_moid
        clusters = None
        if all(not restart.requested for restart in restarts):
            clusters = {host_of[moid].cluster for moid in lost}
        demands = tuple(restart.demand for restart in restarts)
        problem = aftermath(ground.problem, lost, demands, ground.waiting, clusters)
        return decide(problem, seed=self.seed, should_stop=lambda: self.stop() is not None)
