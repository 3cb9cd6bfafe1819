"""The peers that vplacer is measured against: the neutral form, its checker, and each peer on small cases."""

from __future__ import annotations

import importlib.util
import os
from dataclasses import replace

import pytest

from benchmarks.fleet import Variant, fleet_problem
from benchmarks.peers import btrplace, counts, nova, solvers
from benchmarks.peers.checker import faults, pack, points
from benchmarks.peers.clock import Clock
from benchmarks.peers.form import (
    LEVELS,
    Ask,
    Card,
    Floating,
    Host,
    Instance,
    Node,
    Place,
    Shape,
    Size,
    from_json,
    to_json,
)
from benchmarks.peers.instance import neutral, placements
from benchmarks.peers.monolith import solve_whole
from benchmarks.peers.one import run
from tests.conftest import missing
from vplacer.constraints.judge import check
from vplacer.constraints.state import Problem, State
from vplacer.solver import explain
from vplacer.solver.score import locality_points
from vplacer.solver.solve import solve
from vplacer.solver.verdict import SolveOptions

CORE, GIB = 1000, 1024
LIMIT_S = 60.0
NUMA = LEVELS[LEVELS.index("numa") :]


@pytest.fixture(scope="module")
def problem() -> Problem:
    """All families, cards cut up and device groups too; more is asked than fits."""
    return fleet_problem(Variant(hosts=8, fill=0.5, shapes=13, floating=0.4))


@pytest.fixture(autouse=True)
def _no_reasons(monkeypatch: pytest.MonkeyPatch) -> None:
    """Why VMs have no place is tested elsewhere, and takes longer than placing the others."""
    monkeypatch.setattr(explain, "explain", lambda *_, **__: ((), ()))


@pytest.fixture(scope="module")
def instance(problem: Problem) -> Instance:
    return neutral(problem)


@pytest.fixture(scope="module")
def driver() -> None:
    """Build BtrPlace's driver, the first time for good; without Java only ``VPLACER_NO_JAVA`` excuses CI."""
    try:
        btrplace.build_driver()
    except btrplace.NoJava as error:
        told = f"BtrPlace's driver needs java and mvn (CONTRIBUTING.md): {error}"
        if os.environ.get("VPLACER_NO_JAVA"):
            pytest.skip(f"{told}; VPLACER_NO_JAVA is set")
        missing(told)


def gpu(name: str, node: int | None, other: int | None = None) -> Card:
    """A GPU on a node of a socket of its own; ``other``: the other node of that socket."""
    on = () if node is None else (node,)
    return Card(name, "gpu", "T", None, True, on, () if other is None else (other,), {})


def host(name: str, cards: tuple[Card, ...] = (), *, nodes: int = 2, cores: int = 8) -> Host:
    near = tuple(
        tuple(() if a is b else NUMA if a.on == b.on and a.on else ("socket",) for b in cards) for a in cards
    )
    places = tuple(Node(at, at, cores * CORE, 64 * GIB) for at in range(nodes))
    return Host(name, places, nodes * cores * CORE, nodes * 64 * GIB, cards, near, {}, ())


def shape(
    hosts: tuple[Host, ...], *, cores: int = 4, parts: int = 1, count: int = 1, asks: tuple[Ask, ...] = ()
) -> Shape:
    sizes = {one.id: Size(parts, cores * CORE, 8 * GIB) for one in hosts}
    return Shape(tuple(f"vm{at}" for at in range(count)), 0, 100, "bound", "plan", asks, sizes)


def asked(count: int = 1, policy: str = "required", level: str = "any") -> Ask:
    return Ask("gpu", count, ("T",), policy, level, True)


class TestNova:
    """Outcomes that follow from the published rule by hand."""

    def fit(self, one: Host, what: Shape) -> nova.Fit | None:
        return nova.fit_host(nova.HostUse.of(one), what)

    def test_the_first_permutation_that_fits_is_taken(self) -> None:
        one = host("h")
        assert self.fit(one, shape((one,))) == ((0,), ())
        full = replace(one, nodes=(replace(one.nodes[0], millicores=3 * CORE), one.nodes[1]))
        assert self.fit(full, shape((one,))) == ((1,), ())

    def test_two_cells_go_to_two_nodes(self) -> None:
        one = host("h", nodes=3)
        assert self.fit(one, shape((one,), parts=2)) == ((0, 1), ())
        assert self.fit(host("h", nodes=1), shape((one,), parts=2)) is None

    def test_without_pci_requests_cells_without_devices_come_first(self) -> None:
        one = host("h", (gpu("a", 0),))
        assert self.fit(one, shape((one,))) == ((1,), ())
        assert self.fit(one, shape((one,), asks=(asked(),))) == ((0,), ((0,),))

    def test_required_takes_devices_of_the_cells_only(self) -> None:
        one = host("h", (gpu("a", 1),))
        assert self.fit(one, shape((one,), asks=(asked(),))) == ((1,), ((0,),))
        unknown = host("h", (gpu("a", None),))
        assert self.fit(unknown, shape((one,), asks=(asked(),))) is None

    def test_socket_takes_devices_beside_and_no_others(self) -> None:
        beside, far = host("h", (gpu("a", 1, 0),)), host("h", (gpu("a", 1),), cores=8)
        big = replace(beside, nodes=(beside.nodes[0], replace(beside.nodes[1], millicores=0)))
        assert self.fit(big, shape((big,), asks=(asked(policy="socket"),))) == ((0,), ((0,),))
        other = replace(far, nodes=(far.nodes[0], replace(far.nodes[1], millicores=0)))
        assert self.fit(other, shape((other,), asks=(asked(policy="socket"),))) is None

    def test_preferred_takes_any_device_the_nearest_first(self) -> None:
        one = host("h", (gpu("a", 1), gpu("b", 0)))
        assert self.fit(one, shape((one,), asks=(asked(policy="preferred"),))) == ((0,), ((1,),))
        assert self.fit(one, shape((one,), asks=(asked(2, "preferred"),))) == ((0,), ((1, 0),))

    def test_the_weighers_spread_or_stack_and_spare_hosts_with_devices(self) -> None:
        hosts = (host("a"), host("b", cores=9), host("c", (gpu("x", 0), gpu("y", 1)), cores=9))
        whole = Instance(hosts, (shape(hosts),), (), ())
        assert [p.host for p in nova.place(whole, stack=False, clock=Clock()).places] == ["b"]
        assert [p.host for p in nova.place(whole, stack=True, clock=Clock()).places] == ["a"]

    def test_one_after_the_other_can_lose_what_a_joint_answer_has(self) -> None:
        """A VM that could sit on either host takes the only one that the next can sit on."""
        hosts = (host("a", nodes=1, cores=6), host("b", nodes=1, cores=4))
        first = shape(hosts, cores=4)
        second = replace(shape((hosts[0],), cores=6), vms=("big",))
        both = Instance(hosts, (first, second), (), ())
        assert len(nova.place(both, stack=False, clock=Clock()).places) == 1
        found = solvers.by_levels(counts.build(both), solvers.cpsat(1), LIMIT_S, Clock())
        assert len(found.places) == 2


class TestForm:
    def test_it_is_the_same_when_read_again(self, instance: Instance) -> None:
        assert from_json(to_json(instance)) == instance
        assert instance.missing == ()

    def test_it_has_every_vm_and_what_is_free(self, problem: Problem, instance: Instance) -> None:
        assert {vm for one in instance.shapes for vm in one.vms} == {d.id for d in problem.request.demands}
        assert {one.id for one in instance.hosts} == {h.moid for h in problem.inventory.hosts}
        held = {b.address for h in problem.inventory.hosts[:1] for b in h.bindings}
        free = {card.address for card in instance.hosts[0].cards}
        assert held
        assert free.isdisjoint(map(str, held))

    def test_what_cannot_be_said_is_told(self) -> None:
        told = neutral(fleet_problem(Variant(hosts=24, shapes=13, gangs=1, movable=0.5))).missing
        assert told == (
            "existing VMs that the request names: they stay as they are",
            "rules that keep VMs together, apart or on hosts, and gangs",
        )


class TestChecker:
    def test_vplacers_own_answer_has_no_fault_and_the_same_points(
        self, problem: Problem, instance: Instance
    ) -> None:
        fresh = Problem(problem.inventory, problem.topologies, problem.request)
        answer = solve(fresh, SolveOptions(levels=("placed", "locality")))
        places = []
        for placed in answer.placements:
            demand = fresh.demand_by_id[placed.demand]
            asks = [("gpu", at) for at in range(len(demand.gpus))]
            asks += [("nic", at) for at in range(len(demand.nics))]
            cards = tuple(
                tuple(str(d.address) for d in placed.devices if (d.ask, d.index) == ask) for ask in asks
            )
            places.append(Place(placed.demand, placed.host, placed.nodes, cards))
        assert faults(instance, places) == []
        state = State(fresh, answer.placements)
        assert points(instance, places) == sum(locality_points(state, p) for p in answer.placements)

    def test_planted_faults_are_found(self) -> None:
        one, two = host("h", (gpu("a", 0), gpu("b", 1))), host("other")
        what = shape((one,), count=3, cores=4, asks=(asked(),))
        whole = Instance((one, two), (what,), (), ())
        good = Place("vm0", "h", (0,), (("a",),))
        assert faults(whole, [good]) == []
        cases = {
            "placed 2 times": [good, good],
            "not asked for": [replace(good, vm="who")],
            "may not take it": [replace(good, host="other")],
            "no free card": [replace(good, cards=(("z",),))],
            "nodes": [replace(good, nodes=(0, 1))],
            "no such node": [replace(good, nodes=(7,))],
            "different cards": [replace(good, cards=((),))],
            "hard wish": [replace(good, nodes=(1,))],
            "given 2 times": [good, replace(good, vm="vm1")],
        }
        for word, places in cases.items():
            assert any(word in fault.text for fault in faults(whole, places)), word
        full = replace(one, nodes=(replace(one.nodes[0], memory_mib=GIB), one.nodes[1]))
        assert "memory" in faults(replace(whole, hosts=(full, two)), [good])[0].text

    def test_what_floats_must_find_a_seat(self) -> None:
        room = {0: (8, 8), 1: (8, 8)}
        three = [Floating(1, 5, 1, (0, 1)) for _ in range(3)]
        assert pack(room, three[:2]) is not None
        assert pack(room, three) is None
        assert pack(room, [*three[:2], Floating(0, 6, 1, (0, 1))]) is not None
        assert pack(room, [*three[:2], Floating(0, 7, 1, (0, 1))]) is None


class TestPeers:
    def test_all_models_prove_the_same_values(self, problem: Problem, instance: Instance) -> None:
        """The neutral model, vplacer's whole model and column generation are three ways to say the same."""
        fresh = Problem(problem.inventory, problem.topologies, problem.request)
        answer = solve(fresh, SolveOptions(levels=("placed", "locality")))
        own = {level.id: (level.value, level.bound) for level in answer.levels}
        plain = run(problem, "counts, CP-SAT, 1 worker", LIMIT_S)
        whole = run(problem, "vplacer's exact model, whole", LIMIT_S)
        for told in (plain, whole):
            assert told["faults"] == told["judge"] == []
            assert {level["id"]: level["value"] for level in told["levels"]} == {
                name: value for name, (value, _) in own.items()
            }
            assert all(level["value"] == level["bound"] for level in told["levels"])

    @pytest.mark.parametrize("peer", ["Nova, spread", "Nova, stacked"])
    def test_novas_answer_passes_the_judge_and_is_no_better(self, problem: Problem, peer: str) -> None:
        told = run(problem, peer, LIMIT_S)
        best = run(problem, "counts, CP-SAT, 1 worker", LIMIT_S)
        assert told["faults"] == told["judge"] == []
        assert told["vms"] > 0
        assert [level["value"] for level in told["levels"]] <= [level["value"] for level in best["levels"]]

    def test_highs_finds_what_cpsat_finds(self, instance: Instance) -> None:
        if importlib.util.find_spec("highspy") is None:
            missing("no highspy: pip install -e '.[dev]'")
        model = counts.build(instance)
        found = solvers.by_levels(model, solvers.highs(), LIMIT_S, Clock())
        best = solvers.by_levels(model, solvers.cpsat(1), LIMIT_S, Clock())
        assert [level.value for level in found.levels] == [level.value for level in best.levels]
        assert faults(instance, found.places) == []

    def test_a_whole_model_keeps_vms_that_meet_their_demand(self) -> None:
        """What is settled beforehand is no variable of the model, and yet part of the answer."""
        moving = fleet_problem(Variant(hosts=8, fill=0.5, shapes=13, movable=0.2))
        placed, _, _ = solve_whole(moving, limit_s=LIMIT_S, clock=Clock())
        unplaced = {d.id for d in moving.request.demands} - {p.demand for p in placed}
        assert [v for v in check(State(moving, placed)) if v.object not in unplaced] == []

    def test_without_java_the_answer_says_so(self, problem: Problem, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("PATH", os.devnull)
        assert run(problem, "BtrPlace", LIMIT_S) == {"not_run": "no java"}


class TestBtrplace:
    def test_cards_are_dealt_so_that_all_have_theirs(self) -> None:
        """The VM of one card must not take one of the only pair that is joined."""
        cards = (gpu("a", 0), gpu("b", 0), gpu("c", 0))
        one = host("h", cards)
        joined = {frozenset((1, 2))}
        near = tuple(
            tuple(("nvlink", *NUMA) if frozenset((a, b)) in joined else NUMA for b in range(3))
            for a in range(3)
        )
        one = replace(one, near=near)
        single = replace(shape((one,), asks=(asked(),)), vms=("single",))
        pair = replace(shape((one,), asks=(asked(2, level="nvlink"),)), vms=("pair",))
        found = btrplace.deal(one, [("single", single, (0,)), ("pair", pair, (0,))])
        assert {place.vm: place.cards for place in found} == {"pair": (("b", "c"),), "single": (("a",),)}

    def test_its_plan_passes_both_checkers(self, driver: None, problem: Problem, instance: Instance) -> None:
        found = btrplace.place(instance, limit_s=1.0)
        kept = [
            place for place in found.places if not any(f.vm == place.vm for f in faults(instance, [place]))
        ]
        assert kept
        assert faults(instance, kept) == []
        unplaced = {d.id for d in problem.request.demands} - {p.vm for p in kept}
        state = State(problem, placements(problem, kept))
        assert [v for v in check(state) if v.object not in unplaced] == []
