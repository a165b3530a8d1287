"""Selection: EASY's order chosen online, by simulation or by a bandit, on resampled logs: `PAPER`."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import product
from typing import Any, Final, get_args

import pandas as pd

from experiments.campaigns import Cell, Claim, Results, Scale, Study
from experiments.campaigns.cell import Rows
from experiments.studies.selection import settings
from experiments.studies.selection.paper import ELEMENTS, FILES, PAPER, missing_from
from experiments.studies.selection.results import SelectionResults, make_claims
from experiments.studies.selection.tables import make_tables, sentences
from simmodels import TWELVE_ORDERS
from simmodels.engine import Engine

_DECAYING: Final = tuple(f"decaying {period}" for period in settings.PERIODS)
_WITHOUT: Final = tuple(f"{order}{settings.UNBOUNDED}" for order in ("SPF", "SQF", "SAF"))
_ONCE: Final = tuple(f"{order}{settings.LOGGED}" for order in settings.SEVEN)
_BESIDE: Final = (*_DECAYING, *_WITHOUT, *_ONCE)
"""What runs beside table 2 and 3: with one variant only, the text's if it is run."""
_KNOWN: Final = (
    *TWELVE_ORDERS,
    *(f"{kind} {period}" for period in settings.PERIODS for kind in (*settings.KINDS, *settings.MORE_KINDS)),
    *(f"{order}{how}" for how in (settings.UNBOUNDED, settings.LOGGED) for order in TWELVE_ORDERS),
)


class Selection(Study):
    """EASY's order chosen online, by simulation or by a bandit.

    A replication is a resample of each log: two years of weeks drawn from its users' weeks. On it run the twelve
    orders, and four strategies that choose one of them for each day, or each week. ``variant`` is how: ``text`` as the
    paper says, ``program`` with the settings of its simulator; a threshold and a noise that are chosen replace theirs.

    Beside these run, with the text's variant (or the first, without it): ``SQF unbounded`` and others, an order without
    threshold; ``FCFS logged`` and others, an order on the log itself, once; and ``decaying day`` and ``week``, the
    bandit with an epsilon that halves each ``epsilon_half_life_weeks``. A strategy may also be ``ucb1`` or ``exp3``, by
    day or week. ``decay`` is what full feedback and epsilon-greedy multiply past costs by, from period to period, and
    ``epsilon_decay`` the same of epsilon. ``engine`` is that of its simulations; what a strategy simulates within is
    compiled on either.
    """

    parameters = {
        "weeks": 104, "threshold_h": None, "epsilon": 0.5, "epsilon_decay": 1.0, "epsilon_half_life_weeks": 13,
        "decay": 1.0, "noise": None, "cores": None, "engine": "auto",
    }  # fmt: skip
    factors = {
        "variant": ("text",),
        "workload": (settings.GENERATED,),
        "strategy": (*TWELVE_ORDERS, *settings.TUNERS, *_BESIDE),
    }
    scales = {
        "smoke": Scale(replications=5, judged=False, parameters={"weeks": 8}),
        "small": Scale(replications=10),
        "paper": Scale(replications=100, factors={"variant": settings.VARIANTS}),
    }
    measures = ("total_wait_s", "mean_wait_s", "max_wait_s", "mean_bounded_slowdown")
    drawn_by = "experiments.studies.selection.figures:draw_figures"
    paper = PAPER
    elements = ELEMENTS

    # -- the cells ----------------------------------------------------------------------------------

    def cells(self, scale: str, seed: int) -> Iterator[Cell]:
        """Hand out the cells of the design, once its settings are found to be allowed."""
        design = self.design(scale)
        design.require_known(engine=get_args(Engine), variant=settings.VARIANTS, strategy=_KNOWN)
        design.require_integers(1, "weeks")
        design.require_integers(1, "cores", or_none=True)
        design.require_numbers("threshold_h", least=0, unit="hours", also="none for the variant's", or_none=True)
        design.require_numbers("epsilon_half_life_weeks", above=0, unit="weeks")
        for variant in map(str, design.factors["variant"]):
            for kind in (*settings.KINDS, *settings.MORE_KINDS):
                settings.strategy_of(kind, "day", variant, design.parameters)  # it refuses what is out of range
        return (cell for cell in super().cells(scale, seed) if _is_run(cell, design.factors["variant"]))

    def inputs(self, scale: str) -> Mapping[str, Any]:
        """Return each log, cleaned as its variant has it."""
        design = self.design(scale)
        of, cores = design.factors, design.parameters["cores"]
        each = product(map(str, of["workload"]), map(str, of["variant"]))
        return {settings.input_of(*one): settings.read_log(*one, cores) for one in each}

    def uses(self, cell: Cell) -> Collection[str]:
        """Return the log of a cell: another log is no reason to run it again."""
        return (settings.input_of(cell["workload"], cell["variant"]),)

    def run_cell(self, cell: Cell) -> Rows:
        """Return one row per week: the waits of jobs that ended in it, the orders used; the last row has the sums."""
        return list(settings.rows_of(cell, cell.inputs[settings.input_of(cell["workload"], cell["variant"])]))

    # -- what is reported ---------------------------------------------------------------------------

    def tables(self, results: Results) -> Mapping[str, pd.DataFrame]:
        """Return tables 1 to 3, how well table 2 agrees with the printed one, and what the paper has no table of."""
        return make_tables(SelectionResults(results))

    def findings(self, results: Results) -> Sequence[str]:
        """Return which logs of the paper are missing, and the best order and strategies of each log."""
        found = SelectionResults(results)
        missing = missing_from(found.subjects)
        said = [text for by, workload in found.each for text in sentences(by, workload)]
        if not missing:
            return said
        where = f"They come from the Parallel Workloads Archive: --workload {FILES}"
        return [f"Not run, of the paper's seven logs: {', '.join(missing)}. {where}", *said]

    def claims(self, results: Results) -> Sequence[Claim]:
        """Return the claims of the paper, log by log, and those about all logs."""
        return make_claims(results)


def _is_run(cell: Cell, variants: Sequence[object]) -> bool:
    """Return whether a cell is run: what is beside the tables only with one variant, and a log itself once."""
    strategy: str = cell["strategy"]
    if strategy.endswith(settings.LOGGED) and cell.replication:
        return False
    return strategy not in _BESIDE or cell["variant"] == ("text" if "text" in variants else variants[0])
