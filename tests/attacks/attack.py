"""What all attacks share: arguments, a bound in cases and in time, a table, a JSON file, an exit status.

An attack is a module `tests.attacks.NAME` with a constant `CASES` (how many it does by default) and a function
`cases(seed)` that yields callables forever; each does one case and returns the name of its result, and raises
`Broken` where the project failed. Run by `make attack`, or `python -m tests.attacks NAME [--cases N] [--seconds S]`.
"""

import collections
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path

Case = Callable[[], str]
Cases = Callable[[int], Iterator[Case]]


class Broken(Exception):  # noqa: N818  the project's failure, not ours
    """The project did what it must not; the text says with what input it can be repeated."""


def run(name: str, cases: Cases, count: int, seconds: float, seed: int, out: Path) -> bool:
    """Run up to `count` cases within `seconds`, print and write what came out, and return whether nothing broke."""
    results: collections.Counter[str] = collections.Counter()
    broken: list[str] = []
    begun = time.monotonic()
    for done, case in enumerate(cases(seed)):
        if done == count or time.monotonic() - begun > seconds:
            break
        try:
            results[case()] += 1
        except Broken as error:
            results["BROKEN"] += 1
            broken.append(f"case {done} of seed {seed}: {error}")
            print(f"{name}: {broken[-1]}", flush=True)
    took = time.monotonic() - begun
    total = sum(results.values())
    print(f"{name}: {total} cases in {took:.0f} s, {len(broken)} broken")
    for result, times in results.most_common():
        print(f"  {times:8d}  {result}")
    out.mkdir(parents=True, exist_ok=True)
    record = {"attack": name, "seed": seed, "cases": total, "asked": count, "seconds": round(took, 1)}
    (out / f"{name}.json").write_text(
        json.dumps({**record, "results": dict(results), "broken": broken}, indent=2) + "\n"
    )
    return not broken
