"""Card: what a notebook shows of a workload."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simmodels.ground.cards import SLICES, card, line_chart, number, share
from simmodels.ground.durations import duration
from simmodels.units import HOUR


def counted(count: int, what: str) -> str:
    """Return a count with what is counted: ``1 job``, ``2 jobs``."""
    return f"{count} {what}{'' if count == 1 else 's'}"


def workload_card(title: str, jobs: Mapping[str, NDArray[Any]], max_cores: int | None, unknown: int) -> str:
    """Return how much is asked for, and when, as HTML.

    Parameters
    ----------
    title
        What stands above it.
    jobs
        The columns of the jobs whose cores and runtime are known; at least one job.
    max_cores
        The size of the machine, if it is known.
    unknown
        How many jobs there are beside these.
    """
    submit_s, work_core_s = jobs["submit_s"], jobs["runtime_s"] * jobs["cores"]
    span_s = float(np.ptp(submit_s))
    users = len(np.unique(jobs["user_id"][jobs["user_id"] >= 0]))
    figures = {
        "first to last submission": duration(span_s),
        "work": f"{number(work_core_s.sum() / HOUR)} core-hours",
        "median runtime": duration(float(np.median(jobs["runtime_s"]))),
        "median cores": number(float(np.median(jobs["cores"]))),
        "most cores": number(float(jobs["cores"].max())),
    }
    if users:
        figures["users"] = number(users)
    if max_cores is not None and span_s > 0:
        figures["offered load"] = share(float(work_core_s.sum() / span_s / max_cores))
    if unknown:
        figures["jobs of unknown cores or runtime"] = number(unknown)
    shown_s = span_s or 1.0
    after_s = submit_s - submit_s.min()  # far from zero, floats cannot distinguish slices
    asked = np.histogram(after_s, SLICES, (0.0, shown_s), weights=work_core_s)[0] / (shown_s / SLICES)
    size = None if max_cores is None or span_s == 0 else float(max_cores)
    chart = line_chart(asked, "work submitted, as cores kept busy", line=size, ends=("0 s", duration(span_s)))
    return card(title, figures, chart)
