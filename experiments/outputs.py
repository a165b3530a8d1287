"""Outputs: the files that a command was asked for, refused before any work if they cannot be written."""

import json
import math
import os
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeVar

import pandas as pd

from experiments.inputs import reason
from experiments.option import OUT, Option
from simmodels import Power, RequestError, Schedule
from simmodels.errors import must_be
from simmodels.ground.files import ending_of, replacing, write_csv
from workloads import write_batsim_jobs, write_swf
from workloads.files import COMPRESSIONS

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
    """Return what writes a schedule's table of jobs, by the name's ending, or refuse the name."""
    return _JOBS[ending_of(path, _JOBS, "the jobs file's name")]


def table_writer(path: Path, made: Callable[[Made], pd.DataFrame]) -> Callable[[Made, Path], None]:
    """Return what writes a table that is made of something, by the name's ending, or refuse the name."""
    ending = ending_of(path, _TABLES, "the table's name")

    def write(of: Made, path: Path) -> None:
        table = made(of)
        if ending == ".csv":
            write_csv(table, path)
        else:
            with replacing(path) as temporary:
                table.to_parquet(temporary, engine="pyarrow", index=False)

    return write


def figure_writer(path: Path, draw: Callable[[Made], "Figure"]) -> Callable[[Made, Path], None]:
    """Return what draws something to a file, by the name's ending, or refuse the name."""
    from experiments import drawing  # noqa: PLC0415  matplotlib is slow to import: only where it draws

    drawing.format_of(path)
    return lambda made, path: drawing.save(draw(made), path)


def view_writer(path: Path) -> Writer:
    """Return what writes a schedule as a page to pan, zoom and search, or refuse the name."""
    from experiments.viewer import view  # noqa: PLC0415  it imports matplotlib, which is slow to import

    ending_of(path, [view.SUFFIX], "the page's name")
    return view.write_view


def trace_writer(path: Path, power: Power | None) -> Writer:
    """Return what writes a schedule as a trace for Perfetto or Chrome, by the name's ending, or refuse the name."""
    from experiments.viewer import trace, trace_formats  # noqa: PLC0415  it imports matplotlib, which is slow to import

    trace_formats.trace_writer(path)
    return lambda schedule, path: trace.write_trace(schedule, path, power=power)


def batsim_writer(path: Path) -> Writer:
    """Return what writes a schedule as Batsim's ``jobs.csv``, or refuse the name."""
    ending_of(path, [".csv"], "the name of Batsim's table of jobs")
    return write_batsim_jobs


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Outputs:
    """The files that a command was asked for.

    Parameters
    ----------
    jobs_out
        The table of jobs: .csv, .parquet, or (of a log) .swf (.swf.gz, ...).
    tasks_out
        The table of tasks of workflows: .csv or .parquet.
    batsim_out
        The table of jobs in Batsim's format (.csv), for evalys.
    attempts_out
        The table of all attempts: .csv or .parquet.
    gantt
        The Gantt chart, one panel per cluster: .svg, .png or .pdf.
    figure
        Cores in use and queue over time: .svg, .png or .pdf.
    graph
        The graph of a workflow, by rank: .svg, .png or .pdf.
    graph_job
        The workflow whose graph is drawn.
    view
        A page to pan, zoom and search the Gantt chart: .html.
    trace
        A trace for ui.perfetto.dev: .json (Chrome's format) or .pftrace, also with .gz.
    power
        The trace counts power: watts of a machine that is on, of a core in use.
    draw_from_s
        Where the figures begin: 3600, 12h, 30d.
    draw_to_s
        Where the figures end.

    Raises
    ------
    RequestError
        The window that figures show is empty, or what says something of a file stands without it.
    """

    jobs_out: Annotated[Path | None, Option(OUT)] = None
    tasks_out: Annotated[Path | None, Option(OUT)] = None
    batsim_out: Annotated[Path | None, Option(OUT)] = None
    attempts_out: Annotated[Path | None, Option(OUT)] = None
    gantt: Annotated[Path | None, Option(OUT)] = None
    figure: Annotated[Path | None, Option(OUT)] = None
    graph: Annotated[Path | None, Option(OUT)] = None
    graph_job: Annotated[int | None, Option(OUT, default="0")] = None
    view: Annotated[Path | None, Option(OUT)] = None
    trace: Annotated[Path | None, Option(OUT)] = None
    power: Annotated[Power | None, Option(OUT, "W:W", parse=parse_power)] = None
    draw_from_s: Annotated[float | None, Option(OUT, default="the first submission")] = None
    draw_to_s: Annotated[float | None, Option(OUT, default="the last event")] = None

    def __post_init__(self) -> None:
        """Refuse what says something of a file that is not asked for."""
        if self.graph_job is not None and self.graph is None:
            raise RequestError("--graph-job has no effect without a graph", "add --graph FILE")
        if self.power is not None and self.trace is None:
            raise RequestError("--power has no effect without a trace", "add --trace FILE")
        start_s, end_s = self.draw_from_s, self.draw_to_s
        if (start_s is not None or end_s is not None) and self.gantt is None and self.figure is None:
            raise RequestError(
                "--draw-from and --draw-to have no effect without a figure", "add --gantt FILE or --figure FILE"
            )
        if start_s is not None and end_s is not None and not start_s < end_s:
            raise RequestError(
                f"the window from {start_s:g} s to {end_s:g} s is empty", "choose --draw-from before --draw-to"
            )

    @property
    def drawn_job(self) -> int:
        """Return the number of the workflow that is drawn as a graph."""
        return 0 if self.graph_job is None else self.graph_job

    @property
    def paths(self) -> tuple[Path, ...]:
        """Return the files."""
        return tuple(path for each in fields(self) if isinstance(path := getattr(self, each.name), Path))

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
            A name ends otherwise than it may.
        """
        writers: tuple[tuple[Path | None, Callable[[Path], Writer]], ...] = (
            (self.jobs_out, jobs_writer if rigid else lambda path: table_writer(path, lambda made: made.jobs)),
            (self.tasks_out, lambda path: table_writer(path, lambda made: made.tasks)),
            (self.attempts_out, lambda path: table_writer(path, lambda made: made.runs)),
            (self.batsim_out, batsim_writer),
            (self.gantt, lambda path: figure_writer(path, self._drawing("gantt"))),
            (self.figure, lambda path: figure_writer(path, self._drawing("utilisation_and_queue"))),
            (self.graph, lambda path: figure_writer(path, _graph(self.drawn_job, data))),
            (self.view, view_writer),
            (self.trace, lambda path: trace_writer(path, self.power)),
        )
        return {path: writer(path) for path, writer in writers if path is not None}

    def of_several(self, kind: str) -> dict[Path, Callable[[Mapping[str, Schedule], Path], None]]:
        """Return what writes each file for several schedules by name: all attempts, the Gantt chart.

        Raises
        ------
        RequestError
            As `of_one`.
        """
        found: dict[Path, Any] = {}
        if self.attempts_out is not None:
            found[self.attempts_out] = table_writer(self.attempts_out, lambda made: _attempts(kind, made))
        if self.gantt is not None:
            found[self.gantt] = figure_writer(self.gantt, self._drawing("gantt"))
        return found

    def _drawing(self, name: str) -> Callable[[Any], "Figure"]:
        """Return what draws a figure of this name of `experiments.figures`, in the window that was asked for."""

        def draw(made: object) -> "Figure":
            from experiments import figures  # noqa: PLC0415  matplotlib is slow to import

            figure: Figure = getattr(figures, name)(made, start_s=self.draw_from_s, end_s=self.draw_to_s)
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

    Files whose names begin with a dot do not count: another process may be writing one.

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
        if not os.path.lexists(path):  # asked first: another process may make an empty folder at any time
            continue
        try:
            empty = path.is_dir() and not path.is_symlink() and all(part.name[0] == "." for part in path.iterdir())
        except OSError as error:
            raise RequestError(f"{path} cannot be read: {reason(error)}", "choose another folder") from error
        if not empty:
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
    """Write a JSON object, as `plain` makes it, whole or not at all."""
    with replacing(path) as temporary:
        temporary.write_text(json.dumps(plain(content), indent=2, allow_nan=False) + "\n", "utf-8")


def plain(value: Any) -> Any:  # noqa: ANN401  JSON is any of its kinds
    """Return a value as JSON holds it: numbers that are not finite are null."""
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, Mapping):
        return {str(key): plain(part) for key, part in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [plain(part) for part in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, bool | int | str) else str(value)
