"""The claims of the paper on the other metrics: stretch and aborted work (abstract, section 6.4, and 7)."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from experiments.campaigns.claims import Claim
from experiments.on_machines import ASAP, FIRST_FIT, FIVE, TARGETED
from experiments.studies.capacity.measures import FOUR, About, mean_of, shown
from experiments.studies.capacity.paper import COMPARABLE, FULL, SIMILAR
from experiments.studies.capacity.results import logarithms
from experiments.studies.capacity.settings import BORG, SWEPT

if TYPE_CHECKING:
    import pandas as pd


class _Metric(NamedTuple):
    """A metric of figure 4, and how two of its values are compared."""

    name: str
    said: str
    ratio: bool  # by ratio, else by difference
    degrades: float  # 1 if more is worse, else -1


_METRICS: Final = (
    _Metric("goodput", "goodput", ratio=False, degrades=-1.0),
    _Metric("max_stretch", "the maximum stretch", ratio=True, degrades=1.0),
    _Metric("aborted", "the aborted volume", ratio=False, degrades=1.0),
    _Metric("mean_aborted_s", "the mean aborted time", ratio=True, degrades=1.0),
)
_STRETCHES: Final = (("max_stretch", "maximum"), ("mean_stretch", "mean"))


def metric_claims(about: About) -> Iterator[Claim]:
    """Hand out the claims about one workload.

    Parameters
    ----------
    about
        The evidence on it.
    """
    yield from _no_loss(about)
    yield from _first_fit_worst(about)
    yield from _figure_4(about)
    yield from _safest(about)
    yield from _idle(about)
    yield from _ours(about)


def _no_loss(about: About) -> Iterator[Claim]:
    """Hand out the claim of the abstract and section 7: no loss in stretch against first fit, ever."""
    for measure, said in _STRETCHES:
        for names, who in ((TARGETED, "the targeted heuristics"), (ASAP, "the two ASAP")):
            family = about.compared(about.log_ratio, measure, names, FIRST_FIT, about.points())
            yield about.claim(
                f"The {said} stretch of {who} is nowhere larger than that of first fit",
                "abstract, sections 1 and 7", f"{measure} over that of first fit, aware or not, in each setting "
                "(geometric means)", family, ours=names == ASAP, ratio=True, over=tuple(SWEPT),
                heuristics=(*FIRST_FIT, *names), at_most=1.0,
            )  # fmt: skip


def _first_fit_worst(about: About) -> Iterator[Claim]:
    """Section 6.4: first fit is always the worst for all metrics but goodput."""
    for measure, said, ratio in (
        ("max_stretch", "maximum stretch", True),
        ("mean_stretch", "mean stretch", True),
        ("aborted", "aborted volume", False),
        ("mean_aborted_s", "mean aborted time", True),
    ):
        how = about.log_ratio if ratio else about.less
        yield about.claim(
            f"First fit always has a larger {said} than the targeted heuristics", "section 6.4",
            f"{measure} of first fit, aware or not, {'over' if ratio else 'less'} that of each of the three, in each "
            "setting", about.compared(how, measure, FIRST_FIT, TARGETED, about.points()), number="V10",
            ratio=ratio, over=tuple(SWEPT), more_than=1.0 if ratio else 0.0,
        )  # fmt: skip


def _figure_4(about: About) -> Iterator[Claim]:
    """Section 6.4 and figure 4, which are of Borg."""
    if about.workload != BORG:
        return
    swept = about.swept("radius")
    for metric in _METRICS:
        worse = {
            f"{name} from {one} to {other}": _worse(about, metric, name, one, other)
            for one, other in pairwise(swept) for name in FIVE
        }  # fmt: skip
        yield about.claim(
            f"The wider the range of machines, the worse {metric.said}, under each heuristic", "section 6.4, fig. 4",
            f"{metric.name}: what is worse with the next wider range, "
            f"{'as a ratio' if metric.ratio else 'as a difference'}", worse, number="V8", ratio=metric.ratio,
            over=("radius",), more_than=1.0 if metric.ratio else 0.0,
        )  # fmt: skip
    points = about.points("radius")
    yield about.claim(
        "TargetStretch has clearly less goodput than the two ASAP", "section 6.4, fig. 4", "goodput of each of the two "
        "less its own, mean over the ranges", {
            name: mean_of(about.compared(about.less, "goodput", [name], ["TargetStretch"], points)) for name in ASAP
        }, over=("radius",), a_part_may="neither", heuristics=TARGETED, more_than=SIMILAR,
    )  # fmt: skip
    yield about.claim(
        "TargetStretch has the least maximum stretch", "section 6.4, fig. 4", "max_stretch of each other over its "
        "own, at each range", about.compared(about.log_ratio, "max_stretch", FOUR, ["TargetStretch"], points),
        ratio=True, over=("radius",), more_than=1.0,
    )  # fmt: skip


def _worse(about: About, metric: _Metric, name: str, one: Any, other: Any) -> "pd.Series[float]":  # noqa: ANN401
    """Return by how much a metric is worse with one range than with another."""
    values = [about.of(metric.name, name, radius=radius) for radius in (other, one)]
    if metric.ratio:
        values = [logarithms(each) for each in values]
    return metric.degrades * (values[0] - values[1])


def _safest(about: About) -> Iterator[Claim]:
    """Section 6.4: TargetStretch preserves long jobs best, and its maximum stretch is comparable in general."""
    points: Sequence[dict[str, object]] = about.points("radius")
    for measure, said, ratio in (("aborted", "volume", False), ("mean_aborted_s", "time per job", True)):
        how = about.log_ratio if ratio else about.less
        yield about.claim(
            f"TargetStretch has the smallest aborted {said}", "section 6.4, fig. 4",
            f"{measure} of each other {'over' if ratio else 'less'} its own, at each range",
            about.compared(how, measure, FOUR, ["TargetStretch"], points), number="V10",
            ours=about.workload != BORG, ratio=ratio, over=("radius",), more_than=1.0 if ratio else 0.0,
        )  # fmt: skip
    general = {
        name: mean_of(about.compared(about.log_ratio, "max_stretch", ["TargetStretch"], [name], about.points()))
        for name in ASAP
    }
    yield about.claim(
        "The maximum stretch of TargetStretch is comparable to that of the two ASAP, in general", "section 6.4",
        "max_stretch over that of each of the two, geometric mean of all settings", general, ratio=True,
        over=tuple(SWEPT), a_part_may="neither", heuristics=TARGETED, at_least=1.0 / COMPARABLE, at_most=COMPARABLE,
    )  # fmt: skip


def _idle(about: About) -> Iterator[Claim]:
    """Section 6.4: what is left idle (V11)."""
    points = about.points()
    sums = {
        name: mean_of(
            {shown(point): about.of("goodput", name, **point) + about.of("aborted", name, **point) for point in points}
        )
        for name in FIVE
    }
    yield about.claim(
        "First fit and the two ASAP leave next to nothing idle, in general", "section 6.4", "goodput and aborted "
        "share together, mean of all settings, of each of the four", {name: sums[name] for name in FOUR},
        number="V11", over=tuple(SWEPT), a_part_may="neither", heuristics=FOUR, at_least=FULL,
    )  # fmt: skip
    yield about.claim(
        "TargetStretch leaves machines partly idle: goodput and aborted share are together not close to 1",
        "section 6.4", "goodput and aborted share together, mean of all settings",
        about.one(sums["TargetStretch"]), number="V11", over=tuple(SWEPT), a_part_may="neither",
        heuristics=("TargetStretch",), less_than=FULL,
    )  # fmt: skip
    if about.workload == BORG:
        ranges = about.points("radius")
        yield about.claim(
            "TargetStretch is well below the two ASAP in aborted volume", "section 6.4, fig. 4", "aborted share of "
            "each of the two less its own, mean over the ranges", {
                name: mean_of(about.compared(about.less, "aborted", [name], ["TargetStretch"], ranges)) for name in ASAP
            }, number="V11", over=("radius",), a_part_may="neither", heuristics=TARGETED, more_than=SIMILAR,
        )  # fmt: skip


def _ours(about: About) -> Iterator[Claim]:
    """Hand out what our specification asks for at the centre: V9, V10 and V11, laxer than the text."""
    yield about.claim(
        "The maximum stretch of first fit is at least 1.5 times that of TargetASAP", "section 6.4",
        "max_stretch of FirstFitAware over that of TargetASAP, at the centre",
        about.one(about.log_ratio("max_stretch", "FirstFitAware", "TargetAsap")), number="V9", ours=True, ratio=True,
        heuristics=("FirstFitAware", "TargetAsap"), at_least=1.5,
        note="jobs of a few seconds decide it" if about.workload == "Uniform" else "",
    )  # fmt: skip
    for measure, said in (("aborted", "share"), ("mean_aborted_s", "time")):
        order = {
            f"{less} against {more}": about.less(measure, less, more)
            for less, more in (("TargetStretch", "TargetAsap"), ("TargetAsap", "FirstFitAware"))
        }
        yield about.claim(
            f"The aborted {said} is smallest under TargetStretch, then under TargetASAP", "section 6.4",
            f"{measure} less that of the next, at the centre", order, number="V10", ours=True,
            heuristics=("FirstFitAware", "TargetStretch", "TargetAsap"), less_than=0.0,
        )  # fmt: skip
    yield about.claim(
        "TargetStretch leaves cores idle", "section 6.4", "goodput and aborted share together, at the centre",
        about.one(about.of("goodput", "TargetStretch") + about.of("aborted", "TargetStretch")), number="V11",
        ours=True, heuristics=("TargetStretch",), at_most=0.97,
    )  # fmt: skip
