"""How long `vplacer --help` takes. Goal: 0.15 s, so that completion and scripts do not feel it.

python benchmarks/startup.py
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

GOAL_S = 0.15
RUNS = 20
CODE = "import sys; sys.argv = ['vplacer', '--help']; from vplacer.cli.main import run; run()"


def once() -> float:
    """Return the seconds of one run, from start to end of the process."""
    started = time.perf_counter()
    subprocess.run([sys.executable, "-c", CODE], stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - started


def main() -> int:
    once()  # compiles to bytecode
    seconds = sorted(once() for _ in range(RUNS))
    median = statistics.median(seconds)
    print(f"vplacer --help: median {median:.3f} s, best {seconds[0]:.3f} s of {RUNS} runs; goal {GOAL_S} s")
    return 0 if median <= GOAL_S else 1


if __name__ == "__main__":
    sys.exit(main())
