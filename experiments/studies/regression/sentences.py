"""What the paper says of orders online: how each sentence is measured on a workload, and on how many it is to hold.

References
----------
See `experiments.studies.regression.paper`. Sections and figures are those of the version with three training sets.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

import numpy as np

from experiments.studies.regression.measures import WAITS, Measured, rank, share, times
from experiments.studies.regression.settings import GENERATED, OWN

Share = Literal["all", "nearly all", "most"]
LEAST: Final[Mapping[Share, float]] = {"all": 1.0, "nearly all": 0.8, "most": 0.5}
"""Of what part of the workloads a sentence must hold: all; at least four fifths; more than a half."""
MARGIN: Final = 2.0
""""As", "comparable" and "close" are within this factor; the paper states none."""
NEARLY: Final = 0.9
"""An order does well throughout if it is among the three lowest in this share of the windows; the paper states none."""
_LOG: Final = float(np.log10(MARGIN))
_COMPLEX: Final = ("QDR", "CUB", "QUA")
_POOR: Final = ("FCFS", "SPT", "WFP3", "UNICEF")
_TIMES: Final = "median over the windows of log10 of the quotient of AVGbsld"
_WITHIN: Final = f"{_TIMES}; a factor of 2: a margin of ours"
_SEVEN: Final = "among FCFS, SPT, SAF, WFP3, UNICEF, F2, LIN"
_THROUGHOUT: Final = (
    f"share of the windows in which it is among the three lowest of seven, of those in which AVGbsld under FCFS is at "
    f"least {WAITS:g}; among the three lowest, and {WAITS:g}: margins of ours"
)
MUSTANG: Final = "Mustang"
"""The log of which the paper says that orders do well in all its windows."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Sentence:
    """A sentence about the windows of each workload.

    Parameters
    ----------
    text
        The sentence, in words of our own.
    source, number, ours, measure
        See `experiments.campaigns.Claim`.
    measured
        What is measured on a workload.
    bounds
        The bounds within which it holds on a workload, by name.
    mode
        In which mode jobs must wait, for it to say anything.
    on
        On what part of the workloads it is said to hold.
    training
        What the learned orders in it were learned from: ``own`` is the workload itself.
    learned
        Whether it is about a learned order at all.
    only
        The log that it is about, if it is about one: one of `experiments.studies.regression.paper.LOGS`.
    """

    text: str
    source: str
    number: str = ""
    ours: bool = False
    measure: str
    measured: Measured
    bounds: Mapping[str, float] = field(default_factory=dict)
    mode: str
    on: Share = "all"
    training: str = GENERATED
    learned: bool = True
    only: str = ""


def sentences() -> Iterator[Sentence]:
    """Hand out the sentences, in the order of the text."""
    yield from _figure_3()
    yield from _figure_4()
    yield from _figure_5()
    yield from _long_term()


def _figure_3() -> Iterator[Sentence]:
    """Hand out what is said of the forms on the workloads that they were learned from."""
    where, number = "section 5.2, fig. 3", "claim 2"
    for form in _COMPLEX:
        yield Sentence(
            text=f"{form} is worse than LIN, with actual runtimes",
            source=where, number=number, measure=_TIMES, bounds={"more_than": 0.0}, mode="actual", training=OWN,
            measured=times("actual", form, "LIN", training=OWN),
        )  # fmt: skip
        yield Sentence(
            text=f"{form} is as inefficient as FCFS, within a factor of 2, with actual runtimes",
            source=where, number=number, measure=_WITHIN, bounds={"at_least": -_LOG, "at_most": _LOG}, mode="actual",
            training=OWN, measured=times("actual", form, "FCFS", training=OWN),
        )  # fmt: skip
        yield Sentence(
            text=f"The median of {form} is above that of each established order but FCFS, with actual runtimes",
            source=where, measure="rank of its median among SPT, SAF, WFP3, UNICEF, F2 and itself",
            bounds={"at_least": 6.0}, mode="actual", training=OWN,
            measured=rank("actual", form, ("SPT", "SAF", "WFP3", "UNICEF", "F2"), training=OWN),
        )  # fmt: skip
    yield Sentence(
        text="LIN is comparable to SAF, within a factor of 2, with actual runtimes",
        source=where, measure=_WITHIN, bounds={"at_least": -_LOG, "at_most": _LOG}, mode="actual", training=OWN,
        measured=times("actual", "LIN", "SAF", training=OWN),
    )  # fmt: skip
    for form in _COMPLEX:
        yield Sentence(
            text=f"{form} is worse than LIN, with estimates",
            source=where, number=number, ours=True, measure=_TIMES, bounds={"more_than": 0.0}, mode="estimates",
            measured=times("estimates", form, "LIN"),
        )  # fmt: skip
        yield Sentence(
            text=f"{form} is no better than FCFS, with estimates",
            source=where, number=number, ours=True, measure=_TIMES, bounds={"at_least": 0.0}, mode="estimates",
            measured=times("estimates", form, "FCFS"),
        )  # fmt: skip


def _figure_4() -> Iterator[Sentence]:
    """Hand out what is said of estimates without backfilling."""
    where = "section 5.3, fig. 4"
    yield Sentence(
        text="LIN's median is among the three lowest of seven, with estimates",
        source=where, number="claim 1", measure=f"rank of its median {_SEVEN}",
        bounds={"at_most": 3.0}, mode="estimates", measured=rank("estimates", "LIN"),
    )  # fmt: skip
    yield Sentence(
        text="LIN's slowdowns vary little: its interquartile range is among the three lowest of seven, with estimates",
        source=where, measure=f"rank of its interquartile range over the windows {_SEVEN}; little: a margin of ours",
        bounds={"at_most": 3.0}, mode="estimates", on="nearly all", measured=rank("estimates", "LIN", spread=True),
    )  # fmt: skip
    yield _slightly("estimates", "fig. 4")


def _figure_5() -> Iterator[Sentence]:
    """Hand out what is said of estimates with backfilling."""
    where, number = "section 5.3, fig. 5", "claim 5"
    for order in _POOR:
        which = "; noticeably: by any factor, a margin of ours"
        which += "" if order == "FCFS" else "; which orders are poor besides FCFS: a reading of ours"
        yield Sentence(
            text=f"Backfilling improves {order}",
            source=where, number=number, measure=f"{_TIMES}{which}", bounds={"less_than": 0.0}, mode="estimates",
            learned=False, measured=times("backfilling", order, order, of="estimates"),
        )  # fmt: skip
    yield Sentence(
        text="Backfilling improves FCFS to less than a half",
        source=where, number=number, ours=True, measure=_WITHIN, bounds={"less_than": -_LOG}, mode="estimates",
        learned=False, measured=times("backfilling", "FCFS", "FCFS", of="estimates"),
    )  # fmt: skip
    for order in ("SAF", "F2", "LIN"):
        yield Sentence(
            text=f"FCFS with backfilling does not pass {order} with it",
            source=where, number=number, measure=_TIMES, bounds={"more_than": 0.0}, mode="backfilling",
            learned=order == "LIN", measured=times("backfilling", "FCFS", order),
        )  # fmt: skip
    for order in ("SAF", "F2"):
        yield Sentence(
            text=f"LIN is worse than {order}, with backfilling",
            source=where, measure=_TIMES, bounds={"more_than": 0.0}, mode="backfilling", on="most",
            measured=times("backfilling", "LIN", order),
        )  # fmt: skip
    for spread, what in ((False, "median"), (True, "interquartile range")):
        yield Sentence(
            text=f"LIN's {what} is below that of FCFS, SPT, WFP3 and UNICEF, with backfilling",
            source=where, bounds={"at_most": 1.0}, mode="backfilling", on="most",
            measure=f"rank of its {what} among FCFS, SPT, WFP3, UNICEF and itself; below which orders: a reading of "
            "ours",
            measured=rank("backfilling", "LIN", _POOR, spread=spread),
        )  # fmt: skip
    yield Sentence(
        text="LIN's median is among the three lowest of seven, with backfilling",
        source=where, ours=True, measure=f"rank of its median {_SEVEN}",
        bounds={"at_most": 3.0}, mode="backfilling", measured=rank("backfilling", "LIN"),
    )  # fmt: skip
    yield _slightly("backfilling", "fig. 5")


def _slightly(mode: str, figure: str) -> Sentence:
    how = "with estimates" if mode == "estimates" else "with backfilling"
    return Sentence(
        text=f"F2 is slightly better than LIN, by less than a factor of 2, {how}",
        source=f"section 6, {figure}", measure=_WITHIN, bounds={"more_than": -_LOG, "less_than": 0.0},
        mode=mode, on="most", measured=times(mode, "F2", "LIN"),
    )  # fmt: skip


def _long_term() -> Iterator[Sentence]:
    """Hand out what is said of many years without learning again."""
    where, number = "section 5.3, fig. 5", "claim 6"
    for order in ("F2", "LIN"):
        yield Sentence(
            text=f"{order} does well throughout: among the three lowest of seven in each window, with backfilling",
            source=where, number=number, measure=_THROUGHOUT, bounds={"at_least": 1.0}, mode="backfilling",
            learned=order == "LIN", measured=share("backfilling", order, all_there=True), only=MUSTANG,
        )  # fmt: skip
        yield Sentence(
            text=f"{order} does well throughout: among the three lowest of seven in 9 of 10 windows, with backfilling",
            source=where, number=number, ours=True, measure=_THROUGHOUT, bounds={"at_least": NEARLY},
            mode="backfilling", learned=order == "LIN", measured=share("backfilling", order),
        )  # fmt: skip
        yield Sentence(
            text=f"{order} is still among the three lowest of seven in the last third of the windows, with backfilling",
            source=where, number=number, ours=True, measure="rank of its median in the last third of the windows",
            bounds={"at_most": 3.0}, mode="backfilling", learned=order == "LIN",
            measured=rank("backfilling", order, last=3),
        )  # fmt: skip
    yield Sentence(
        text="LIN need not be learned again: from the generated set, it is at most twice as bad as from the log itself",
        source=where, number=number, ours=True, measure=_WITHIN, bounds={"at_most": _LOG}, mode="backfilling",
        measured=times("backfilling", "LIN", "LIN", other=OWN),
    )  # fmt: skip


def least_of(on: Share, workloads: int) -> dict[str, float]:
    """Return the bound on the number of workloads on which a sentence must hold."""
    part = LEAST[on] * max(workloads, 1)
    return {"more_than": part} if on == "most" else {"at_least": part}
