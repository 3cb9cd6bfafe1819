"""BtrPlace on the same instance: a NUMA node is its node; cores, memory and cards are shareable resources.

The parts of a VM are VMs of its that lie on different nodes (`Spread`) of one host (`Among`); a VM that only
some hosts may take is fenced to their nodes. What it cannot be told is in `UNSAID`. It finds a plan for all
VMs that are to run, or none; the driver therefore finds, shape after shape by priority, how many there is a
plan for. The plan is given cards afterwards, with a search a host; a VM that then has no cards as it asked
for is not counted as placed.
"""

from __future__ import annotations

import json
import resource
import shutil
import subprocess
import tempfile
import time
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path

from benchmarks.peers.checker import pack, points
from benchmarks.peers.form import Ask, Floating, Host, Instance, Node, Place, Shape
from benchmarks.peers.nova import HostUse, choices
from benchmarks.peers.solvers import Found, Level

DRIVER = Path(__file__).resolve().parent.parent / "btrplace"
UNSAID = (
    "which cards: NVLink, switch and NIC near GPU",
    "cards of another node than the VM's where the wish is a preference: they are taken from its nodes",
    "sizes of vGPUs that may not share a card: the share of a card is a plain amount of its node",
    "running VMs that may be spread over nodes: taken off the nodes in proportion to what is free",
    "a VM that has one part on some hosts and two on others: it is kept to the size most hosts give it",
    "pools of several hosts",
    "an objective",
)
_CARD = 840
"""Units of a card that is cut up: divides evenly by 1 to 8, 10, 12, 14, 15, 20, 21, 24, 28, 30."""
_MOST_STEPS = 20_000
ATTEMPTS = 10
MOST_S = 60
"""All attempts together may take so many limits, and no more than so many seconds."""


class NoJava(Exception):
    """There is no Java, or the driver cannot be built."""


@dataclass(frozen=True)
class Attempt:
    """BtrPlace asked to run so many VMs. ``outcome``: plan, none (proved), time, or refused with a reason."""

    vms: int
    seconds: float
    outcome: str


def build_driver() -> None:
    """Build the driver with Maven unless it is built.

    Raises:
        NoJava: java or mvn is missing, or the build failed.
    """
    for program in ("java", "mvn"):
        if shutil.which(program) is None:
            raise NoJava(f"no {program}")
    if (DRIVER / "target" / "dependency").is_dir():
        return
    done = subprocess.run(
        ["mvn", "-q", "-B", "package"], cwd=DRIVER, capture_output=True, text=True, check=False
    )
    if done.returncode:
        told = (done.stdout + done.stderr).strip().splitlines()
        raise NoJava(f"the driver does not build: {told[0] if told else 'no message'}")


def place(instance: Instance, *, limit_s: float) -> Found:
    """Let BtrPlace place the VMs; every attempt has the limit (see `ATTEMPTS` for all together).

    It knows limits of whole seconds by the clock alone: where others use the machine they are
    stretched by as much as this process had to wait just before.

    Raises:
        NoJava: see `build_driver`.
    """
    build_driver()
    order = [
        (vm, shape)
        for shape in sorted(instance.shapes, key=lambda shape: (-shape.priority, -shape.weight))
        for vm in shape.vms
        if shape.sizes
    ]
    encoder = _Encoder(instance)
    before = _children_s()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "instance.txt"
        file.write_text(encoder.text(order), encoding="ascii")
        slower = waiting()
        seconds = max(1, round(limit_s * slower))
        whole = round(min(MOST_S, ATTEMPTS * limit_s) * slower)
        command = ["java", "-Xmx4g", "-cp", "target/*:target/dependency/*", "vplacer.benchmarks.Driver"]
        done = subprocess.run(
            [*command, str(file), str(seconds), str(whole)],
            cwd=DRIVER,
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode:
        raise SystemExit(f"BtrPlace's driver failed: {done.stderr.strip()[-500:]}")
    answer = json.loads(done.stdout)
    attempts = [Attempt(**attempt) for attempt in answer["attempts"]]
    running = [order[at] for at in answer["running"]]
    places, without = _deal(instance, running, encoder, answer["nodes"])
    return _found(instance, places, without, attempts, len(order), _children_s() - before)


def _children_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def waiting(seconds: float = 0.2) -> float:
    """Return how many times as long as on an idle machine work takes now."""
    clock, wall = time.process_time(), time.perf_counter()
    while time.process_time() - clock < seconds:
        pass
    return max(1.0, (time.perf_counter() - wall) / (time.process_time() - clock))


def _found(
    instance: Instance, places: list[Place], without: int, attempts: list[Attempt], asked: int, took: float
) -> Found:
    first, best = attempts[0], max((a.vms for a in attempts if a.outcome == "plan"), default=0)
    notes = [f"all {asked}: {first.outcome}, by the clock after {first.seconds:.2f} s"]
    if best < asked:
        notes.append(f"most: {best} of {asked}, in {len(attempts)} attempts")
    if without:
        notes.append(f"{without} of its plan have no cards as asked")
    shapes = instance.shape_by_vm
    levels = [
        Level(
            f"placed:{priority}",
            sum(shapes[p.vm].weight for p in places if shapes[p.vm].priority == priority),
            None,
        )
        for priority in instance.priorities
    ]
    return Found(places, [*levels, Level("locality", points(instance, places), None)], took, notes)


class _Encoder:
    """Numbers nodes and resources, and writes the driver's lines."""

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        self.nodes = [(at, node) for at, host in enumerate(instance.hosts) for node in host.nodes]
        self.index = {(instance.hosts[at].id, node.id): i for i, (at, node) in enumerate(self.nodes)}
        self.resources: dict[tuple[str, ...], int] = {("cores",): 0, ("memory",): 1}
        for shape in instance.shapes:
            for ask in shape.asks:
                self.resources.setdefault(_resource(ask), len(self.resources))
        self.loose: list[tuple[str, Floating]] = []
        self.share = {
            ask.profile: _CARD
            // max([1, *(c.vgpus.get(ask.profile, 0) for h in instance.hosts for c in h.cards)])
            for shape in instance.shapes
            for ask in shape.asks
            if ask.profile is not None
        }
        self.group_size = {
            name: len(sets[0]) for host in instance.hosts for name, sets in host.groups.items() if sets
        }

    def text(self, order: list[tuple[str, Shape]]) -> str:
        lines = [f"node {at}" for at, _ in self.nodes]
        capacity = [
            [self._capacity(self.instance.hosts[at], node, key) for key in self.resources]
            for at, node in self.nodes
        ]
        self._spread(capacity)
        for key, number in self.resources.items():
            name = "-".join(key).replace(" ", "_").replace(",", ";")
            lines.append(f"resource r{number}:{name} " + " ".join(str(row[number]) for row in capacity))
        for host, floating in self.loose:
            nodes = ",".join(str(self.index[host, node]) for node in floating.nodes)
            rest = " 0" * (len(self.resources) - 2)
            part = f"part {floating.millicores} {floating.memory_mib}{rest}"
            lines += [line for _ in range(floating.parts) for line in (f"stays {nodes}", part)]
        for _, shape in order:
            lines += self._vm(shape, self.instance.shapes.index(shape))
        return "\n".join(lines) + "\n"

    def _capacity(self, host: Host, node: Node, key: tuple[str, ...]) -> int:
        if key == ("cores",):
            return node.millicores
        if key == ("memory",):
            return node.memory_mib
        kind, *names = key
        here = [card for card in host.cards if node.id in card.on]
        if kind == "vgpu":
            return sum(
                max((card.vgpus.get(p, 0) * share for p, share in self.share.items()), default=0)
                for card in here
            )
        if kind == "group":
            members = {at for sets in [host.groups.get(names[0], ())] for cards in sets for at in cards}
            return sum(1 for at, card in enumerate(host.cards) if at in members and node.id in card.on)
        return sum(1 for card in here if card.whole and card.kind == kind and card.type in names)

    def _spread(self, capacity: list[list[int]]) -> None:
        """Take off what may be spread. What floats and then no longer fits is taken off where it does."""
        for host in self.instance.hosts:
            items = [item for item in host.floating if item.parts]
            spread = [item for item in host.floating if not item.parts]
            rows = {node.id: capacity[self.index[host.id, node.id]] for node in host.nodes}
            left = _less(rows, spread)
            if left is not None and pack(left, items) is not None:
                self.loose += [(host.id, item) for item in items]
            else:
                room = {node.id: (node.millicores, node.memory_mib) for node in host.nodes}
                seats = pack(room, list(host.floating))
                for (cores, memory), node in seats or ():
                    rows[node][0] -= cores
                    rows[node][1] -= memory
                left = _less(rows, spread) or dict.fromkeys(rows, (0, 0))
            for node, (cores, memory) in left.items():
                rows[node][0], rows[node][1] = cores, memory

    def _vm(self, shape: Shape, number: int) -> list[str]:
        sizes = Counter(shape.sizes.values())
        size = max(sizes, key=lambda s: (sizes[s], -s.parts))
        nodes = [index for (host, _), index in self.index.items() if shape.sizes.get(host) == size]
        lines = [f"vm {number} {','.join(map(str, nodes))}"]
        for part in range(size.parts):
            taken = [0] * len(self.resources)
            taken[0], taken[1] = size.millicores, size.memory_mib
            for ask in shape.asks:
                count = ask.count // size.parts + (1 if part < ask.count % size.parts else 0)
                unit = 1
                if ask.profile is not None:
                    unit = self.share.get(ask.profile, _CARD)
                elif ask.group is not None:
                    unit = self.group_size.get(ask.group, 1)
                taken[self.resources[_resource(ask)]] += count * unit
            lines.append("part " + " ".join(map(str, taken)))
        return lines


def _less(rows: dict[int, list[int]], spread: list[Floating]) -> dict[int, tuple[int, int]] | None:
    """Return cores and memory of nodes less what is spread, in proportion; None = more than there is."""
    left = {node: [max(0, row[0]), max(0, row[1])] for node, row in rows.items()}
    for item in spread:
        for at, amount in ((0, item.millicores), (1, item.memory_mib)):
            whole = sum(left[node][at] for node in item.nodes)
            if whole < amount:
                return None
            for node in item.nodes:
                share = -(-amount * left[node][at] // whole) if whole else 0
                left[node][at] = max(0, left[node][at] - share)
    return {node: (cores, memory) for node, (cores, memory) in left.items()}


def _resource(ask: Ask) -> tuple[str, ...]:
    if ask.profile is not None:
        return ("vgpu",)
    return ("group", ask.group) if ask.group is not None else (ask.kind, *ask.types)


def _deal(
    instance: Instance, order: list[tuple[str, Shape]], encoder: _Encoder, plan: list[list[int]]
) -> tuple[list[Place], int]:
    """Give the VMs of a plan cards, host by host; return them, and how many get none as asked."""
    by_host: dict[int, list[tuple[str, Shape, tuple[int, ...]]]] = defaultdict(list)
    for (vm, shape), parts in zip(order, plan, strict=True):
        at = encoder.nodes[parts[0]][0]
        nodes = tuple(encoder.nodes[part][1].id for part in parts) if shape.seat == "bound" else ()
        by_host[at].append((vm, shape, nodes))
    places = []
    for at, seated in sorted(by_host.items()):
        places += deal(instance.hosts[at], seated)
    return places, len(plan) - len(places)


def deal(host: Host, seated: list[tuple[str, Shape, tuple[int, ...]]]) -> list[Place]:
    """Give VMs on known nodes of a host cards as they ask for; as many as the search finds at once."""
    waiting = sorted(seated, key=lambda one: (-sum(ask.count for ask in one[1].asks), one[1].vms[0], one[0]))
    best: list[Place] = []
    steps = 0
    use = HostUse.of(host)

    def seat(at: int, done: list[Place]) -> bool:
        nonlocal best, steps
        if len(done) > len(best):
            best = list(done)
        if at == len(waiting):
            return len(done) == len(waiting)
        steps += 1
        if steps > _MOST_STEPS:
            return True
        vm, shape, nodes = waiting[at]
        for cards in choices(use, shape, nodes):
            use.hold(shape, cards)
            names = tuple(tuple(host.cards[card].address for card in group) for group in cards)
            ended = seat(at + 1, [*done, Place(vm, host.id, nodes, names)])
            use.release(shape, cards)
            if ended:
                return True
        return len(done) + len(waiting) - at - 1 > len(best) and seat(at + 1, done)

    seat(0, [])
    return best
