"""What came of a request on a site, and the checks that cases state of it.

``expect`` of a case: ``status`` and any of ``vms`` (see `_check_vm`), ``placed`` (how many), ``filled``
(sets of cards, each given out whole or not at all), ``unplaced`` (all of them), ``same_host`` and
``different_hosts`` (lists of VM names), ``reasons`` (VM, host, constraint, part of the evidence),
``conflicts`` (VM, see `_told`), ``first_way`` (changes for the whole request, see `_change`),
``ways_out`` (VM, parts of texts or ``field: value``), ``not_ways_out`` (VM,
parts of texts), ``levels``, ``left_alone``, ``notes``,
``future`` (per shape how many fit before and after the plan).

Cards are called ``gpu0``, ``nic0`` and so on in the order of their addresses.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

from vplacer.constraints.state import Placement, Problem
from vplacer.inventory.host import DeviceBinding
from vplacer.inventory.overlay import Overlay
from vplacer.inventory.site import Site
from vplacer.inventory.vcenter import Inventory
from vplacer.jobs.plan import PlanOptions, make_plan, make_problem
from vplacer.jobs.source import Reading, SourceOptions
from vplacer.jobs.upkeep import UpkeepOptions, search_for
from vplacer.plan.model import Plan, VmPlan
from vplacer.report.plan_text import plan_text
from vplacer.request.load import empty_request, parse_request
from vplacer.request.today import DeviceReader
from vplacer.solver.conflicts.conflict import Conflict
from vplacer.solver.moves import mover_of
from vplacer.solver.relaxing.applied import applied
from vplacer.solver.relaxing.model import GivenUp
from vplacer.solver.solve import solve
from vplacer.solver.verdict import DemandReasons, Solution, SolveOptions
from vplacer.topology.build import build_topologies

NOW = datetime(2025, 1, 1, tzinfo=UTC)
_MOID = re.compile(r"\b(vm|host|domain-c|resgroup|datastore|network|datacenter)-\d+\b|\bnew:\S")


@dataclass(frozen=True)
class Outcome:
    """What came of a case, by the names it uses."""

    problem: Problem
    solution: Solution
    plan: Plan

    @cached_property
    def hosts(self) -> dict[str, str]:
        """Host name by moid."""
        return {host.moid: host.name for host in self.problem.inventory.hosts}

    @cached_property
    def demands(self) -> dict[str, str]:
        """Name of a demand by its id."""
        return {demand.id: demand.name for demand in self.problem.request.demands}

    @cached_property
    def placements(self) -> dict[str, Placement]:
        """Placement by name of the VM."""
        return {self.demands[placement.demand]: placement for placement in self.solution.placements}

    @cached_property
    def planned(self) -> dict[str, VmPlan]:
        """What the plan says, by name of the VM."""
        return {vm.name: vm for vm in self.plan.vms}

    @cached_property
    def reasons(self) -> dict[str, DemandReasons]:
        """Reasons by name of the VM."""
        return {self.demands[item.demand]: item for item in self.solution.reasons}

    def host_of(self, name: str) -> str:
        """Return the name of the host a VM is placed on."""
        assert name in self.placements, f"{name} has no place"
        return self.hosts[self.placements[name].host]

    def cards(self, name: str, kind: str) -> list[str]:
        """Return the cards of a VM, by what the case calls them."""
        placement = self.placements[name]
        topology = self.problem.topologies[placement.host]
        alias = {
            device.address: f"{prefix}{number}"
            for prefix, devices in (("gpu", topology.gpus), ("nic", topology.nics))
            for number, device in enumerate(devices)
        }
        return sorted(
            (alias[device.address] for device in placement.devices if alias[device.address].startswith(kind)),
            key=lambda card: (len(card), card),
        )


def decide(inventory: Inventory, overlays: tuple[Overlay, ...], case: dict[str, Any]) -> Outcome:
    """Solve the ``request`` of a case, if it has one, with its ``options``, on an inventory.

    ``upkeep`` among the options: fields of `UpkeepOptions`.
    """
    has_request = bool(case.get("request"))
    request = empty_request()
    if has_request:
        request = parse_request(json.dumps({"version": 1, **case["request"]}), "request.yaml")
    reading = Reading(inventory, overlays, ())
    flags = dict(case.get("options", {}))
    flags["include_managed"] = tuple(flags.get("include_managed", ()))
    upkeep = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in flags.pop("upkeep", {}).items()
    }
    flags["upkeep"] = UpkeepOptions(**upkeep)
    options = PlanOptions(SourceOptions(), "request.yaml" if has_request else None, **flags)
    problem = make_problem(request, reading, options)
    solution = solve(problem, search_for(options.upkeep, SolveOptions()))
    plan = make_plan(problem, solution, request, reading, NOW, None)
    return Outcome(problem, solution, plan)


def claimed(site: Site, claims: dict[str, dict[str, str]]) -> Inventory:
    """Return the inventory with what hosts say of claims that no VM's run explains."""
    vms = {vm.name: vm.moid for vm in site.inventory.vms}
    topologies = build_topologies(site.inventory, site.overlays)
    hosts = []
    for host in site.inventory.hosts:
        gpus = {f"gpu{number}": gpu.address for number, gpu in enumerate(topologies[host.moid].gpus)}
        told = claims.get(host.name, {})
        more = tuple(DeviceBinding("claim", vms[vm], gpus[card]) for card, vm in told.items())
        hosts.append(replace(host, bindings=(*host.bindings, *more)))
    return replace(site.inventory, hosts=tuple(hosts))


def check_expected(found: Outcome, expect: dict[str, Any]) -> None:
    """Assert all that a case states, and that what people read names things as people do."""
    wanted = dict(expect)
    _check_readable(found)
    assert found.solution.status.value == wanted.pop("status"), plan_text(found.plan, verbosity=2)
    for key, value in wanted.items():
        _CHECKS[key](found, value)


def _check_readable(found: Outcome) -> None:
    """What a person reads names things as people do, and every host has exactly one reason."""
    said = plan_text(found.plan, verbosity=1)
    assert not _MOID.search(said), said
    for item in found.solution.reasons:
        hosts = [moid for reason in item.rejections for moid, _ in reason.hosts]
        assert sorted(hosts) == sorted(found.problem.topologies)
        texts = [text for reason in item.rejections for _, text in reason.hosts]
        texts += [way.text for way in item.relaxations]
        texts += [part.text for conflict in item.conflicts for part in conflict.parts]
        for text in texts:
            assert text
            assert not _MOID.search(text), text


def _check_vms(found: Outcome, wanted: dict[str, dict[str, Any]]) -> None:
    for name, spec in wanted.items():
        _check_vm(found, name, spec)


def _check_vm(found: Outcome, name: str, wanted: dict[str, Any]) -> None:
    """Check one VM.

    ``host``: its host, or a list of hosts of which one must be it. ``nodes``: pNUMA nodes bound; a
    list of lists = one of them. ``gpus``, ``nics``: how many, which, or a list of lists of which one must be
    it. ``bound_by``: of all devices, or by kind. ``labels``: of the devices, each once. ``stays``: left as it
    is. ``sign``: what the plan shows. ``near``: the farthest any of its devices may be from its vCPUs;
    ``near_gpus`` and ``near_nics``: of one kind. ``path``: the words of the plan for the ways between its
    GPUs and to its NICs. ``line``, ``no_line``: what its line of the plan's text says, or does not.
    """
    host = found.host_of(name)
    placement, plan = found.placements[name], found.planned[name]
    said = plan_text(found.plan, verbosity=2)
    for key, value in wanted.items():
        if key == "host":
            assert host in ([value] if isinstance(value, str) else value), said
        elif key == "nodes":
            _one_of(value, list(placement.nodes), said)
        elif key in ("gpus", "nics"):
            cards = found.cards(name, key[:3])
            if isinstance(value, int):
                assert len(cards) == value, said
            else:
                _one_of(value, cards, said)
        elif key == "bound_by":
            by = value if isinstance(value, dict) else {"gpu": value, "nic": value}
            assert {(d.ask, d.bound_by.value) for d in placement.devices} <= set(by.items()), said
        elif key == "labels":
            assert sorted({d.label for d in placement.devices if d.label is not None}) == value, said
        elif key == "stays":
            assert placement.stays is value, said
        elif key == "sign":
            assert plan.symbol.value == value, said
        elif key in ("near", "near_gpus", "near_nics"):
            asks = [a for a in plan.asks if key == "near" or key == f"near_{a.ask}s"]
            assert {a.numa.value for a in asks} == {value}, said
        elif key == "path":
            assert [a.path for a in plan.asks] == value, said
        elif key in ("line", "no_line"):
            line = next(text for text in said.splitlines() if text[1:2] != " " and text[3:].startswith(name))
            assert (value in line) is (key == "line"), said
        else:
            raise AssertionError(f"a case cannot state '{key}' of a VM")


def _one_of(wanted: list[Any], have: list[Any], said: str) -> None:
    several = bool(wanted) and isinstance(wanted[0], list)
    assert have in (wanted if several else [wanted]), f"{have} instead of {wanted}\n{said}"


def _check_filled(found: Outcome, sets: list[list[str]]) -> None:
    """Of each set of cards all are given out, or none."""
    given = {card for name in found.placements for card in found.cards(name, "gpu")}
    for cards in sets:
        assert given.issuperset(cards) or given.isdisjoint(cards), f"{cards}\n{plan_text(found.plan)}"


def _check_placed(found: Outcome, wanted: int) -> None:
    assert len(found.placements) == wanted, plan_text(found.plan)


def _check_unplaced(found: Outcome, wanted: list[str]) -> None:
    assert sorted(found.demands[item] for item in found.solution.unplaced) == sorted(wanted)
    assert sorted(found.reasons) == sorted(wanted)


def _check_same_host(found: Outcome, wanted: list[str]) -> None:
    assert len({found.host_of(name) for name in wanted}) == 1, plan_text(found.plan)


def _check_different_hosts(found: Outcome, wanted: list[str]) -> None:
    assert len({found.host_of(name) for name in wanted}) == len(wanted), plan_text(found.plan)


def _check_reasons(found: Outcome, wanted: dict[str, dict[str, Any]]) -> None:
    for name, hosts in wanted.items():
        assert name in found.reasons, f"{name} has a place\n{plan_text(found.plan)}"
        have = {
            found.hosts[moid]: (reason.constraint, text)
            for reason in found.reasons[name].rejections
            for moid, text in reason.hosts
        }
        for host, spec in hosts.items():
            ((constraint, says),) = spec.items()
            assert have[host][0] == constraint, have
            assert says in have[host][1], have


def _check_conflicts(found: Outcome, wanted: dict[str, list[dict[str, Any]]]) -> None:
    """All sets of a VM are those stated, part by part."""
    for name, sets in wanted.items():
        have = [_told(found, conflict) for conflict in found.reasons[name].conflicts]
        assert have == [{"minimal": True, "wanted": 1, **item} for item in sets], have


def _told(found: Outcome, conflict: Conflict) -> dict[str, Any]:
    """Return a set as cases write it.

    ``wanted`` VMs, by default 1; ``minimal``, by default true; of each kind of part what it is about: fields
    (wish, rule), names (vm, host, admission), how many of which class (demands), or true (running).
    ``alone_too_little``: the parts that do not suffice alone, where there are any.
    """
    told: dict[str, Any] = {"minimal": conflict.minimal, "wanted": conflict.wanted}
    inventory = found.problem.inventory
    names = {vm.moid: vm.name for vm in inventory.vms} | found.hosts
    names |= {cluster.moid: cluster.name for cluster in inventory.clusters}
    too_little = []
    for part in conflict.parts:
        if part.kind == "running":
            told["running"] = True
        elif part.kind == "demands":
            told.setdefault("demands", {})[found.demands[part.objects[0]]] = part.count
        else:
            about = part.field or ", ".join(names[moid] for moid in part.objects)
            told.setdefault(part.kind, []).append(about)
            if part.suffices is False:
                too_little.append(about)
    return {**told, "alone_too_little": too_little} if too_little else told


def _check_first_way(found: Outcome, wanted: list[Any]) -> None:
    """The first combination of changes for the whole request is this one, and it helps."""
    ways = found.solution.ways_out
    assert ways, "there is none"
    have = [_change(found, change) for change in ways[0].changes]
    assert have == wanted, [[_change(found, change) for change in way.changes] for way in ways]
    reader = DeviceReader(found.problem.inventory)
    moved = [
        mover_of(found.problem, found.problem.inventory.vm_by_moid[change.objects[0]], reader)
        for change in ways[0].changes
        if change.kind == "move"
    ]
    changed = applied(found.problem, ways[0], moved)
    again = solve(changed, SolveOptions())
    assert not again.unplaced, have


def _change(found: Outcome, change: GivenUp) -> dict[str, Any]:
    """Return a change as cases write it.

    ``{VMs: {field: value}}``, ``{field: value}`` of the request, ``{leave_out: VMs}``, ``{move: VM}`` or
    ``{host: HOST}``; VMs as one text.
    """
    vms = " ".join(found.demands[demand] for demand in change.demands)
    if change.kind == "wish":
        return {vms: {change.field: change.value}}
    if change.kind == "leave_out":
        return {"leave_out": vms}
    if change.kind == "rule":
        return {change.field or "": change.value}
    inventory = found.problem.inventory
    names = {vm.moid: vm.name for vm in inventory.vms} | found.hosts
    return {change.kind: names[change.objects[0]]}


def _check_ways_out(found: Outcome, wanted: dict[str, list[Any]]) -> None:
    """Each way stated is shown, in the order stated; an empty list = there is none."""
    for name, ways in wanted.items():
        have = found.reasons[name].relaxations
        shown = [(way.text, way.field, way.value) for way in have]
        places = []
        for way in ways:
            if isinstance(way, str):
                hits = [n for n, item in enumerate(have) if way in item.text]
            else:
                ((field, value),) = way.items()
                hits = [n for n, item in enumerate(have) if (item.field, item.value) == (field, str(value))]
            assert hits, f"no way out is {way}: {shown}"
            places.append(hits[0])
        assert places == sorted(places), shown
        assert bool(have) == bool(ways), shown


def _check_not_ways_out(found: Outcome, wanted: dict[str, list[str]]) -> None:
    """None of the ways shown has these words."""
    for name, words in wanted.items():
        texts = [way.text for way in found.reasons[name].relaxations]
        assert not [text for text in texts if any(word in text for word in words)], texts


def _check_levels(found: Outcome, wanted: dict[str, int]) -> None:
    have = {level.id: level.value for level in found.solution.levels}
    assert {key: have[key] for key in wanted} == wanted, plan_text(found.plan, verbosity=2)


def _check_left_alone(found: Outcome, wanted: dict[str, str]) -> None:
    have = {item.name: item.reason for item in found.problem.request.left_alone}
    assert sorted(have) == sorted(wanted)
    for name, says in wanted.items():
        assert says in have[name]


def _check_notes(found: Outcome, wanted: list[str]) -> None:
    for says in wanted:
        assert any(says in note for note in found.plan.notes), found.plan.notes


def _check_future(found: Outcome, wanted: dict[str, list[int]]) -> None:
    have = {room.name: [room.before, room.after] for room in found.plan.future}
    assert have == wanted, plan_text(found.plan, verbosity=2)


_CHECKS = {
    "future": _check_future,
    "vms": _check_vms,
    "filled": _check_filled,
    "placed": _check_placed,
    "unplaced": _check_unplaced,
    "same_host": _check_same_host,
    "different_hosts": _check_different_hosts,
    "reasons": _check_reasons,
    "conflicts": _check_conflicts,
    "first_way": _check_first_way,
    "ways_out": _check_ways_out,
    "not_ways_out": _check_not_ways_out,
    "levels": _check_levels,
    "left_alone": _check_left_alone,
    "notes": _check_notes,
}
