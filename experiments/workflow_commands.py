"""Workflow commands: what ``simulate --workflows`` does, once its options are read."""

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from experiments.answering import DONE, FAILED, Steps, complain, print_json, remark, show
from experiments.cells import FIRST
from experiments.inputs import told
from experiments.outputs import drawn_window, figure_writer, require_figure, require_writable, table_writer
from experiments.tables import workflow_table
from experiments.workflow_inputs import WorkflowFolder
from simmodels.errors import RequestError, SimModelsError
from simmodels.policies.priority import Priority
from simmodels.schedule import Place, Schedule
from simmodels.simulate import simulate_workflows
from simmodels.workflow import Workflow

Writer = Callable[[Schedule, Path], None]

_OF_CURVES: Final = ("area", "factor", "deadline", "soft_deadline")


@dataclass(frozen=True, slots=True, kw_only=True)
class Auction:
    """A platform, and how it is auctioned.

    Parameters
    ----------
    clusters
        The clusters.
    bid
        What tasks offer.
    rules, engine, seed
        As `simmodels.simulate_workflows` takes them.
    validate
        Whether the schedule is proved legal.

    Raises
    ------
    UnknownNameError, RequestError
        A rule is not what is allowed.
    """

    clusters: Sequence[Place]
    bid: Priority
    rules: Mapping[str, Any] = field(default_factory=dict)
    engine: str = "auto"
    seed: int = 0
    validate: bool = False

    def __post_init__(self) -> None:
        """Check the rules, before anything is read: an auction of nothing refuses what is not allowed."""
        self._simulated(())

    @property
    def cores(self) -> int:
        """Return the cores of all clusters."""
        return sum(place.cores for place in self.clusters)

    def run(self, workflows: Sequence[Workflow]) -> Schedule:
        """Return the schedule of workflows."""
        schedule = self._simulated(workflows)
        return schedule.validate() if self.validate else schedule

    def _simulated(self, workflows: Sequence[Workflow]) -> Schedule:
        engine: Any = self.engine  # a text of the command line, which is checked there
        return simulate_workflows(
            workflows, clusters=self.clusters, engine=engine, seed=self.seed, bid=self.bid, **self.rules
        )


def _alike(bid: Priority, workflows: Sequence[Workflow]) -> str:
    """Return a warning of a bid that looks at value curves where no job loses value: all tasks bid the same."""
    asked = [name for name in bid.needs if name in _OF_CURVES]
    if not asked or not workflows or any(workflow.curve.points[-1][0] < math.inf for workflow in workflows):
        return ""
    return (
        f"{bid.name} looks at the {asked[0].replace('_', ' ')} of a job's value, and no job here ever loses any: tasks "
        "may all bid the same, and go in order of submission; --curve says when jobs lose value"
    )


def simulate(
    folder: WorkflowFolder,
    auction: Auction,
    *,
    jobs_out: Path | None,
    tasks_out: Path | None,
    gantt: Path | None,
    graph: Path | None,
    graph_job: int,
    window: tuple[str | None, str | None],
    json: bool,
) -> int:
    """Run the workflows of a folder under one bid, write the files asked for, print the metrics; return the status."""
    outputs = _outputs(jobs_out, tasks_out, gantt, graph, graph_job, auction.rules, window)
    with Steps(2 + len(outputs)) as shown:
        shown.begin("reading the workflows")
        workflows = folder.read(auction.cores)
        if graph is not None and graph_job not in {workflow.job_id for workflow in workflows}:
            raise RequestError(f"--graph-job {graph_job}", f"0 to {len(workflows) - 1} are allowed")
        tasks = sum(map(len, workflows))
        platform = f"{auction.cores:,} cores in {len(auction.clusters)} clusters"
        shown.remark(f"{folder.path}: {len(workflows):,} workflows of {tasks:,} tasks for {platform}")
        if warning := _alike(auction.bid, workflows):
            shown.remark(warning)
        shown.begin(f"{auction.bid.name} ({FIRST})")
        try:
            schedule = auction.run(workflows)
        except Exception as error:
            if auction.bid.is_built_in or isinstance(error, SimModelsError):
                raise
            complain(f"bid {auction.bid.name!r} failed: {told(error, [inspect.getfile(auction.bid.function)])}")
            return FAILED
        for path, write in outputs.items():
            shown.begin(f"writing {path.name}")
            write(schedule, path)
    metrics = schedule.metrics()
    if json:
        about = {"name": str(folder.path), "jobs": len(workflows), "tasks": tasks}
        platform_about = [place._asdict() for place in auction.clusters]
        print_json(
            {
                "workflows": about,
                "clusters": platform_about,
                "rules": schedule.about,
                "metrics": metrics,
                "files": [str(path) for path in outputs],
            }
        )
    else:
        show(f"{folder.path}, {platform}, {auction.bid.name}", workflow_table(metrics))
    for path in outputs:
        remark(f"wrote {path}")
    return DONE


def _outputs(
    jobs_out: Path | None,
    tasks_out: Path | None,
    gantt: Path | None,
    graph: Path | None,
    graph_job: int,
    rules: Mapping[str, Any],
    window: tuple[str | None, str | None],
) -> dict[Path, Writer]:
    """Return what writes each of the files asked for; refuse them if they cannot be written."""
    require_writable(path for path in (jobs_out, tasks_out, gantt, graph) if path is not None)
    outputs: dict[Path, Writer] = {}
    if jobs_out is not None:
        outputs[jobs_out] = table_writer(jobs_out, lambda schedule: schedule.jobs)
    if tasks_out is not None:
        outputs[tasks_out] = table_writer(tasks_out, lambda schedule: schedule.tasks)
    if gantt is not None:
        start_s, end_s = drawn_window(*window)
        outputs[gantt] = figure_writer(gantt, gantt=True, start_s=start_s, end_s=end_s)
    if graph is not None:
        outputs[graph] = _graph_writer(graph, graph_job, rules)
    return outputs


def _graph_writer(path: Path, job_id: int, rules: Mapping[str, Any]) -> Writer:
    """Return what draws the graph of a job."""
    from experiments import drawing, graph_drawing  # noqa: PLC0415  matplotlib is slow to import

    require_figure(path)

    def write(schedule: Schedule, path: Path) -> None:
        workflow = next(each for each in schedule.workload.workflows if each.job_id == job_id)
        drawn = graph_drawing.graph_by_rank(workflow, ccr=rules["ccr"], tick_s=rules["tick_s"])
        drawing.save(drawn, path)

    return write
