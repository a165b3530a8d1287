"""``generate``: jobs, workflows and numbers of machines by the models of `workloads`, as files for other commands."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final, Literal, get_args

import numpy as np
import pandas as pd

from experiments.cli import help as cli_help
from experiments.cli.derive import command
from experiments.cli.output import DONE, Steps, print_note
from experiments.cli.signatures import call, request_of
from experiments.inputs import WorkloadFile, count_of
from experiments.option import OUT, SHARED, Force, Group, Option
from experiments.outputs import made_folder, require_folder, require_own, require_writable
from simmodels.errors import FileFormatError, RequestError, require_known
from simmodels.ground.files import ending_of
from simmodels.ground.numbers import as_integer
from simmodels.work.workflow import Workflow
from workloads.arrivals import arrivals
from workloads.capacities import capacity_walk
from workloads.files import COMPRESSIONS, read_json, write_whole
from workloads.graphs import cholesky, erdos_renyi_levels, fork_join, layers
from workloads.lublin import lublin
from workloads.perotin import variable_capacity_jobs
from workloads.resampling import resample
from workloads.swf import write_swf
from workloads.tsafrir import tsafrir_estimates
from workloads.wfformat import write_wfformat
from workloads.workflow_mix import market_workload

Estimates = Literal["model", "tsafrir"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LogFile:
    """A log, as a file.

    Parameters
    ----------
    out
        The log in the Standard Workload Format: .swf, also with .gz, .bz2 or .xz.
    estimates
        The time limits of jobs: those of the model, or tsafrir, as users give them: few, round and never too short
        (Tsafrir, Etsion and Feitelson 2005).
    """

    out: Annotated[Path, Option(OUT)]
    estimates: Annotated[Estimates, Option(OUT)] = "model"
    seed: Annotated[int, SHARED] = 0

    def write(self, model: Any, _name: str) -> str:  # noqa: ANN401  a request of `request_of`
        """Write the jobs that a model makes; return how many."""
        require_known("estimates", self.estimates, get_args(Estimates))
        _require_file(self.out, ".swf", model)
        with Steps(2) as shown:
            shown.begin("generating")
            jobs = call(model)
            if self.estimates == "tsafrir":
                jobs = tsafrir_estimates(jobs, seed=self.seed)
            shown.begin(f"writing {self.out.name}")
            write_swf(jobs, self.out)
        return count_of(len(jobs), "job")


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesFile:
    """A number of machines over time, as a table for --series.

    Parameters
    ----------
    out
        The table: .csv, also with .gz, .bz2 or .xz.
    """

    out: Annotated[Path, Option(OUT)]

    def write(self, model: Any, _name: str) -> str:  # noqa: ANN401  as in `LogFile`
        """Write one row per period, the last where the walk ends or later; return how many."""
        _require_file(self.out, ".csv", model)
        with Steps(1) as shown:
            shown.begin("generating")
            walk, period_s = call(model), model.period_s
            time_s = period_s * np.arange(math.ceil(model.until_s / period_s) + 1)
            machines = walk.machines[np.searchsorted(walk.time_s, time_s, side="right") - 1]
            table = pd.DataFrame({"time": pd.to_datetime(time_s, unit="s"), "machines": machines})
            write_whole(self.out, table.to_csv(index=False, lineterminator="\n").encode())
        return count_of(len(table), "row")


@dataclass(frozen=True, slots=True, kw_only=True)
class Folder:
    """A folder of workflows.

    Parameters
    ----------
    out
        The folder of workflows, in WfFormat; those that were generated there by the same model are removed first.
    count
        The number of workflows; each one has the next seed.
    """

    out: Annotated[Path, Option(OUT, "FOLDER")]
    count: Annotated[int, Option(OUT)] = 1
    force: Force = False
    seed: Annotated[int, SHARED] = 0

    def write(self, model: Any, name: str) -> str:  # noqa: ANN401  as in `LogFile`
        """Write the workflows that a model makes, or of the graphs that it makes, a file each; return how many."""
        require_folder(self.out)
        if self.out.resolve() in {each.resolve() for each in vars(model).values() if isinstance(each, Path)}:
            raise RequestError(
                f"cannot write to folder {self.out}: it is the one that is read", "choose another folder"
            )
        mark, there = f"made by schedlab generate {name}", set(self.out.glob(f"{name}-*.json"))
        own = {path for path in there if _described(path) == mark}
        if not self.force:
            require_own(self.out, sorted(path.name for path in there - own), "generate")
        with Steps(self.count) as shown:
            jobs: list[Workflow] = []
            for number in range(as_integer("--count", self.count, 1)):
                shown.begin(f"generating {number + 1} of {self.count}")
                made = call(model, seed=self.seed + number)
                jobs += made if isinstance(made, list) else [Workflow.from_graph(made, job_id=number)]
        made_folder(self.out)
        for path in own:
            path.unlink()
        with Steps(len(jobs)) as shown:
            for number, job in enumerate(jobs):
                shown.begin(f"writing {number + 1} of {len(jobs)}")
                write_wfformat(job, self.out / f"{name}-{number:05d}.json", description=mark)
        return count_of(len(jobs), "workflow")


class Models(cli_help.Group):
    """The models, as commands."""

    called = "model"


def _require_file(path: Path, ending: str, model: Any) -> None:  # noqa: ANN401  as in `LogFile`
    """Refuse a file that cannot be written, or that the model reads."""
    ending_of(path, [ending, *(ending + each for each in COMPRESSIONS)], "the file's name")
    require_writable([path], sources=[each.path for each in vars(model).values() if isinstance(each, WorkloadFile)])


def _described(path: Path) -> object:
    """Return what a file of a workflow says of itself, as a whole: names within it say nothing of who wrote it."""
    try:
        content = read_json(path)
    except FileFormatError:
        return None
    return content.get("description") if isinstance(content, dict) else None


def _model(panel: str, output: Any, function: Callable[..., Any], example: str, *without: str) -> Any:  # noqa: ANN401
    """Return the command of a model: its name is the first word of the example."""
    name = example.split(maxsplit=1)[0]

    def generate(*, model: Any, output: Any) -> int:  # noqa: ANN401  requests
        print_note(f"wrote {output.write(model, name)} to {output.out}")
        return DONE

    generate.__annotations__ |= {"model": request_of(function, without=("name", *without)), "output": output}
    made = command(generate, examples=(f"schedlab generate {example}",))
    first = " ".join((function.__doc__ or "").split("\n\n")[0].split()).removeprefix("Return ").replace("`", "")
    made.name, made.help, made.rich_help_panel = name, first[0].upper() + first[1:], panel
    return made


_JOBS, _FLOWS, _MACHINES = "Rigid jobs", "Workflows", "Machines"
_SOME = Annotated[Folder, Group(without=("count",))]
_MODELS: Final = (
    _model(_JOBS, LogFile, lublin, "lublin --jobs 5000 --cores 256 --load 0.9 --estimates tsafrir --out log.swf.gz"),
    _model(_JOBS, LogFile, variable_capacity_jobs, "variable-capacity --family LogScale --out jobs.swf.gz"),
    _model(_JOBS, Annotated[LogFile, Group(without=("estimates",))], tsafrir_estimates,
           "tsafrir --workload log.swf.gz --max-estimate 60h --out estimated.swf.gz"),
    _model(_JOBS, LogFile, resample, "resample --workload log.swf.gz --weeks 4 --out resampled.swf.gz"),
    _model(_FLOWS, Folder, layers, "layers --tasks 30 --runtime 5min:2h --cores 1:8 --count 3 --out flows"),
    _model(_FLOWS, Folder, erdos_renyi_levels, "levels --widths 1,4,4,1 --probability 0.5 --out flows"),
    _model(_FLOWS, Folder, fork_join, "fork-join --width 8 --stages 2 --out flows"),
    _model(_FLOWS, Folder, cholesky, "cholesky --tiles 4 --out flows"),
    _model(_FLOWS, _SOME, market_workload, "market --jobs 100 --load 0.9 --out market", "week"),
    _model(_FLOWS, _SOME, arrivals, "arrivals --workflows flows --jobs 10 --gap 10min --poisson --out stream", "week"),
    _model(_MACHINES, SeriesFile, capacity_walk, "walk --mean 24 --radius 8 --until 4w --out machines.csv",
           "begin_s", "notice_s", "mode"),
)  # fmt: skip
COMMAND: Final = Models(
    commands={each.name: each for each in _MODELS},
    epilog="\n".join(each.epilog for each in (_MODELS[0], _MODELS[4], _MODELS[-1])),
    context_settings={"help_option_names": ["-h", "--help"]},
    no_args_is_help=True,
)
