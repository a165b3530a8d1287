"""Attack the project: `python -m tests.attacks [NAME ...] [--cases N] [--seconds S] [--seed N] [--out FOLDER]`."""

import argparse
import importlib
import sys
from pathlib import Path

from tests.attacks.attack import run

NAMES = ("differential", "files", "flips", "folders", "kills", "models", "refusals")


def main() -> int:
    """Run the attacks that were asked for, or all, and return 1 where one broke something."""
    parser = argparse.ArgumentParser(prog="python -m tests.attacks", description="Attack the project.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"attacks to run (all): {', '.join(NAMES)}")
    parser.add_argument("--cases", type=int, help="cases of each attack (each has its own default)")
    parser.add_argument("--seconds", type=float, default=1800.0, help="the longest that one attack may take (1800)")
    parser.add_argument("--seed", type=int, default=1, help="what the cases are drawn from (1)")
    parser.add_argument("--out", type=Path, default=Path("results/attacks"), help="folder for one JSON file per attack")
    asked = parser.parse_args()
    if unknown := sorted(set(asked.names) - set(NAMES)):
        parser.error(f"unknown attacks: {', '.join(unknown)}; choose from {', '.join(NAMES)}")
    held = True
    for name in asked.names or NAMES:
        module = importlib.import_module(f"tests.attacks.{name}")
        held &= run(name, module.cases, asked.cases or module.CASES, asked.seconds, asked.seed, asked.out)
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
