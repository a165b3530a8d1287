"""The studies that are measured: cells of about ten milliseconds, and cells of next to nothing."""

import simmodels as sm
import workloads as wl
from experiments.campaigns import Cell, Scale, Study


class TenMilliseconds(Study):
    """A generated workload of 6,500 jobs, replayed."""

    parameters = {"jobs": 6_500}
    factors = {"order": ["FCFS", "SAF"]}
    scales = {"small": Scale(replications=500), "paper": Scale(replications=5_000)}

    def run_cell(self, cell: Cell) -> dict[str, float]:
        """Return the figures of merit of one replay."""
        jobs = wl.lublin(jobs=cell["jobs"], cores=256, load=0.9, seed=cell.seed_for("workload"))
        return sm.simulate(jobs, order=cell["order"]).metrics()


class Nothing(Study):
    """Cells that draw a number: what is left is what a campaign itself costs."""

    factors = {"side": ["left", "right"]}
    scales = {"small": Scale(replications=5_000), "paper": Scale(replications=50_000)}

    def run_cell(self, cell: Cell) -> dict[str, float]:
        """Return a number."""
        return {"drawn": float(cell.stream("number").random())}
