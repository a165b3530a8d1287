"""Comparing: one scenario under several policies, as tables, figures and a note of where they come from."""

import json
import platform
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import metadata
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd

from experiments.calibration import Calibration, calibrate
from experiments.outputs import made_folder, made_part, plain, require_no_link, require_own, write_json
from experiments.policy import Policy
from experiments.scenario import Scenario
from experiments.setup import Cell, Setup, column_types
from simmodels import Schedule, Workload, as_logged
from simmodels.ground.files import replacing, write_csv
from simmodels.results.logged import AS_LOGGED, logged_wait_s
from simmodels.version import __version__

PROVENANCE: Final = "provenance.json"
JOBS: Final = "jobs/"
_QUANTITIES: Final = ("wait_s", "bounded_slowdown")
_FORMATS: Final = ("svg", "png")
_TABLES: Final = ("metrics.parquet", "metrics.csv")
_OF_JOBS: Final = re.compile(rf"{JOBS}[^/\\\0]+\.parquet")
_PACKAGES: Final = ("numpy", "numba", "pandas", "pyarrow", "simpy", "matplotlib")


@dataclass(frozen=True, slots=True)
class Comparison:
    """What came of a comparison.

    Parameters
    ----------
    scenario, setup
        What was run, and how.
    cells
        What came of each policy, in the order given.
    logged
        What the log itself records, in the same form; None where it does not say when its jobs started.
    out
        The folder of its files; None if none was asked for.
    files
        Their names, as paths within the folder.
    """

    scenario: Scenario
    setup: Setup
    cells: tuple[Cell, ...]
    logged: Cell | None
    out: Path | None = None
    files: tuple[str, ...] = ()

    @property
    def schedules(self) -> dict[str, Schedule]:
        """Return the schedules, by the policy's name, of the policies that did not fail."""
        return {cell.policy.name: cell.schedule for cell in self.cells if cell.schedule is not None}

    @property
    def failed(self) -> dict[str, str]:
        """Return what went wrong, by the policy's name."""
        return {cell.policy.name: cell.error for cell in self.cells if cell.error is not None}


def compare(
    scenario: Scenario,
    policies: Sequence[Policy],
    setup: Setup,
    *,
    out: Path | None,
    provenance: Mapping[str, object],
    begin: Callable[[str], None],
    force: bool,
) -> Comparison:
    """Run a scenario under each of the policies, and write what came of it to a folder.

    The folder gets ``jobs/POLICY.parquet`` (`Schedule.to_parquet`) for each policy; ``metrics.parquet``
    and ``metrics.csv``, one row per policy, after one ``as logged`` where the log says when its jobs started;
    ``wait_s`` and ``bounded_slowdown`` as SVG and PNG, where there are rigid jobs; and last ``provenance.json``, which
    names these files and says how to make them again. The same request makes the same files, byte for byte. Files of
    an earlier comparison in the same folder go first.

    A policy that fails (a user's function that raises, a schedule that is not legal) does not stop the
    others: its cell says what went wrong, and so does the provenance.

    Parameters
    ----------
    scenario
        The jobs, able to run on its clusters.
    policies
        As `chosen_policies` returns them, in the order in which they are shown.
    setup
        How each is run; with options that some of the policies have (`Setup.require`).
    out
        The folder; it is made if it is not there. None: nothing is written.
    provenance
        More for the provenance to say, such as the command line.
    begin
        Is called with the name of each of the `steps` when it begins.
    force
        Whether files of the folder that no comparison has written may be overwritten.

    Raises
    ------
    RequestError
        The request cannot be served, see `Setup.check`, `made_folder` and `require_own`.
    ImpossibleJobError
        A job can never run on the machine.
    """
    setup = setup.with_one_network(scenario, policies)
    setup.check(scenario, policies)
    if out is not None:
        require_no_link(out / JOBS)
        if not force:
            require_own(out, sorted(_names(policies) - _written(out)), "a comparison")
    cells: list[Cell] = []
    for policy in policies:
        begin(policy.name)
        cells.append(setup.run(scenario, policy))
    comparison = Comparison(scenario, setup, tuple(cells), _logged_cell(scenario, setup, cells))
    if out is None:
        return comparison
    begin("tables and figures")
    _clear(made_folder(out), policies)  # only now: what was there is worth more than what could not be run
    files: list[str] = []
    done = [cell for cell in cells if cell.schedule is not None]
    for cell in done:
        assert cell.schedule is not None  # noqa: S101  as just seen
        made_part(out, JOBS)
        files.append(_jobs_file(cell.policy))
        cell.schedule.to_parquet(out / files[-1])
    if done:
        shown = done if comparison.logged is None else [comparison.logged, *done]
        files += _write_metrics(out, scenario, setup, shown)
        files += _write_figures(out, setup, shown)
    comparison = replace(comparison, out=out, files=(*files, PROVENANCE))
    about = {
        "schedlab": __version__,
        "python": platform.python_version(),
        "packages": {name: metadata.version(name) for name in _PACKAGES},
        **provenance,
        "workload": summary(scenario.workload),
        "setup": {**setup.shared(policies), "max_requeues": setup.max_requeues, "validate": setup.validate},
        f"{policies[0].kind}s": {policy.name: policy.formula for policy in policies},
        "failed": comparison.failed,
        "files": list(comparison.files),
    }
    write_json(about, out / PROVENANCE)
    return comparison


def _logged_cell(scenario: Scenario, setup: Setup, cells: Sequence[Cell]) -> Cell | None:
    """Return what the log itself records of the jobs that count; None if it does not say when its jobs started.

    Nor is there any on machines: a log does not have their figures of merit.
    """
    work, kind = scenario.workload, cells[0].policy.kind
    on_machines = any(site.machines is not None for site in scenario.on or ())
    if on_machines or scenario.cores is None or np.isnan(logged_wait_s(work)).all():
        return None
    schedule = as_logged(work, cores=scenario.cores)
    ran = next((cell.schedule for cell in cells if cell.schedule is not None), None)
    if ran is not None:
        schedule = replace(schedule, counted=schedule.counted & ran.counted, window=ran.window)
    return Cell(Policy(kind, AS_LOGGED, {}), schedule, schedule.metrics(setup.tau_s))


def calibration_of(cells: Sequence[Cell]) -> Calibration | None:
    """Return how far the first of these replays is from its log, as far as the log says; None if it failed.

    It is that of the first policy, which should be the one that the machine had.
    """
    first = cells[0].schedule
    return None if first is None or first.window is not None else calibrate(first)


def steps(policies: Sequence[object]) -> int:
    """Return how many steps `compare` has."""
    return len(policies) + 1


def summary(workload: Workload) -> dict[str, object]:
    """Return what there is to know of a workload, but its jobs."""
    tasks = int((~workload.rigid()).sum())
    return {
        "name": workload.name,
        "jobs": len(workload) - tasks + len(workload.workflows),
        **({"tasks": tasks} if tasks else {}),
        "cores": workload.max_cores,
        "counts": dict(workload.counts),
    }


def _jobs_file(policy: Policy) -> str:
    """Return the name of the file of a policy's jobs."""
    return f"{JOBS}{policy.file_name}.parquet"


def _names(policies: Sequence[Policy]) -> set[str]:
    """Return the names of all files that a comparison may write."""
    figures = {f"{what}.{kind}" for what in _QUANTITIES for kind in _FORMATS}
    return {*map(_jobs_file, policies), *_TABLES, *figures, PROVENANCE}


def _written(folder: Path) -> set[str]:
    """Return the names of the files that an earlier comparison wrote to the folder, as its provenance names them."""
    try:
        about = json.loads((folder / PROVENANCE).read_bytes())
        listed = {name for name in about["files"] if isinstance(name, str)}
    except (OSError, ValueError, KeyError, TypeError):
        return set()
    ours = {name for name in listed if name in _names([]) or _OF_JOBS.fullmatch(name)}
    return ours if PROVENANCE in ours and "schedlab" in about else set()


def _clear(folder: Path, policies: Sequence[Policy]) -> None:
    """Remove what an earlier comparison wrote to the folder; note first what this one will, in case it is killed."""
    before = _written(folder)
    about = {"schedlab": __version__, "state": "not finished", "files": sorted(before | _names(policies))}
    write_json(about, folder / PROVENANCE)
    for path in (folder / name for name in before - {PROVENANCE}):
        if path.is_file():
            path.unlink()


def _write_metrics(folder: Path, scenario: Scenario, setup: Setup, cells: Sequence[Cell]) -> list[str]:
    """Write the table of metrics, one row per policy; return the files' names."""
    about = {"workload": scenario.workload.name, "cores": scenario.cores}
    rows = []
    for cell in cells:
        if cell.policy.name == AS_LOGGED:  # no option is known of it
            named = setup.table(cells[-1].policy)
            options = {name: value if name in {"seed", "tau_s"} else None for name, value in named.items()}
        else:
            options = setup.table(cell.policy)
        held = {
            name: json.dumps(plain(value)) if isinstance(value, list | dict) else value
            for name, value in options.items()
        }
        rows.append({**about, cell.policy.kind: cell.policy.name, **held, **cell.metrics})
    table = pd.DataFrame(rows)
    # Columns of None alone have their type all the same, so that tables of several comparisons go together.
    table = table.astype({name: kind for name, kind in column_types() if name in table})
    with replacing(folder / "metrics.parquet") as temporary:
        table.to_parquet(temporary, engine="pyarrow", index=False)
    write_csv(table, folder / "metrics.csv")
    return [*_TABLES]


def _write_figures(folder: Path, setup: Setup, cells: Sequence[Cell]) -> list[str]:
    """Draw how waits and slowdowns are distributed, policy beside policy; return the files' names."""
    from experiments.figures import distributions, save  # noqa: PLC0415  matplotlib is slow to import

    schedules = {cell.policy.name: cell.schedule for cell in cells if cell.schedule is not None}
    if not next(iter(schedules.values())).workload.rigid().any():
        return []
    files = []
    for what in _QUANTITIES:
        figure = distributions(schedules, what=what, by=cells[0].policy.kind, tau_s=setup.tau_s)
        for kind in _FORMATS:
            files.append(f"{what}.{kind}")
            save(figure, folder / files[-1])
    return files
