"""Builds one fleet, solves it once, and prints what came of it as JSON."""

from __future__ import annotations

import argparse
import dataclasses
import json
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.fleet.build import Fleet, fleet, instance_sha256
from benchmarks.fleet.outcome import outcome
from benchmarks.fleet.phases import REASONS, Phases
from benchmarks.fleet.variants import Variant
from benchmarks.measure import Cost, timed, waited_s, waited_share
from vplacer.inventory.overlay_file import save_overlays
from vplacer.inventory.snapshot import save_snapshot
from vplacer.jobs.overlays import folder_beside
from vplacer.solver.solve import solve
from vplacer.solver.verdict import SolveOptions, StoppedBy


def main() -> int:
    options = _options()
    if options.cpu_limit is not None:
        resource.setrlimit(resource.RLIMIT_CPU, (options.cpu_limit, options.cpu_limit))
    chosen = Variant(**{field.name: getattr(options, field.name) for field in dataclasses.fields(Variant)})
    made, building = timed(lambda: fleet(chosen))
    told: dict[str, Any] = {
        "variant": dataclasses.asdict(chosen),
        "build": _told(building),
        "build_peak_mib": _peak_mib(),
        **_facts(made),
    }
    if options.save is not None:
        _save(made, options.save)
    if not options.no_solve:
        limits = SolveOptions(
            seed=1,
            work=options.work,
            time_limit_s=options.time_limit,
            levels=tuple(options.levels.split(",")),
            explained=not options.no_reasons,
        )
        stop = _stop(options.time_limit)
        phases = Phases(lambda text: print(text, file=sys.stderr, flush=True))
        with phases.watched():
            answer, cost = timed(lambda: solve(made.problem, limits, stop))
        reasons = phases.own_s(REASONS)
        told |= {
            "levels_asked": options.levels,
            "solve": _told(cost),
            "phases_own_s": {step: found.own_s for step, found in phases.costs.items()},
            "answer_own_s": cost.own_s - reasons,
            "reasons_own_s": reasons,
            "peak_mib": _peak_mib(),
        }
        told |= outcome(made.problem, answer)
    # At the end: it takes memory of its own.
    told["instance_sha256"] = instance_sha256(made)
    told["waited_share"] = waited_share()
    json.dump(told, sys.stdout, indent=1)
    print()
    return 0 if told.get("judge", "passed") == "passed" else 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.fleet",
        description=__doc__,
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    for field in dataclasses.fields(Variant):
        name = f"--{field.name.replace('_', '-')}"
        if isinstance(field.default, bool):
            parser.add_argument(name, action="store_true", help="hosts of eight NUMA nodes")
        else:
            parser.add_argument(name, type=type(field.default), default=field.default, help=_HELP[field.name])
    parser.add_argument(
        "--levels", default="placed,locality,moves,room,hosts", help="of the objective, in order"
    )
    parser.add_argument("--work", type=float, help="limit of the search; default: the solver's own")
    parser.add_argument("--time-limit", type=float, help="seconds (less waiting for a core) to search for")
    parser.add_argument("--cpu-limit", type=int, help="seconds of processor time after which it is ended")
    parser.add_argument("--no-reasons", action="store_true", help="do not ask why VMs have no place")
    parser.add_argument("--no-solve", action="store_true", help="only build the instance")
    parser.add_argument(
        "--save",
        type=Path,
        metavar="DIR",
        help="write snapshot, overlays and request there, for vplacer plan",
    )
    return parser.parse_args()


_HELP = {
    "seed": "of all that is drawn",
    "hosts": "in all",
    "fill": "share of GPUs and cores that running VMs take",
    "shapes": "of the VMs asked for",
    "movable": "share of the running VMs that may move",
    "floating": "share of the running VMs without numa.nodeAffinity",
    "hint": "share of the shapes asked for that float",
    "asked": "GPUs asked for, beside those that are free",
    "gangs": "of four VMs each",
}


def _stop(limit_s: float | None) -> Callable[[], StoppedBy | None]:
    """Stop after so many seconds, those not counted in which other programs had the cores."""
    if limit_s is None:
        return lambda: None
    end = time.monotonic() - waited_s() + limit_s
    return lambda: StoppedBy.TIME if time.monotonic() - waited_s() > end else None


def _save(made: Fleet, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    snapshot = folder / "fleet.json.gz"
    save_snapshot(made.problem.inventory, snapshot)
    save_overlays(folder_beside(snapshot), made.overlays)
    (folder / "request.yaml").write_text(made.request, encoding="utf-8")


def _told(cost: Cost) -> dict[str, float]:
    return {"wall_s": cost.wall_s, "own_s": cost.own_s, "cpu_s": cost.cpu_s}


def _peak_mib() -> float:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1024 * (1024 if sys.platform == "darwin" else 1))


def _facts(made: Fleet) -> dict[str, Any]:
    new = [demand for demand in made.problem.request.demands if demand.vm is None]
    return {
        "hosts": len(made.problem.inventory.hosts),
        "distinct_host_states": made.states,
        "gpus": made.gpus,
        "gpus_free": made.gpus_free,
        "gpus_asked": made.gpus_asked,
        "vms_running": len(made.running),
        "vms_asked": len(new),
        "vms_that_may_move": len(made.problem.request.demands) - len(new),
    }


if __name__ == "__main__":
    sys.exit(main())
