"""Outputs: the files that a command was asked for, refused before any work if they cannot be written."""

import json
import os
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import pandas as pd

from experiments.inputs import reason
from simmodels.energy import Power
from simmodels.errors import RequestError, must_be
from simmodels.ground.durations import seconds
from simmodels.ground.files import replacing, write_csv
from simmodels.schedule import Schedule
from workloads.batsim_jobs import write_batsim_jobs
from workloads.files import COMPRESSIONS
from workloads.swf import write_swf

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Writer = Callable[[Schedule, Path], None]
Made = TypeVar("Made")

_TABLES: Final = (".csv", ".parquet")

_JOBS: Final[dict[str, Writer]] = {
    ".csv": Schedule.to_csv,
    ".parquet": Schedule.to_parquet,
    ".swf": write_swf,
    **{f".swf{suffix}": write_swf for suffix in COMPRESSIONS},
}


def jobs_writer(path: Path) -> Writer:
    """Return what writes a schedule's table of jobs, by the name's ending.

    Raises
    ------
    RequestError
        The name ends otherwise.
    """
    for ending, write in _JOBS.items():
        if path.name.lower().endswith(ending):
            return write
    raise RequestError(must_be("the jobs file's name", f"one that ends in {', '.join(_JOBS)}", str(path)))


def table_writer(path: Path, made: Callable[[Made], pd.DataFrame]) -> Callable[[Made, Path], None]:
    """Return what writes a table that is made of something, by the name's ending.

    Raises
    ------
    RequestError
        The name ends otherwise than in .csv or .parquet.
    """
    ending = path.suffix.lower()
    if ending not in _TABLES:
        raise RequestError(must_be("the table's name", f"one that ends in {', '.join(_TABLES)}", str(path)))

    def write(of: Made, path: Path) -> None:
        table = made(of)
        if ending == ".csv":
            write_csv(table, path)
        else:
            with replacing(path) as temporary:
                table.to_parquet(temporary, engine="pyarrow", index=False)

    return write


def drawn_window(draw_from: str | None, draw_to: str | None) -> tuple[float | None, float | None]:
    """Return the window that figures show, in seconds, as the options say.

    Raises
    ------
    RequestError
        A time is none, or the window is empty.
    """
    start_s = None if draw_from is None else seconds(draw_from, "--draw-from")
    end_s = None if draw_to is None else seconds(draw_to, "--draw-to")
    if start_s is not None and end_s is not None and not start_s < end_s:
        raise RequestError(
            f"the window from {start_s:g} s to {end_s:g} s is empty", "choose --draw-from before --draw-to"
        )
    return start_s, end_s


def figure_writer(path: Path, draw: Callable[[Made], "Figure"]) -> Callable[[Made, Path], None]:
    """Return what draws something to a file.

    Parameters
    ----------
    path
        The file, for its ending.
    draw
        Makes the figure.

    Raises
    ------
    RequestError
        The name ends otherwise than a figure's may.
    """
    from experiments import drawing  # noqa: PLC0415  matplotlib is slow to import: only where it draws

    drawing.format_of(path)
    return lambda made, path: drawing.save(draw(made), path)


def view_writer(path: Path) -> Writer:
    """Return what writes a schedule as a page to pan, zoom and search.

    Raises
    ------
    RequestError
        The name does not end in ``.html``.
    """
    from experiments.viewer import view  # noqa: PLC0415  it imports matplotlib, which is slow to import

    view.require_html(path)
    return view.write_view


def trace_writer(path: Path, power: Power | None) -> Writer:
    """Return what writes a schedule as a trace for Perfetto or Chrome, by the name's ending.

    Raises
    ------
    RequestError
        The name ends otherwise than a trace's may.
    """
    from experiments.viewer import trace, trace_formats  # noqa: PLC0415  it imports matplotlib, which is slow to import

    trace_formats.trace_writer(path)
    return lambda schedule, path: trace.write_trace(schedule, path, power=power)


def parse_power(text: str) -> Power:
    """Return what machines draw: ``120:8`` watts of a machine that is on, and of a core in use.

    Raises
    ------
    RequestError
        The text is no such pair.
    """
    try:
        machine_w, core_w = map(float, text.split(":"))
    except ValueError:
        raise RequestError(must_be("--power", "watts of a machine and of a core, as in 120:8", text)) from None
    return Power(machine_w, core_w)


def batsim_writer(path: Path) -> Writer:
    """Return what writes a schedule as Batsim's ``jobs.csv``.

    Raises
    ------
    RequestError
        The name does not end in ``.csv``.
    """
    if path.suffix.lower() != ".csv":
        raise RequestError(must_be("the name of Batsim's table of jobs", "one that ends in .csv", str(path)))
    return write_batsim_jobs


@dataclass(frozen=True, slots=True, kw_only=True)
class Outputs:
    """The files that a command was asked for.

    Parameters
    ----------
    jobs, tasks, attempts, batsim
        Tables.
    gantt, figure, graph
        Figures: the Gantt chart, cores and queue over time, a workflow's graph.
    graph_job
        The number of the workflow to draw.
    view, trace
        The page to pan, zoom and search; the trace for Perfetto.
    power
        What machines draw, for the trace's counter.
    window
        The texts of --draw-from and --draw-to.
    """

    jobs: Path | None = None
    tasks: Path | None = None
    attempts: Path | None = None
    batsim: Path | None = None
    gantt: Path | None = None
    figure: Path | None = None
    graph: Path | None = None
    graph_job: int | None = None
    view: Path | None = None
    trace: Path | None = None
    power: Power | None = None
    window: tuple[str | None, str | None] = (None, None)

    def __post_init__(self) -> None:
        """Refuse what says something of a file that is not asked for."""
        if self.graph_job is not None and self.graph is None:
            raise RequestError("--graph-job has no effect without a graph", "add --graph FILE")
        if self.power is not None and self.trace is None:
            raise RequestError("--power has no effect without a trace", "add --trace FILE")
        if self.window != (None, None) and self.gantt is None and self.figure is None:
            raise RequestError(
                "--draw-from and --draw-to have no effect without a figure", "add --gantt FILE or --figure FILE"
            )
        if self.graph_job is None:
            object.__setattr__(self, "graph_job", 0)

    @property
    def paths(self) -> tuple[Path, ...]:
        """Return the files."""
        found = (
            self.jobs,
            self.tasks,
            self.attempts,
            self.batsim,
            self.gantt,
            self.figure,
            self.graph,
            self.view,
            self.trace,
        )
        return tuple(path for path in found if path is not None)

    def of_one(self, *, rigid: bool, data: Mapping[str, float]) -> dict[Path, Writer]:
        """Return what writes each file for one schedule; refuse what cannot be written.

        Parameters
        ----------
        rigid
            Whether all jobs are rigid.
        data
            How long data travel (`ccr`, `tick_s`), for the ranks of a graph.

        Raises
        ------
        RequestError
            A name ends otherwise than it may, or the window is none.
        """
        start_s, end_s = drawn_window(*self.window)
        found: dict[Path, Writer] = {}
        if self.jobs is not None:
            found[self.jobs] = jobs_writer(self.jobs) if rigid else table_writer(self.jobs, lambda made: made.jobs)
        if self.tasks is not None:
            found[self.tasks] = table_writer(self.tasks, lambda made: made.tasks)
        if self.attempts is not None:
            found[self.attempts] = table_writer(self.attempts, lambda made: made.runs)
        if self.batsim is not None:
            found[self.batsim] = batsim_writer(self.batsim)
        for path, name in ((self.gantt, "gantt"), (self.figure, "utilisation_and_queue")):
            if path is not None:
                found[path] = figure_writer(path, _drawing(name, start_s, end_s))
        if self.graph is not None:
            found[self.graph] = figure_writer(self.graph, _graph(self.graph_job or 0, data))
        if self.view is not None:
            found[self.view] = view_writer(self.view)
        if self.trace is not None:
            found[self.trace] = trace_writer(self.trace, self.power)
        return found

    def of_several(self, kind: str) -> dict[Path, Callable[[Mapping[str, Schedule], Path], None]]:
        """Return what writes each file for several schedules by name: all attempts, the Gantt chart.

        Raises
        ------
        RequestError
            As `of_one`.
        """
        start_s, end_s = drawn_window(*self.window)
        found: dict[Path, Any] = {}
        if self.attempts is not None:
            found[self.attempts] = table_writer(self.attempts, lambda made: _attempts(kind, made))
        if self.gantt is not None:
            found[self.gantt] = figure_writer(self.gantt, _drawing("gantt", start_s, end_s))
        return found


def _drawing(name: str, start_s: float | None, end_s: float | None) -> Callable[[Any], "Figure"]:
    """Return what draws a figure of this name of `experiments.figures`."""

    def draw(made: object) -> "Figure":
        from experiments import figures  # noqa: PLC0415  matplotlib is slow to import

        figure: Figure = getattr(figures, name)(made, start_s=start_s, end_s=end_s)
        return figure

    return draw


def _graph(job_id: int, data: Mapping[str, float]) -> Callable[[Schedule], "Figure"]:
    """Return what draws the graph of a workflow."""

    def draw(schedule: Schedule) -> "Figure":
        from experiments import graph_drawing  # noqa: PLC0415  matplotlib is slow to import

        workflow = next(each for each in schedule.workload.workflows if each.job_id == job_id)
        return graph_drawing.graph_by_rank(workflow, ccr=data["ccr"], tick_s=data["tick_s"])

    return draw


def _attempts(kind: str, schedules: Mapping[str, Schedule]) -> pd.DataFrame:
    """Return the table of all attempts, policy by policy."""
    return pd.concat([each.runs.assign(**{kind: name}) for name, each in schedules.items()], ignore_index=True)


def require_writable(paths: Iterable[Path], *, sources: Iterable[Path] = ()) -> None:
    """Refuse files that cannot be written.

    Parameters
    ----------
    paths
        The files; their folders must exist.
    sources
        Files that are read, and so may not be written.

    Raises
    ------
    RequestError
        A folder does not exist or cannot be written to, a path is that of a folder, two are the same, or
        one is a source.
    """
    seen = {source.resolve(): "one of the files that are read" for source in sources}
    for path in paths:
        if path.resolve() in seen:
            raise RequestError(f"cannot write {path}: it is {seen[path.resolve()]}", "choose another file")
        seen[path.resolve()] = "asked for twice"
        if path.is_dir():
            raise RequestError(f"cannot write {path}: it is a folder", "give the name of a file")
        _require_text(path, f"cannot write {path}")
        _require_folder(path.parent, f"cannot write {path}")


def made_folder(path: Path) -> Path:
    """Return a folder that can be written to, made if it is not there.

    Raises
    ------
    RequestError
        It cannot be.
    """
    require_folder(path)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RequestError(f"cannot write to folder {path}: {reason(error)}") from error
    return path


def made_part(folder: Path, name: str) -> Path:
    """Return a folder within a folder of ours, made if it is not there; a link to another one is not followed.

    Raises
    ------
    RequestError
        It is a link, or cannot be made or written to.
    """
    require_no_link(folder / name)
    return made_folder(folder / name)


def require_no_link(path: Path) -> None:
    """Refuse a folder within a folder of ours that is a link to another one.

    Raises
    ------
    RequestError
        It is one.
    """
    if path.is_symlink():
        raise RequestError(f"{path} is a link, which is not followed", "remove it, or choose another folder")


def require_own(folder: Path, names: Iterable[str], writer: str) -> None:
    """Refuse files of a folder, and folders within it that are not empty, which something else has written.

    Parameters
    ----------
    folder
        The folder, which need not be there.
    names
        What would be written to it, and was not written before.
    writer
        What would write it, for the error.

    Raises
    ------
    RequestError
        One of these is there.
    """
    for path in (folder / name for name in names):
        try:
            empty = path.is_dir() and not path.is_symlink() and not any(path.iterdir())
        except OSError as error:
            raise RequestError(f"{path} cannot be read: {reason(error)}", "choose another folder") from error
        if os.path.lexists(path) and not empty:
            raise RequestError(f"{path} was not written by {writer}", "choose another folder, or use --force")


def require_folder(path: Path) -> None:
    """Refuse a folder that cannot be written to, or made; nothing is made yet.

    Raises
    ------
    RequestError
        It is no folder, or one of the folders that it would be in cannot be written to.
    """
    what = f"cannot write to folder {path}"
    _require_text(path, what)
    _require_folder(next(folder for folder in (path, *path.parents) if os.path.lexists(folder)), what)


def _require_text(path: Path, what: str) -> None:
    """Refuse a name that is no text: Parquet files go through a library that takes no other."""
    try:
        str(path).encode()
    except UnicodeEncodeError:
        raise RequestError(f"{what}: its name is no text in UTF-8", "choose another name") from None


def _require_folder(folder: Path, what: str) -> None:
    """Refuse a folder in which no file can be made."""
    if not folder.is_dir():
        raise RequestError(f"{what}: {folder} is not a folder")
    try:
        with tempfile.NamedTemporaryFile(dir=folder, prefix=".probe"):
            pass
    except OSError as error:
        raise RequestError(f"{what}: {reason(error)}") from error


def write_json(content: Mapping[str, object], path: str | os.PathLike[str]) -> None:
    """Write a JSON object, whole or not at all."""
    with replacing(path) as temporary:
        temporary.write_text(json.dumps(content, indent=2, allow_nan=False) + "\n", "utf-8")
