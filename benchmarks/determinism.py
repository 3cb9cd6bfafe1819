"""Same input, same bytes: the same plan from processes with different hash seeds, else the run fails."""

from __future__ import annotations

import hashlib
import json
import sys
import tempfile
from pathlib import Path

from benchmarks import sites
from benchmarks.measure import ROOT, Report, main, run_command, vplacer
from vplacer.inventory.overlay_file import save_overlays
from vplacer.inventory.snapshot import save_snapshot
from vplacer.jobs.fixtures import list_fixtures
from vplacer.jobs.overlays import folder_beside

HASH_SEEDS = ("0", "1", "4242")
NOW = "2025-01-02T00:00:00Z"
INFEASIBLE = 4
FLEETS = {
    "filled": ("--hosts", "300", "--levels", "placed,locality"),
    "some may move": ("--hosts", "210", "--shapes", "20", "--movable", "0.3", "--levels", "placed,locality"),
    "half float": ("--hosts", "200", "--floating", "0.5", "--levels", "placed,locality"),
    "all levels": ("--hosts", "96", "--shapes", "40"),
}


def measure(quick: bool) -> Report:
    report = Report("Same input, same bytes")
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name, arguments in _plans(Path(folder), quick):
            command = vplacer("plan", "--dry-run", "--format", "json", "--now", NOW, *arguments)
            outputs = []
            for seed in HASH_SEEDS[:2] if quick else HASH_SEEDS:
                output, _ = run_command(command, expect=(0, INFEASIBLE), PYTHONHASHSEED=seed)
                outputs.append(output)
            sums = sorted({hashlib.sha256(output).hexdigest()[:12] for output in outputs})
            report.check(f"{name}: equal plans", len(sums) == 1, ", ".join(sums))
            rows.append(
                {
                    "plan": name,
                    "processes": len(outputs),
                    "bytes": len(outputs[0]),
                    "different": len(sums),
                    "sha256": " ".join(sums),
                }
            )
    _fleets(report, quick)
    report.table(
        "vplacer plan --dry-run --format json in processes of different PYTHONHASHSEED",
        rows,
        "The sums hold for one version of the solver.",
    )
    return report


def _fleets(report: Report, quick: bool) -> None:
    """Solve parts of the full vCenter: those the larger engine is for."""
    rows = []
    for name, options in ({} if quick else FLEETS).items():
        sums = []
        for seed in HASH_SEEDS:
            command = [sys.executable, "-m", "benchmarks.fleet", *options]
            output, _ = run_command(command, PYTHONHASHSEED=seed, PYTHONPATH=str(ROOT))
            sums.append(json.loads(output)["sha256"][:12])
        different = sorted(set(sums))
        report.check(f"fleet, {name}: equal placements", len(different) == 1, ", ".join(different))
        rows.append(
            {
                "fleet": name,
                "processes": len(sums),
                "different": len(different),
                "sha256": " ".join(different),
            }
        )
    if rows:
        report.table("solve() in processes of different PYTHONHASHSEED", rows, "Placements and levels.")


def _plans(folder: Path, quick: bool) -> list[tuple[str, tuple[str, ...]]]:
    """Return the plans to make: a name and the options that say from what."""
    requests = list_fixtures("requests")
    found = []
    for site in list_fixtures("sites"):
        if quick and site == sites.BIG:
            continue
        found += [
            (f"{request}, from the file", ("--from", site, "-r", request))
            for request in requests
            if request in (site, f"{site}-nofit")
        ]
    found.append(("nvswitch, from the lab", ("--lab", "nvswitch", "-r", "nvswitch")))
    if not quick:
        snapshot = folder / "filled.json.gz"
        big = sites.big_site()
        save_snapshot(sites.filled(big, share=0.5, seed=1), snapshot)
        save_overlays(folder_beside(snapshot), big.overlays)
        name = f"{sites.BIG}, 50% filled, from a snapshot"
        found.append((name, ("--from", str(snapshot), "-r", sites.BIG, "--partial")))
    return found


if __name__ == "__main__":
    sys.exit(main(measure))
