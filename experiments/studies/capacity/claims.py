"""The claims of the paper on variable capacity: those on goodput (sections 6.1 to 6.3), and all of them together.

A claim on "all", "each" or "always" is judged as `experiments.campaigns.families.everywhere` says; the comparison that
decides stands beside it. Sentences of ours, weaker or sharper than the paper's, are marked.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, Final

import numpy as np
import pandas as pd

from experiments.campaigns.claims import Claim
from experiments.on_machines import ASAP, FIRST_FIT, FIVE
from experiments.studies.capacity.claims_metrics import metric_claims
from experiments.studies.capacity.measures import (
    FOUR,
    About,
    Family,
    best_share,
    deciding,
    judged_by,
    mean_of,
    measured,
    scope_of,
    scope_of_number,
)
from experiments.studies.capacity.paper import NEARLY_ALL, PRINTED, SIMILAR
from experiments.studies.capacity.relative_claims import relative_claims
from experiments.studies.capacity.results import CapacityResults
from experiments.studies.capacity.settings import BORG, CENTRE, SWEPT

_MACHINES: Final = (20, 26, 28)
"""The numbers of machines between which section 6.1 has goodput rise and fall."""


def make_claims(found: CapacityResults) -> Iterator[Claim]:
    """Hand out the claims, section by section: those about all workloads, then workload by workload."""
    yield from _overall(found)
    yield from relative_claims(found)
    for workload in found.workloads:
        about = About(found, workload)
        if workload == "LogScaleU":
            yield from _close_to_uniform(about)
            continue
        yield from _by_machines(about)
        yield from _at_all(about)
        yield from _by_period(about)
        yield from _by_radius(about)
        yield from metric_claims(about)


def _overall(found: CapacityResults) -> Iterator[Claim]:
    """Hand out the numbers that the text prints, and what it says of all workloads together."""
    for printed in PRINTED:
        if printed.workload and printed.workload not in found.workloads:
            continue
        yield judged_by(
            measured(found, printed),
            text=f"{printed.text}, on {printed.workload}" if printed.workload else printed.text,
            source=printed.place,
            number=printed.number,
            ours=printed.ours,
            measure=printed.what,
            unit=printed.unit,
            scope=scope_of_number(printed),
            **printed.bounds(),  # type: ignore[arg-type]  # names of bounds
        )
    yield judged_by(
        best_share(found),
        text="TargetASAP or PackedTargetASAP is the best heuristic in almost all settings",
        source="section 6.4",
        measure="share of settings and workloads in which one of the two has the largest mean goodput",
        at_least=NEARLY_ALL,
        unit="%",
        scope=scope_of(tuple(SWEPT), "neither"),
    )
    gains = {
        f"{workload} {name}": each
        for workload in found.workloads
        for name, each in _gains(About(found, workload)).items()
    }
    yield judged_by(
        deciding(found, {"": mean_of(gains)}, {"at_least": 0.01}) if gains else None,
        text="TargetASAP and PackedTargetASAP gain at least a point on first fit, on average over all settings",
        source="section 6.4",
        number="V2",
        ours=True,
        measure="goodput less that of first fit, mean of the settings and workloads",
        at_least=0.01,
        scope=scope_of(tuple(SWEPT), "neither", heuristics=(*FIRST_FIT, *ASAP)),
    )


def _gains(about: About) -> dict[str, "pd.Series[float]"]:
    """Return the goodput of each of the two ASAP less that of each first fit, at each point of the sweeps."""
    return about.compared(about.less, "goodput", ASAP, FIRST_FIT, about.points())


def _close_to_uniform(about: About) -> Iterator[Claim]:
    """Section 5.3: what LogScaleU is there for."""
    uniform = About(about.found, "Uniform")
    apart = {name: about.of("goodput", name) - uniform.of("goodput", name) for name in FIVE}
    yield about.claim(
        "Results are very close to those on Uniform", "section 5.3",
        "goodput less that on Uniform, on the same walks, at the centre", apart, at_least=-SIMILAR, at_most=SIMILAR,
        workloads=("Uniform", about.workload),
    )  # fmt: skip


def _at_all(about: About) -> Iterator[Claim]:
    """Section 6.1, on the heuristics against each other."""
    measure = "goodput less that of first fit, aware or not, in each setting"
    yield about.claim(
        "TargetASAP and PackedTargetASAP are better than first fit in all settings", "sections 6.1 and 6.4", measure,
        _gains(about), number="V2", over=tuple(SWEPT), heuristics=(*FIRST_FIT, *ASAP), more_than=0.0,
    )  # fmt: skip
    yield about.claim(
        "TargetASAP and PackedTargetASAP are nowhere worse than first fit by more than 0.2 points", "section 6.1",
        measure, _gains(about), number="V2", ours=True, over=tuple(SWEPT), heuristics=(*FIRST_FIT, *ASAP),
        at_least=-0.002,
    )  # fmt: skip
    least = 0.04 if about.workload == BORG else 0.005
    yield about.claim(
        f"At the centre PackedTargetASAP gains at least {100 * least:g} points on first fit", "section 6.1",
        "goodput less that of FirstFitAware", about.one(about.less("goodput", "PackedTargetAsap", "FirstFitAware")),
        number="V3", ours=True, heuristics=("PackedTargetAsap", "FirstFitAware"), at_least=least,
    )  # fmt: skip
    yield from _equivalent_platforms(about)
    yield from _target_stretch(about)


def _equivalent_platforms(about: About) -> Iterator[Claim]:
    """Compare the two first fits, and the two ASAP (V4, V12)."""
    points = about.points("machines")
    yield from _unaware(about, points)
    packed = about.compared(about.less, "goodput", ASAP[1:], ASAP[:1], points)
    measure = "goodput of PackedTargetASAP less that of TargetASAP"
    figure_1: dict[str, Any] = {"over": ("machines",), "heuristics": ASAP}
    yield about.claim(
        "TargetASAP and PackedTargetASAP are about as good", "section 6.1", f"{measure}, along figure 1", packed,
        number="V12", **figure_1, at_least=-SIMILAR, at_most=SIMILAR,
    )  # fmt: skip
    yield about.claim(
        "PackedTargetASAP has a slight advantage over TargetASAP", "sections 6.1 and 6.4", f"{measure}, mean along "
        "figure 1", about.one(mean_of(packed)), number="V12", **figure_1, a_part_may="neither", more_than=0.0,
    )  # fmt: skip
    yield about.claim(
        "PackedTargetASAP is at most 0.3 points below TargetASAP", "section 6.1", f"{measure}, at the centre",
        about.one(about.less("goodput", "PackedTargetAsap", "TargetAsap")), number="V12", ours=True, heuristics=ASAP,
        at_least=-0.003,
    )  # fmt: skip


_RANDOM: Final = "by the text's rule, section 4.2: of first fit that is unaware, a random machine is removed"


def _unaware(about: About, points: Sequence[dict[str, object]]) -> Iterator[Claim]:
    """V4, judged by the text's rule on which machine is removed; by that of the program (B1), it is a claim of ours."""
    text = about.found.centre["variant"] == "text"
    measure = "goodput of FirstFitAware less that of FirstFitUnaware, along figure 1"
    aware = about.compared(about.less, "goodput", FIRST_FIT[:1], FIRST_FIT[1:], points)
    worse = "First fit that does not know the order of removal is much worse than first fit that does"
    alike = "First fit is about as good whether it knows the order of removal or not"
    logs = about.workload == "LogScale"
    sentences: list[tuple[str, dict[str, Any], bool]] = [(worse, {"more_than": SIMILAR}, False)] if logs else []
    sentences.append((alike, {"at_least": -SIMILAR, "at_most": SIMILAR}, logs))
    for said, bounds, ours in sentences:
        if text:
            yield about.claim(
                said, "section 6.1", measure, aware, number="V4", ours=ours, note=_RANDOM, over=("machines",),
                heuristics=FIRST_FIT, **bounds,
            )  # fmt: skip
        elif not ours:
            yield judged_by(
                None, text=f"{said}, on {about.workload}", source="section 6.1", number="V4", measure=measure,
                note=_RANDOM, to_decide="--variant text", **bounds,
            )  # fmt: skip
        if not text:
            yield about.claim(
                f"{said}, if unaware is to fill the machines in a random order", "section 6.1", measure, aware,
                number="V4", ours=True, note="by the program's rule (B1)", over=("machines",), heuristics=FIRST_FIT,
                **bounds,
            )  # fmt: skip


def _target_stretch(about: About) -> Iterator[Claim]:
    """V5: where TargetStretch stands."""
    points = about.points("machines")
    if about.workload == "Uniform":
        yield about.claim(
            "TargetStretch is below first fit", "section 6.1", "goodput less that of first fit, aware or not, mean "
            "along figure 1", {
                other: mean_of(about.compared(about.less, "goodput", ["TargetStretch"], [other], points))
                for other in FIRST_FIT
            }, number="V5", over=("machines",), a_part_may="neither", heuristics=("TargetStretch", *FIRST_FIT),
            less_than=0.0,
        )  # fmt: skip
    if about.workload in {"LogScale", BORG}:
        against = mean_of(about.compared(about.less, "goodput", ["TargetStretch"], ["TargetAsap"], points))
        yield about.claim(
            "TargetStretch is as good as TargetASAP or better", "section 6.1", "goodput less that of TargetASAP, mean "
            "along figure 1", about.one(against), number="V5", over=("machines",), a_part_may="neither",
            heuristics=("TargetStretch", "TargetAsap"), at_least=-SIMILAR,
        )  # fmt: skip
        yield about.claim(
            "TargetStretch is above first fit", "section 6.1", "goodput less that of FirstFitAware, at the centre",
            about.one(about.less("goodput", "TargetStretch", "FirstFitAware")), number="V5", ours=True,
            heuristics=("TargetStretch", "FirstFitAware"), more_than=0.0,
        )  # fmt: skip


def _by_machines(about: About) -> Iterator[Claim]:
    """Section 6.1, on the number of machines: V6 and V13."""
    few, some, many = _MACHINES

    def moved(name: str, one: int, other: int) -> "pd.Series[float]":
        return about.of("goodput", name, machines=one) - about.of("goodput", name, machines=other)

    yield about.claim(
        "Goodput rises from 20 to 26 machines under each heuristic", "section 6.1", "goodput with the more machines "
        "less that with the fewer", {name: moved(name, some, few) for name in FIVE}, number="V6",
        over={"machines": (few, some)}, more_than=0.0,
    )  # fmt: skip
    yield about.claim(
        "Goodput falls from 26 to 28 machines under each heuristic", "section 6.1", "goodput with the fewer machines "
        "less that with the more", {name: moved(name, some, many) for name in FIVE}, number="V6",
        over={"machines": (some, many)}, more_than=0.0,
    )  # fmt: skip
    fewer = [about.less("goodput", "TargetStretch", "TargetAsap", machines=value) for value in (few, many)]
    yield about.claim(
        "TargetStretch falls behind as machines become more", "section 6.1", "its goodput less that of TargetASAP with "
        "the fewest machines, less the same with the most", about.one(fewer[0] - fewer[1]),
        number="V6", over={"machines": (few, many)}, heuristics=("TargetStretch", "TargetAsap"), more_than=0.0,
    )  # fmt: skip
    yield from _extremes(about, few, many)
    done = {name: about.of("completed_share", name, machines=28) for name in ASAP}
    yield about.claim(
        "With 28 machines nearly all jobs complete", "section 6.1", "share of the jobs that complete, of the two ASAP",
        done, number="V13", over={"machines": (many,)}, heuristics=ASAP, at_least=NEARLY_ALL, unit="%",
    )  # fmt: skip


def _extremes(about: About, few: int, many: int) -> Iterator[Claim]:
    """V6 as our specification has it: TargetStretch with the fewest and the most machines."""
    last = about.compared(about.less, "goodput", FOUR, ["TargetStretch"], [{"machines": many}])
    yield about.claim(
        "TargetStretch is the last when machines are many", "section 6.1", "goodput of each other less its own", last,
        number="V6", ours=True, over={"machines": (many,)}, more_than=0.0,
    )  # fmt: skip
    if about.workload == BORG:
        first = about.compared(about.less, "goodput", ["TargetStretch"], FOUR, [{"machines": few}])
        yield about.claim(
            "TargetStretch is the first when machines are few", "section 6.4", "its goodput less that of each other",
            first, number="V6", ours=True, over={"machines": (few,)}, more_than=0.0,
        )  # fmt: skip


def _by_period(about: About) -> Iterator[Claim]:
    """Section 6.2: V7 and V15."""
    swept = about.swept("period_s")
    ends = {"period_s": (*SWEPT["period_s"][:1], CENTRE["period_s"], *SWEPT["period_s"][-1:])}
    slopes = {}
    if swept:
        logs = np.log(np.array(swept, dtype=float))
        weights = (logs - logs.mean()) / ((logs - logs.mean()) ** 2).sum() * np.log(3.0)
        for name in FIVE:
            each = [about.of("goodput", name, period_s=value) * one for value, one in zip(swept, weights, strict=True)]
            slopes[name] = pd.concat(each, axis=1).sum(axis=1, min_count=len(each))
    yield about.claim(
        "Goodput grows with the period, in general", "section 6.2", "gain in goodput per threefold period, by least "
        "squares over the periods, under each heuristic", slopes, number="V7", over=("period_s",), a_part_may="neither",
        more_than=0.0,
    )  # fmt: skip
    spread = {
        (name, value): (each - each.groupby(level="trace").transform("mean")).abs()  # how walks differ, not job traces
        for name in FIVE for value in (swept[0], swept[-1]) if swept
        for each in [about.of("goodput", name, period_s=value)]
    } if swept else {}  # fmt: skip
    twice = {name: spread[name, swept[-1]] - 2.0 * spread[name, swept[0]] for name in FIVE if swept}
    yield about.claim(
        "Goodput varies much more with the longest period: at least twice as much", "section 6.2", "mean absolute "
        "deviation of the goodput with the longest period, less twice that with the shortest, under each heuristic",
        twice, number="V7", over=ends, a_part_may="neither", more_than=0.0,
    )  # fmt: skip
    drops = {
        f"from {one} s to {other} s": about.of("aborted", "TargetAsap", period_s=one)
        - about.of("aborted", "TargetAsap", period_s=other)
        for one, other in pairwise(swept)
    }
    yield about.claim(
        "The rarer the changes, the less is aborted", "section 6.2", "drop of TargetASAP's aborted share from one "
        "period to the next", drops, number="V7", ours=True, over=("period_s",), heuristics=("TargetAsap",),
        more_than=0.0,
    )  # fmt: skip
    better: Family = {}
    if swept:
        ahead = [
            mean_of({name: about.less("goodput", "TargetStretch", name, period_s=value) for name in FOUR})
            for value in (swept[0], swept[-1])
        ]
        better = about.one(ahead[0] - ahead[1])
    yield about.claim(
        "TargetStretch stands better when the period is short", "section 6.2", "its goodput less the mean of the "
        "others with the shortest period, less the same with the longest", better, number="V15", over=ends,
        a_part_may="neither", more_than=0.0,
    )  # fmt: skip


def _by_radius(about: About) -> Iterator[Claim]:
    """Section 6.3: V8."""
    swept = about.swept("radius")
    falls = {
        f"{name} from {one} to {other}": about.of("goodput", name, radius=one) - about.of("goodput", name, radius=other)
        for one, other in pairwise(swept) for name in FIVE
    }  # fmt: skip
    yield about.claim(
        "The wider the range of machines, the less goodput, under each heuristic", "section 6.3",
        "goodput with one range less that with the next wider one", falls, number="V8", over=("radius",), more_than=0.0,
    )  # fmt: skip
    whole = {
        name: about.of("goodput", name, radius=swept[0]) - about.of("goodput", name, radius=swept[-1])
        for name in FIVE if swept
    }  # fmt: skip
    yield about.claim(
        "TargetStretch loses least when the range becomes wider", "section 6.3", "loss of goodput of each other from "
        "the narrowest range to the widest, less that of TargetStretch",
        {name: whole[name] - whole["TargetStretch"] for name in FOUR if whole},
        over={"radius": (*SWEPT["radius"][:1], CENTRE["radius"], *SWEPT["radius"][-1:])}, a_part_may="neither",
        more_than=0.0,
    )  # fmt: skip


def printed_table(found: CapacityResults) -> pd.DataFrame:
    """Return each number that the text prints beside ours, with the difference to the nearest printed value."""
    rows: list[dict[str, object]] = []
    for printed in PRINTED:
        if printed.workload and printed.workload not in found.workloads:
            continue
        evidence = measured(found, printed)
        if evidence is not None:
            effect = evidence.effect
            rows.append(
                {
                    "place": printed.place, "number": printed.number, "workload": printed.workload or "all",
                    "what": printed.what, "printed": printed.said, "ours": effect.estimate,
                    "low": effect.low, "high": effect.high, "confidence": effect.confidence,
                    "difference": printed.difference(effect.estimate),
                }
            )  # fmt: skip
    return pd.DataFrame(rows)
