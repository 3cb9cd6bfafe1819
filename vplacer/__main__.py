"""Runs the program as ``python -m vplacer``."""

from vplacer.cli.main import run

if __name__ == "__main__":
    run()
