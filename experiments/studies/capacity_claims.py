"""The claims of the paper on variable capacity, checked workload by workload."""

import math
from collections.abc import Iterator
from itertools import pairwise
from typing import Final

import pandas as pd

from experiments.campaigns.claims import Claim
from experiments.campaigns.statistics import Effect
from experiments.on_machines import ASAP, FIRST_FIT, FIVE
from experiments.studies.capacity_results import SWEEPS, Found
from experiments.studies.capacity_settings import BORG

_DECIDE: Final = "--scale paper"
_ROUNDING: Final = 1e-9


def claims_of(found: Found) -> Iterator[Claim]:
    """Hand out the claims V1 to V15 about each workload of the results."""
    each = [_Workload(found, workload) for workload in found.workloads]
    for workload in each:
        yield from workload.claims()
    gains = [values for workload in each for values in workload.gains().values() if len(values)]
    yield Claim(
        text="TargetASAP and PackedTargetASAP gain on first fit in the mean of all settings and workloads",
        source="V2",
        measure="goodput less that of first fit, mean of the settings",
        effect=found.effect(pd.concat(gains, axis=1).mean(axis=1) if gains else None),
        at_least=0.01,
        to_decide=_DECIDE,
    )


class _Workload:
    """The claims about one workload."""

    def __init__(self, found: Found, workload: str) -> None:
        self.found = found
        self.name = workload

    def of(self, measure: str, heuristic: str, **moved: object) -> "pd.Series[float]":
        """Return a measure of a heuristic, a value a job trace and walk."""
        return self.found.values(measure, self.name, heuristic, **moved)

    def claim(
        self,
        number: int,
        text: str,
        measure: str,
        effect: Effect | None,
        *,
        note: str = "",
        unit: str = "",
        **bounds: float,
    ) -> Claim:
        """Return a claim about this workload."""
        return Claim(
            text=f"{text}, on {self.name}",
            source=f"V{number}",
            measure=measure,
            effect=effect,
            to_decide=_DECIDE,
            note=note,
            unit=unit,
            **bounds,  # type: ignore[arg-type]  # names of bounds
        )

    def claims(self) -> Iterator[Claim]:
        """Hand them out, in the order of their numbers."""
        yield self._shares()
        yield from self._gains()
        yield from self._first_fit()
        yield from self._by_machines()
        yield from self._by_period()
        yield self._by_radius()
        yield from self._others()
        yield from self._first_fit_by_period()

    def points(self, *names: str) -> list[dict[str, object]]:
        """Return the points of some sweeps, the centre first."""
        centre = self.found.centre
        return [{}] + [
            {name: value} for name in names for value in self.found.swept(name, self.name) if value != centre[name]
        ]

    def least(self, values: dict[str, "pd.Series[float]"]) -> tuple[str, Effect | None]:
        """Return the name and effect of the values with the least mean."""
        effects = {name: effect for name, each in values.items() if (effect := self.found.effect(each)) is not None}
        if not effects:
            return "", None
        name = min(effects, key=lambda each: effects[each].estimate)
        return f"the least: {name}", effects[name]

    def gains(self) -> dict[str, "pd.Series[float]"]:
        """Return the goodput of each of the two ASAP less that of each first fit, at each point of the sweeps."""
        return {
            f"{one} less {other} at {_shown(point)}": self.of("goodput", one, **point)
            - self.of("goodput", other, **point)
            for point in self.points(*SWEEPS)
            for one in ASAP
            for other in FIRST_FIT
        }

    def _shares(self) -> Claim:
        """V1."""
        table = self.found.results.table
        table = table[table["workload"] == self.name] if len(table) else table
        most = float((table["goodput"] + table["aborted"]).max()) if len(table) else math.nan
        return self.claim(
            1, "Goodput and the aborted share are at most the whole", "the largest sum of the two, of all cells",
            None if math.isnan(most) else Effect.exact(most, replications=len(table)),
            at_most=1.0 + _ROUNDING,
        )  # fmt: skip

    def _gains(self) -> Iterator[Claim]:
        """V2 and V3."""
        note, effect = self.least(self.gains())
        yield self.claim(
            2, "TargetASAP and PackedTargetASAP are nowhere below first fit",
            "goodput less that of first fit, in the setting where it is least", effect, note=note, at_least=-0.002,
        )  # fmt: skip
        least = 0.04 if self.name == BORG else 0.005
        yield self.claim(
            3, f"The gain of PackedTargetASAP on first fit is at least {100 * least:g} points",
            "goodput less that of FirstFitAware",
            self.found.effect(self.of("goodput", "PackedTargetAsap") - self.of("goodput", "FirstFitAware")),
            at_least=least,
        )  # fmt: skip

    def _first_fit(self) -> Iterator[Claim]:
        """V4 and V5."""
        yield self.claim(
            4, "First fit that knows the order of switching off is as good as that which does not",
            "goodput of FirstFitAware less that of FirstFitUnaware",
            self.found.effect(self.of("goodput", "FirstFitAware") - self.of("goodput", "FirstFitUnaware")),
            at_least=-0.015, at_most=0.015,
        )  # fmt: skip
        below = self.found.effect(self.of("goodput", "TargetStretch") - self.of("goodput", "FirstFitAware"))
        measure = "goodput less that of FirstFitAware"
        if self.name == "Uniform":
            yield self.claim(5, "TargetStretch is below first fit", measure, below, less_than=0.0)
        if self.name in {"LogScale", BORG}:
            yield self.claim(5, "TargetStretch is above first fit", measure, below, more_than=0.0)

    def _by_machines(self) -> Iterator[Claim]:
        """V6 and V13."""
        swept = self.found.swept("machines", self.name)
        inner = rise = fall = first = last = None
        few, many = (swept[0], swept[-1]) if swept else (None, None)
        if len(swept) > 2:
            means = {
                value: float(self.of("goodput", "PackedTargetAsap", machines=value).mean()) for value in swept[1:-1]
            }
            inner = max(means, key=lambda value: means[value])
            best = self.of("goodput", "PackedTargetAsap", machines=inner)
            rise = self.found.effect(best - self.of("goodput", "PackedTargetAsap", machines=few))
            fall = self.found.effect(best - self.of("goodput", "PackedTargetAsap", machines=many))
        note = "" if inner is None else f"the best between: {inner} machines"
        yield self.claim(
            6, "Goodput rises with the machines at first", "that of PackedTargetASAP at the best number between the "
            "ends, less that with the fewest", rise, note=note, more_than=0.0,
        )  # fmt: skip
        yield self.claim(
            6, "Goodput falls with many machines", "that of PackedTargetASAP at the best number between the ends, less "
            "that with the most", fall, note=note, more_than=0.0,
        )  # fmt: skip
        if len(swept) > 1:
            against = {
                value: self.of("goodput", "TargetStretch", machines=value)
                - self.of("goodput", "TargetAsap", machines=value)
                for value in (few, many)
            }
            first = self.found.effect(against[few] - against[many])
            others = {
                name: self.of("goodput", name, machines=many) - self.of("goodput", "TargetStretch", machines=many)
                for name in FIVE
                if name != "TargetStretch"
            }
            note, last = self.least(others)
        yield self.claim(
            6, "TargetStretch stands better when machines are few than when they are many",
            "its goodput less that of TargetASAP with the fewest machines, less the same with the most", first,
            more_than=0.0,
        )  # fmt: skip
        yield self.claim(
            6, "TargetStretch is the last when machines are many", "goodput of the next less its own", last,
            note=note if last is not None else "", more_than=0.0,
        )  # fmt: skip
        if self.name == BORG:
            ahead = {
                name: self.of("goodput", "TargetStretch", machines=few) - self.of("goodput", name, machines=few)
                for name in (FIVE if few is not None else ())
                if name != "TargetStretch"
            }
            note, effect = self.least(ahead)
            yield self.claim(
                6, "TargetStretch is the first when machines are few", "its goodput less that of the next", effect,
                note=note, more_than=0.0,
            )  # fmt: skip
        done = {name: self.of("completed_share", name, machines=28) for name in ASAP}
        note, effect = self.least(done)
        yield self.claim(
            13, "With 28 machines nearly all jobs complete", "share of the jobs that complete, of the two ASAP", effect,
            note=note, at_least=0.95,
        )  # fmt: skip

    def _by_period(self) -> Iterator[Claim]:
        """V7 and V15."""
        swept = self.found.swept("period_s", self.name)
        drops = {
            f"from {one} s to {other} s": self.of("aborted", "TargetAsap", period_s=one)
            - self.of("aborted", "TargetAsap", period_s=other)
            for one, other in pairwise(swept)
        }
        note, effect = self.least(drops)
        yield self.claim(
            7, "The rarer the changes, the less is aborted", "the least drop of TargetASAP's aborted share from one "
            "period to the next", effect, note=note, more_than=0.0,
        )  # fmt: skip
        wider = better = None
        if len(swept) > 1:
            spread = [
                (each - each.groupby(level="trace").transform("mean")).abs()  # how walks differ, not job traces
                for each in (self.of("goodput", "TargetAsap", period_s=value) for value in (swept[0], swept[-1]))
            ]
            wider = self.found.effect(spread[1] - spread[0])
        yield self.claim(
            7, "The rarer the changes, the more goodput varies", "mean absolute deviation of TargetASAP's goodput with "
            "the longest period, less that with the shortest", wider, more_than=0.0,
        )  # fmt: skip
        if len(swept) > 1 and swept[0] != self.found.centre["period_s"]:
            ahead = [
                self.of("goodput", "TargetStretch", **point) - self.of("goodput", "FirstFitAware", **point)
                for point in ({"period_s": swept[0]}, {})
            ]
            better = self.found.effect(ahead[0] - ahead[1])
        yield self.claim(
            15, "With frequent changes TargetStretch gains on first fit", "its goodput less that of FirstFitAware with "
            "the shortest period, less the same at the centre", better, more_than=0.0,
        )  # fmt: skip

    def _by_radius(self) -> Claim:
        """V8."""
        swept, centre = self.found.swept("radius", self.name), self.found.centre["radius"]
        wide = swept[-1] if swept and swept[-1] != centre else None
        falls = {
            name: self.of("goodput", name) - self.of("goodput", name, radius=wide)
            for name in (FIVE if wide is not None else ())
        }
        note, effect = self.least(falls)
        return self.claim(
            8, "The more machines come and go, the less goodput, under each heuristic",
            "goodput at the centre less that with the largest radius", effect, note=note, more_than=0.0,
        )  # fmt: skip

    def _others(self) -> Iterator[Claim]:
        """V9 to V12."""
        times = self.of("max_stretch", "FirstFitAware") / self.of("max_stretch", "TargetAsap")
        yield self.claim(
            9, "The longest stretch of first fit is twice to three times that of the targeted",
            "max_stretch of FirstFitAware over that of TargetASAP", self.found.effect(times), at_least=1.5,
            note="jobs of a few seconds decide it" if self.name == "Uniform" else "",
        )  # fmt: skip
        for measure, what in (("aborted", "share"), ("mean_aborted_s", "time")):
            for less, more in (("TargetStretch", "TargetAsap"), ("TargetAsap", "FirstFitAware")):
                yield self.claim(
                    10, f"{less} has a smaller aborted {what} than {more}", f"{measure} of the one less the other",
                    self.found.effect(self.of(measure, less) - self.of(measure, more)), less_than=0.0,
                )  # fmt: skip
        sums = {name: self.of("goodput", name) + self.of("aborted", name) for name in FIVE}
        full = {name: each for name, each in sums.items() if name != "TargetStretch"}
        note, effect = self.least(full)
        yield self.claim(
            11, "First fit and the two ASAP leave next to nothing idle", "goodput and aborted share, the least of the "
            "four", effect, note=note, at_least=0.98,
        )  # fmt: skip
        yield self.claim(
            11, "TargetStretch leaves cores idle", "goodput and aborted share",
            self.found.effect(sums["TargetStretch"]), at_most=0.97,
        )  # fmt: skip
        yield self.claim(
            12, "PackedTargetASAP is at least as good as TargetASAP", "goodput less that of TargetASAP",
            self.found.effect(self.of("goodput", "PackedTargetAsap") - self.of("goodput", "TargetAsap")),
            at_least=-0.003,
        )  # fmt: skip

    def _first_fit_by_period(self) -> Iterator[Claim]:
        """V14, which the released number of jobs does not give."""
        swept = self.found.swept("period_s", self.name)
        each = {f"{value} s": self.of("goodput", "FirstFitAware", period_s=value) for value in swept}
        note, effect = self.least(each if len(swept) > 1 else {})
        measure = "goodput of FirstFitAware with the period where it is least"
        if self.name == "Uniform":
            yield self.claim(14, "First fit falls below 75 %", measure, effect, note=note, less_than=0.75, unit="%")
        if self.name in {"3types", BORG}:
            yield self.claim(14, "First fit stays above 84 %", measure, effect, note=note, at_least=0.84, unit="%")


def _shown(point: dict[str, object]) -> str:
    return ", ".join(f"{name} {value}" for name, value in point.items()) or "the centre"
