"""Workflow inputs: what the words of a request mean, as clusters, a bid, workflows over time."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

from experiments.option import FLOWS, IN, SHARED, Option
from simmodels import SECOND, ClusterSpec, RequestError, ValueCurve, Workflow
from simmodels.errors import must_be
from simmodels.ground.numbers import MOST, as_number
from workloads import arrivals, read_workflows

_CLUSTER: Final = re.compile(r"\s*(?:([0-9]{1,6})\s*x\s*)?([0-9]{1,16})\s*(?::\s*([^\s:,]+))?\s*")
_MOST: Final = 10_000


def parse_clusters(text: str) -> tuple[ClusterSpec, ...]:
    """Return the clusters that a text such as ``3x1000:Kind1,1x1000:Kind2`` stands for.

    Parameters
    ----------
    text
        Parts set apart by commas: how many, ``x``, the cores of each, ``:``, their kind. Without a number it is one;
        without a kind, clusters take any task.

    Raises
    ------
    RequestError
        A part is something else, a cluster has no core, or there are more than 10,000 clusters.
    """
    specs: list[ClusterSpec] = []
    for part in text.split(","):
        found = _CLUSTER.fullmatch(part)
        if found is None or not 1 <= int(found[2]) <= MOST or not 1 <= int(found[1] or 1) <= _MOST:
            raise RequestError(must_be("clusters", "HOW-MANYxCORES:KIND, such as 3x1000:Kind1", part.strip()))
        for _ in range(int(found[1] or 1)):
            name = f"{found[3] or 'cluster'}-{1 + sum(spec.kind == found[3] for spec in specs)}"
            specs.append(ClusterSpec(name, int(found[2]), found[3]))
    if len(specs) > _MOST:
        raise RequestError(must_be("the number of clusters", f"at most {_MOST}", len(specs)))
    return tuple(specs)


def parse_curve(text: str) -> ValueCurve:
    """Return the value curve of a text such as ``3:8``: full worth up to SLR 3, falling to nothing at SLR 8.

    Raises
    ------
    RequestError
        It is no two numbers, or they make no curve.
    """
    first, colon, last = text.partition(":")
    try:
        ends = float(first), float(last)
    except ValueError:
        ends = None
    if ends is None or not colon or not 0 <= ends[0] <= ends[1] < float("inf"):
        raise RequestError(must_be("curve", "two SLRs, the second not less than the first, such as 3:8", text))
    return ValueCurve.linear(*ends)


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowFolder:
    """A folder of workflows, and how they are submitted: with neither a load nor a gap, as their files say, or at 0.

    Parameters
    ----------
    path
        A folder of workflows: WfFormat (.json) or Pegasus DAX (.xml, .dax).
    kind
        The kind of cluster that all tasks need.
    curve
        The value of a workflow falls from the first schedule length ratio to zero at the second.
    load
        Submit workflows at this load, a share of all cores.
    gap_s
        Submit workflows at this interval, instead of at a load.
    poisson
        Submit workflows at random intervals of that mean.
    jobs
        The number of workflows to draw from the folder, at random.
    tick_s
        Runtimes and submissions are whole multiples of this, in seconds.
    seed
        The seed of what is drawn.

    Raises
    ------
    RequestError
        `load` with `gap_s`; or a number of jobs, or random gaps, with neither of them.
    """

    path: Annotated[Path, Option(IN, "FOLDER", flags=("--workflows",))]
    kind: Annotated[str | None, Option(FLOWS, "KIND", "what the files say")] = None
    curve: Annotated[ValueCurve | None, Option(FLOWS, "SLR:SLR", "what the files say, or never", parse=parse_curve)] = (
        None
    )
    load: Annotated[float | None, Option(FLOWS, "PART", "when the files say, or all at once")] = None
    gap_s: Annotated[float | None, Option(FLOWS)] = None
    poisson: Annotated[bool, Option(FLOWS)] = False
    jobs: Annotated[int | None, Option(FLOWS, default="each file once")] = None
    tick_s: Annotated[float, SHARED] = SECOND
    seed: Annotated[int, SHARED] = 0

    def __post_init__(self) -> None:
        """Check that it is known when they are submitted."""
        if self.load is not None and self.gap_s is not None:
            raise RequestError("--load and --gap exclude each other", "omit one of them")
        as_number("--tick", self.tick_s, above=0, unit="seconds")
        if self.load is None and self.gap_s is None and (self.jobs is not None or self.poisson):
            given = "--poisson" if self.jobs is None else "--jobs"
            raise RequestError(f"{given} needs a rate of submission", "add --load or --gap")

    def read(self, cores: int) -> list[Workflow]:
        """Return the workflows, as they are submitted to a platform of this many cores.

        Raises
        ------
        FileFormatError
            The folder or one of its files cannot be read, or does not keep to its format.
        RequestError
            A number is out of its range.
        """
        found = read_workflows(self.path, tick_s=self.tick_s, kind=self.kind, curve=self.curve)
        if self.load is None and self.gap_s is None:
            return found
        return arrivals(
            found,
            self.jobs,
            load=self.load,
            cores=None if self.load is None else cores,
            gap_s=self.gap_s,
            poisson=self.poisson,
            replacement=self.jobs is not None,
            seed=self.seed,
            tick_s=self.tick_s,
        )
