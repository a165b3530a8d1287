"""Running: the cells of a campaign that are not done yet, on the workers of a place, into a store."""

import contextlib
import os
import platform
import re
import signal
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from html import escape
from importlib import metadata
from pathlib import Path
from types import FrameType
from typing import Any, Final

from experiments.campaigns.execution.backends import Backend, Dask, InProcess, Processes
from experiments.campaigns.execution.loop import Loop
from experiments.campaigns.planning.finding import find_class
from experiments.campaigns.planning.fingerprint import code_digest, imported
from experiments.campaigns.planning.plan import Plan
from experiments.campaigns.progress import Counting
from experiments.campaigns.records import read_manifest
from experiments.campaigns.results import Results
from experiments.campaigns.store import MANIFEST, WRITTEN, Store, is_campaign
from experiments.campaigns.study import Study, texts_of
from experiments.campaigns.trust import Gate, remember, remember_named
from experiments.inputs import code_shown_to
from experiments.outputs import require_own
from simmodels.errors import RequestError, StoppedError, brief, must_be
from simmodels.ground.durations import Duration, as_seconds
from simmodels.ground.numbers import as_integer
from simmodels.version import __version__

RUNNING: Final = "running"
"""The state of a run that has recorded no end."""
_PACKAGES: Final = ("numpy", "numba", "scipy", "pandas", "pyarrow", "simpy", "networkx", "matplotlib")
_LONGEST_S: Final = 1e6
"""The system counts the milliseconds to wait in 31 bits."""
_SHARD: Final = re.compile(r"([0-9]{1,9})/([0-9]{1,9})")
_SHARDS: Final = "i/n with 1 <= i <= n, such as 3/100"


@dataclass(frozen=True, slots=True)
class Shard:
    """A part of the cells: the number-th of `of` parts of about the same size.

    Parameters
    ----------
    number
        Which part, from 1.
    of
        How many parts there are.

    Raises
    ------
    RequestError
        There is no such part.
    """

    number: int = 1
    of: int = 1

    def __post_init__(self) -> None:
        """Check that there is such a part."""
        if not 1 <= self.number <= self.of:
            raise RequestError(must_be("shard", _SHARDS, f"{self.number}/{self.of}"))

    @classmethod
    def parse(cls, text: str) -> "Shard":
        """Return the part that a text such as ``3/100`` stands for."""
        found = _SHARD.fullmatch(text.strip())
        if found is None:
            raise RequestError(must_be("shard", _SHARDS, text))
        return cls(int(found[1]), int(found[2]))

    def __contains__(self, place: int) -> bool:
        """Return whether the cell at this place of the plan is in this part."""
        return place % self.of == self.number - 1

    def __str__(self) -> str:
        """Return the text that it is parsed from."""
        return f"{self.number}/{self.of}"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Campaign:
    """A campaign after a run.

    Parameters
    ----------
    plan
        Its cells.
    store
        Its folder.
    done
        How many cells are done, of all that are planned.
    run
        How many cells this run did.
    failed
        What is recorded of the cells that failed, by their names.
    interrupted
        Whether the run was stopped before its end.
    changed
        Whether the cells were run with other code than the present.
    damaged
        The files of the folder that are left out, and what is wrong with each.
    gate
        Is handed each file of code that its report runs, before it is run; see `experiments.inputs.code_shown_to`.
    """

    plan: Plan
    store: Store
    done: int
    run: int
    failed: Mapping[str, Mapping[str, Any]]
    interrupted: bool = False
    changed: bool = False
    damaged: Mapping[Path, str] = field(default_factory=dict)
    gate: Callable[[Path, bytes], None] = remember

    def __repr__(self) -> str:
        """Return a line about it."""
        failed = f", {len(self.failed):,} failed" if self.failed else ""
        return f"<Campaign {self.plan.study.name!r}: {self.done:,} of {len(self.plan.cells):,} cells done{failed}>"

    def _repr_html_(self) -> str:
        """Return what a notebook shows: that of its results."""
        return f"<div>{escape(repr(self).strip('<>'))}</div>{self.results()._repr_html_()}"

    @property
    def complete(self) -> bool:
        """Whether all cells are done."""
        return self.done == len(self.plan.cells)

    def results(self) -> Results:
        """Return what came of the cells that are done."""
        plan = self.plan
        return Results(
            table=self.store.table(plan.cells, plan.keys),
            factors=plan.factors,
            parameters=plan.shipment.parameters,
            seed=plan.shipment.seed,
            cells=len(plan.cells),
            done=self.done,
            failed=len(self.failed),
            judged=plan.study.scales[plan.scale].judged,
        )


def run(
    study: str,
    *,
    out: str | os.PathLike[str],
    scale: str = "small",
    seed: int = 0,
    workers: int | None = None,
    dask: str | None = None,
    shard: Shard | str = Shard(),
    retry_failed: bool = False,
    cell_timeout_s: Duration | None = None,
    chosen: Mapping[str, Any] | None = None,
    command: Sequence[str] = (),
    quiet: bool = True,
    force: bool = False,
) -> Campaign:
    """Run the cells of a study that are not done yet, and return what is there then.

    Cells that failed are reported and recorded, and do not stop others. Ctrl-C (SIGINT) and SIGTERM end the run; cells
    that are done are kept, and the same call continues. A script that calls this needs
    ``if __name__ == "__main__":``, as always with processes that are spawned.

    Files of the folder that are damaged are set aside, and their cells are run again.

    Parameters
    ----------
    study, chosen
        See `experiments.campaigns.planning.finding.find_study`.
    out
        The folder of the campaign; it is made if it is not there.
    scale, seed
        See `Study.cells`.
    workers
        How many processes; None for one a core, 0 to run the cells in this process.
    dask
        The address of a scheduler of dask; its workers are used then.
    shard
        Which part of the cells this run is for.
    retry_failed
        Whether cells that failed before are run again.
    cell_timeout_s
        How long a cell may run, in seconds, > 0; one that runs longer is ended with its worker, and recorded as failed.
        None for as long as it takes.
    command
        The command line, for the manifest.
    quiet
        Whether no progress is shown.
    force
        Whether files that no campaign has written may be overwritten.

    Returns
    -------
    Campaign
        Its cells, how many are done, and which failed.

    Raises
    ------
    RequestError
        The study cannot be found or a value of it is out of range; the folder cannot be written to, holds
        another study, or files that no campaign has written; a place cannot be had.
    StoppedError
        The disk is full, or the place has gone; what was finished is kept.

    Examples
    --------
    >>> from pathlib import Path
    >>> from experiments.campaigns import run
    >>> study = '''from experiments.campaigns import Study
    ...
    ... class Dice(Study):
    ...     "How many eyes does a throw show?"
    ...     factors = {"sides": [6, 20]}
    ...
    ...     def run_cell(self, cell):
    ...         return {"eyes": cell.stream("throw").integers(1, cell["sides"] + 1)}
    ... '''
    >>> _ = Path("dice.py").write_text(study)
    >>> campaign = run("dice.py", out="results/dice", scale="smoke", workers=0)
    >>> len(campaign.results().table)  # two values of sides, two replications
    4
    """
    with code_shown_to(remember):
        plan = Plan.of(study, scale, seed, chosen)
    _show_imports(type(plan.study), remember)  # though cells, figures or claims alone import them
    remember_named(texts_of(plan.study))
    part = Shard.parse(shard) if isinstance(shard, str) else shard
    if workers is not None:
        as_integer("workers", workers, 0)
    limit_s = _limit_s(cell_timeout_s, ends=workers != 0 or dask is not None)
    if not force:
        _require_ours(Path(out))
    store = Store(out)
    _claim(store, plan, force=force)
    kept = _Run(store, plan, part, command)
    store.compact()  # runs that were killed may have left many small files, which are slow to read
    done, failed = store.done(), store.failed()
    store.history()  # what is damaged there is set aside too
    damaged = store.set_aside()
    todo = [
        place
        for place, key in enumerate(plan.keys)
        if place in part and key not in done and (retry_failed or key not in failed)
    ]
    interrupted = False
    counting = Counting(len(todo), quiet=quiet)
    for path, what in damaged.items():
        then = "" if path.parent == store.runs else ", and its cells are run again"
        counting.print_note(f"{path} is damaged: {what}; it is set aside{then}")
    if todo:
        kept.write(RUNNING, counting)
        where: Backend
        if dask is not None:
            where = Dask(plan.shipment, dask, limit_s=limit_s)
        elif workers == 0:
            where = InProcess(plan.shipment)
        else:
            where = Processes(plan.shipment, cores() if workers is None else workers, limit_s=limit_s)
        state = "finished"
        try:
            with _terminable(), where, counting:
                Loop(where, plan, todo, store, counting).run()
        except KeyboardInterrupt:
            state, interrupted = "interrupted", True
        except BaseException:
            with contextlib.suppress(StoppedError):  # of the disk, which is full: the first error is the one to report
                kept.write("stopped by an error", counting)
            raise
        kept.write(state, counting)
    store.compact()
    return _now(plan, store, run=counting.done, interrupted=interrupted)


def _limit_s(limit_s: Duration | None, *, ends: bool) -> float | None:
    """Return the limit of a cell's time; refuse a limit of a cell's time that is none, or that nobody could enforce."""
    if limit_s is None:
        return None
    found_s = as_seconds("cell_timeout_s", limit_s, above=0, most=_LONGEST_S)
    if not ends:
        what = "cell_timeout_s has no effect with workers=0, where cells run in this process"
        raise RequestError(what, "use workers=1 or more")
    return found_s


def opened(folder: str | os.PathLike[str], *, study: str | None = None, trust: bool = False) -> Campaign:
    """Return the campaign of a folder as it is, without running any cell.

    The code of the study is run all the same, for its design, tables and claims. A file that only the folder names is
    run if this user has run it before, as it is: a folder may come from anybody. If the study has changed since, or
    what it reads, the cells are those of the design that was run.

    Parameters
    ----------
    folder
        The folder.
    study
        The study, see `experiments.campaigns.planning.finding.find_study`; None for the one that the folder names.
    trust
        Whether to run whatever code the folder names.

    Raises
    ------
    RequestError
        The folder holds no campaign, or one of another study; its study cannot be found any more,
        or has no such design any more; or it names code that this user has not run.
    FileFormatError
        Its manifest is damaged.
    """
    path = Path(folder) / MANIFEST
    if not path.is_file():
        raise RequestError(f"{folder} holds no campaign: it has no {MANIFEST}", "give the folder of a run")
    about = read_manifest(path)
    gate = Gate(path, trusting=trust or study is not None)
    with code_shown_to(gate):
        if study is not None:  # what it runs, the caller has named
            found = find_class(study)
            name = found.name
            _show_imports(found, gate)
            if name != about["name"]:
                what = f"{folder} holds a campaign of study {brief(about['name'])}, and {study} is study {name}"
                raise RequestError(what, "give the study of the campaign")
        gate.trusting = trust
        plan, changed = _planned(about["study"] if study is None else study, about)
    return _now(plan, Store(folder), run=0, changed=changed or code_digest(plan.study) != about["code"], gate=gate)


def _show_imports(study: type[Study], seen: Callable[[Path, bytes], None]) -> None:
    """Show the files of a study's code, and what they import from beside them; what cannot be read is not run."""
    for path in imported(study):
        with contextlib.suppress(OSError):
            seen(path.resolve(), path.read_bytes())


def _planned(study: str, about: Mapping[str, Any]) -> tuple[Plan, bool]:
    """Return the plan of the cells that a manifest is of, and whether the study's present design is another."""
    of_cells = partial(Plan.of, study, about["scale"], about["seed"], code=about["code"], inputs=about["inputs"])
    plan = of_cells(about["chosen"])
    now = plan.shipment.parameters, {name: [*values] for name, values in plan.factors.items()}, plan.replications
    if now == (about["parameters"], about["factors"], about["replications"]):
        return plan, about["inputs"] != plan.inputs
    known = {*plan.study.parameters, *plan.study.factors}
    design = {name: value for name, value in {**about["parameters"], **about["factors"]}.items() if name in known}
    return of_cells({**about["chosen"], **design, "replications": about["replications"]}), True


def _now(
    plan: Plan,
    store: Store,
    *,
    run: int,
    interrupted: bool = False,
    changed: bool = False,
    gate: Callable[[Path, bytes], None] = remember,
) -> Campaign:
    """Return a campaign as it is in its folder."""
    done, failed, wanted = store.done(), store.failed(), set(plan.keys)
    store.history()  # for what is damaged there
    return Campaign(
        plan=plan,
        store=store,
        done=len(wanted & done),
        run=run,
        failed={key: what for key, what in failed.items() if key in wanted and key not in done},
        interrupted=interrupted,
        changed=changed,
        damaged=dict(store.damaged),
        gate=gate,
    )


def cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


# -- what is kept of a run --------------------------------------------------------------------------


def _require_ours(folder: Path) -> None:
    """Refuse a folder in which something else has written what a campaign writes."""
    try:
        require_own(folder, WRITTEN, "a campaign")
    except RequestError:
        if not is_campaign(folder):  # asked last: another shard that begins now writes its manifest first
            raise


def _claim(store: Store, plan: Plan, *, force: bool) -> None:
    """Write which campaign the folder holds; refuse a folder that holds another study's."""
    path = store.folder / MANIFEST
    if path.is_file() and (not force or is_campaign(store.folder)):
        name = read_manifest(path, {"name": str})["name"]
        if name != plan.study.name:
            raise RequestError(f"{store.folder} holds a campaign of study {name}", "choose another folder")
    about = {
        "name": plan.study.name,
        "study": plan.shipment.study,
        "chosen": dict(plan.shipment.chosen),
        "scale": plan.scale,
        "seed": plan.shipment.seed,
        "parameters": dict(plan.shipment.parameters),
        "factors": plan.factors,
        "replications": plan.replications,
        "cells": len(plan.cells),
        "code": plan.shipment.code,
        "inputs": plan.inputs,
        "schedlab": __version__,
    }
    store.write(MANIFEST, about)


@dataclass(slots=True)
class _Run:
    """What is kept of one run of a campaign: who ran what, where, and how long."""

    store: Store
    plan: Plan
    shard: Shard
    command: Sequence[str]
    name: str = field(default_factory=lambda: f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{uuid.uuid4().hex[:8]}")
    begun: datetime = field(default_factory=lambda: datetime.now(UTC))
    clock: float = field(default_factory=time.monotonic)

    def write(self, state: str, counting: Counting) -> None:
        """Write how it stands."""
        self.store.write(
            f"runs/{self.name}.json",
            {
                "state": state,
                "command": list(self.command),
                "study": self.plan.study.name,
                "code": self.plan.shipment.code,
                "scale": self.plan.scale,
                "seed": self.plan.shipment.seed,
                "shard": str(self.shard),
                "cells": {"planned": len(self.plan.cells), "asked": counting.total, "run": counting.done,
                          "failed": counting.failed},
                "begun": f"{self.begun:%Y-%m-%dT%H:%M:%SZ}",
                "wall_s": round(time.monotonic() - self.clock, 3),
                "cells_s": round(counting.cells_s, 3),
                "machine": {"name": platform.node(), "system": platform.platform(), "cores": os.cpu_count(),
                            "process": os.getpid()},
                "versions": {"schedlab": __version__, "python": platform.python_version(),
                             **{name: metadata.version(name) for name in _PACKAGES}},
            },
        )  # fmt: skip


@contextlib.contextmanager
def _terminable() -> Iterator[None]:
    """Have SIGTERM end a run as Ctrl-C does: batch systems send it before they kill."""

    def interrupt(_signal: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
