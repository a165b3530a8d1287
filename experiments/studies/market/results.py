"""The tables of the market study, and what it concludes."""

from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any, Final

import pandas as pd

from experiments.campaigns import Results, Scope
from experiments.campaigns.families import Evidence
from experiments.campaigns.judging import NOTHING, Member, StudyResults, Values
from experiments.campaigns.paper import read_numbers
from experiments.campaigns.sentences import Compared, Point, Sentence, names_of
from experiments.studies.market.measures import MEASURES
from experiments.studies.market.settings import ALONE, PLAIN, TENTHS, at
from simmodels import TEN_BIDS

ENOUGH_JOBS: Final = 10_000
"""Which bid is best depends on how long the overload lasts: of fewer jobs nothing is claimed."""
_HERE: Final = Path(__file__).parent
PROTOTYPE: Final[Mapping[tuple[str, float, str, str], float]] = {
    ("drain", float(load), bid, measure): mean
    for (load, measure, bid), mean in read_numbers(_HERE / "prototype.csv", 2).items()
} | {
    ("submit", float(load), bid, measure): mean
    for (bid, measure, load), mean in read_numbers(_HERE / "prototype_cut.csv", 2).items()
}
"""Mean value or starved fraction of an independent program, by end, load, bid and measure: over three workloads of its
own, or over one where the runs are cut at the last submission."""


def enough_jobs(results: Results) -> bool:
    """Return whether the workloads are large enough to compare bids."""
    jobs = results.parameters.get("jobs")
    return isinstance(jobs, int | float) and jobs >= ENOUGH_JOBS


def grid(results: Results, measure: str, end: str = "drain") -> pd.DataFrame:
    """Return a measure: one row per workload of which nothing is missing, one column per load and bid."""
    table = results.table
    if table.empty or measure not in table:
        return pd.DataFrame(columns=pd.MultiIndex.from_arrays([[], []], names=["load", "bid"]))
    # A measure may be missing where no job finished, the value never is; pivot_table drops columns that are missing.
    cells = results.where(end=end, rule=PLAIN).set_index(["replication", "load", "bid"])
    values = cells["value"].unstack(["load", "bid"])  # noqa: PD010
    found = cells[measure].unstack(["load", "bid"])  # noqa: PD010
    return pd.DataFrame(found).loc[values.index[values.notna().all(axis="columns")]]


def by_load(results: Results, measure: str) -> pd.DataFrame:
    """Return the means over the workloads: one row per end and load, one column per bid."""
    rows = []
    for end in results.texts("end"):
        means = grid(results, measure, end).mean()
        for load in dict.fromkeys(means.index.get_level_values("load")):
            of_load = means[load]
            rows.append({"end": end, "load": load} | {bid: of_load[bid] for bid in _bids(results) if bid in of_load})
    return pd.DataFrame(rows)


def make_tables(results: Results) -> dict[str, pd.DataFrame]:
    """Return value and starvation by load and by size, and what other rules change."""
    return {
        "mean value by load": by_load(results, "value"),
        "mean starved fraction by load": by_load(results, "starved"),
        "SLR by tenth of execution time": by_decile(results, "slr"),
        "starved fraction by tenth of execution time": by_decile(results, "starved"),
        "SLR by tenth of volume": by_decile(results, "volume_slr"),
        "starved fraction by tenth of volume": by_decile(results, "volume_starved"),
        "against an independent program": _against_prototype(results),
        "other rules against plain": by_rule(results),
        "each workflow alone on the empty platform": _alone(results),
    }


def _bids(results: Results) -> list[str]:
    """Return the bids, in the order of the study, without the plans of workflows alone."""
    table = results.table
    auctioned = set() if table.empty else set(table.loc[table["rule"] != ALONE, "bid"])
    return [bid for bid in results.texts("bid") if bid in auctioned]


def _against_prototype(results: Results) -> pd.DataFrame:
    """Return our means beside the prototype's: one row per end, load, bid and measure."""
    rows = []
    for end, measure in product(results.texts("end"), ("value", "starved")):
        found = grid(results, measure, end)
        for (at_end, load, bid, of), theirs in PROTOTYPE.items():
            if (at_end, of) != (end, measure) or (load, bid) not in found.columns or found.empty:
                continue
            off = found[load, bid] - theirs
            row = {"end": end, "load": load, "bid": bid, "measure": measure, "prototype": theirs}
            spread = off.std(ddof=1) if len(off) > 1 else None
            rows.append(row | {"ours": theirs + off.mean(), "difference": off.mean(), "spread": spread})
    return pd.DataFrame(rows)


def by_decile(results: Results, measure: str, end: str = "") -> pd.DataFrame:
    """Return means over the workloads by tenths of the jobs, the smallest first: one row per load and bid.

    The measure is ``slr`` or ``starved`` for tenths by execution time, ``volume_slr`` or ``volume_starved`` for those
    by volume. The end of the runs is the first of the design if empty.
    """
    columns = {f"{measure}_{tenth}": str(tenth) for tenth in TENTHS}
    table = results.table
    if table.empty or f"{measure}_1" not in table:
        return pd.DataFrame()
    rows = results.where(end=end or results.texts("end")[0], rule=PLAIN)
    found = rows.groupby(["load", "bid"], sort=False)[list(columns)].mean()
    return found.rename(columns=columns).reset_index()


def by_rule(results: Results) -> pd.DataFrame:
    """Return what each other rule changes: paired differences from plain, with intervals, by load and bid."""
    rows = []
    rules = [rule for rule in results.factors["rule"] if rule not in {PLAIN, ALONE}]
    for rule in rules if len(results.table) else ():
        cells = results.where(rule=rule)[["load", "end", "bid"]].drop_duplicates()
        for load, end, bid in cells.itertuples(index=False, name=None):
            where = {"load": load, "end": end, "bid": bid}
            row = {"rule": rule, "load": load, "bid": bid}
            for measure in ("value", "starved"):
                effect = results.difference(measure, {**where, "rule": rule}, {**where, "rule": PLAIN})
                row |= {} if effect is None else effect.columns(f"{measure}: change", prefix=f"{measure}: ")
            extra = {"rejected": "rejected", "paid": "prices over V_max"}
            of_cell = results.where(rule=rule, load=load, bid=bid)
            row |= {name: of_cell[column].mean() for column, name in extra.items() if column in of_cell}
            rows.append(row)
    return pd.DataFrame(rows)


def _alone(results: Results) -> pd.DataFrame:
    """Return how long workflows take that have the platform to themselves: one row per plan or bid."""
    rows = results.where(rule=ALONE)
    if rows.empty:
        return pd.DataFrame()
    found = rows.groupby("bid", sort=False).agg(
        workflows=("jobs", "sum"), mean_slr=("mean_slr", "mean"), max_slr=("max_slr", "max")
    )
    found["workflows"] = found["workflows"].astype(int)
    return found.reset_index().rename(columns={"bid": "plan or bid", "mean_slr": "mean SLR", "max_slr": "max SLR"})


def conclusions(results: Results) -> list[str]:
    """Return which bid is worth most at each load, which starves fewest jobs, and what is best of the other rules."""
    if not enough_jobs(results):
        return [
            f"No conclusion is drawn from fewer than {ENOUGH_JOBS:,} jobs: so short an overload favours other bids."
        ]
    found: list[str] = []
    for end in results.texts("end"):
        cut = ", cut at the last submission" if end == "submit" else ""
        values, starved = grid(results, "value", end).mean(), grid(results, "starved", end).mean()
        for load in dict.fromkeys(values.index.get_level_values("load")):
            of_load = values[load].sort_values(ascending=False, kind="stable")
            if len(of_load) > 1:
                (first, best), (second, next_best) = list(of_load.items())[:2]
                fewest = starved[load].min()
                spare = " and ".join(starved[load].index[starved[load] == fewest])
                where = f"At load {100.0 * load:g} %{cut}"
                found.append(
                    f"{where}, {first} gets {best:.1%} of the value, and {second} {next_best:.1%}; "
                    f"the fewest jobs starve under {spare} ({fewest:.2%})."
                )
    rules = by_rule(results)
    if len(rules):
        best_row = rules.sort_values("value: change", ascending=False, kind="stable").iloc[0]
        found.append(
            f"Of the other rules, {best_row['rule']} changes the value most for the better: "
            f"by {best_row['value: change']:+.3f}, with {best_row['bid']} at load {100.0 * best_row['load']:g} %."
        )
    return found


class MarketResults(StudyResults):
    """What was measured at each end of the runs: of the bids at loads, a value a workload."""

    order = TEN_BIDS
    measures = MEASURES
    leave_out = False
    missing = "not all that it is about was run, or finished"
    subjects = ("drain", "submit")

    def __init__(self, results: Results) -> None:
        super().__init__(results)
        self.judged = enough_jobs(results)
        self._tables: dict[tuple[str, str], pd.DataFrame] = {}

    def table(self, measure: str, end: str) -> pd.DataFrame:
        """Return a measure at an end of the runs, see `grid`."""
        if (measure, end) not in self._tables:
            self._tables[measure, end] = grid(self.results, measure, end)
        return self._tables[measure, end]

    def value(self, column: str, alternative: str, subject: str, **moved: Any) -> Values:  # noqa: ANN401
        """Return a measure under a bid at a load, a value a workload; empty if it was not run."""
        table, where = self.table(column, subject), (moved["load"], alternative)
        return table[where].astype(float) if len(table) and where in table.columns else NOTHING

    def ran(self, bid: str, end: str) -> bool:
        """Return whether a bid was run."""
        return bid in self.table("value", end).columns.get_level_values("bid")

    def levels(self, factor: str, subject: str) -> list[float]:
        """Return the loads that were run, rising."""
        return sorted(set(self.table("value", subject).columns.get_level_values(factor)))

    def there(self, alternatives: Sequence[str], subject: str) -> Sequence[str]:
        """Return those of the bids that were run."""
        return [bid for bid in alternatives if self.ran(bid, subject)]

    def scope(self, said: Sentence, on: Sequence[str]) -> Scope:
        """Return what a sentence is about: bids at each of its loads, at its end of the runs, without other rules."""
        moved = self.moved(said.compared)
        return Scope(at_each={"end": on, "rule": (PLAIN,), **moved}, along={"bid": self.named(said.compared)})

    def text(self, said: Sentence, on: Sequence[str]) -> str:
        """Return a sentence with the end of the runs."""
        return said.text if on == ("drain",) else f"{said.text}, if runs are cut at the last submission"

    def measure(self, said: Sentence) -> str:
        """Return what is measured, in words: ``value: PVR less another``, or ``starved under PVR``."""
        of, against = names_of(said.compared.of), names_of(said.compared.against)
        less = f": {of[0]} less {against[0] if len(against) == 1 else 'another'}" if against else f" under {of[0]}"
        return said.measure or f"{names_of(said.compared.values)[0]}{less}"

    def at(self, point: Point) -> str:
        """Return a load as it is named."""
        return at(float(str(point["load"])))

    def step(self, factor: str, one: Any, other: Any) -> str:  # noqa: ANN401, ARG002  a step goes by where it ends
        """Return a step between loads as it is named."""
        return at(other)

    def called(self, compared: Compared, member: Member, several: frozenset[str]) -> str:
        """Return the name of a member: the bids and the tenth that differ, and the load."""
        parts = [getattr(member, side) for side in ("of", "against") if side in several]
        if not isinstance(compared.values, str):
            parts.append(f"tenth {member.column.rpartition('_')[2]}")
        return ", ".join([*parts, *([member.along] if compared.against or "along" in several or not parts else [])])

    def shown(self, found: Evidence) -> tuple[str, str]:
        """Return which member decides, added to what is measured."""
        several = f", at each of {found.members}; shown: {found.member}"
        return several if found.members > 1 else f", {found.member}", ""
