"""What the regression study varies: parts, scores, training sets, orders, modes; which go together; what it refuses."""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Final, NamedTuple, get_args

import pandas as pd

from experiments.campaigns.study import Design
from experiments.inputs import named_priority
from experiments.studies.naming import log_name
from experiments.studies.regression.paper import COEFFICIENTS, SYNTHETIC, set_of
from simmodels import Polynomial, RequestError
from simmodels.engine import Engine
from simmodels.errors import must_be
from simmodels.learning.pairs import Initial
from simmodels.policies.naming import as_order
from simmodels.policies.polynomial import FORMS
from simmodels.policies.priority import Priority

FIT: Final = "fit"
DRAW: Final = "draw"
CONVERGENCE: Final = "convergence"
ONLINE: Final = "online"
PARTS: Final = (FIT, DRAW, CONVERGENCE, ONLINE)
SCORES: Final = ("swap-any", "uniform")
GIVEN: Final = "given"
"""The scores of a file, such as one that the authors published."""
GENERATED: Final = "generated"
OWN: Final = "own"
"""Each workload is a training set, for the windows of its own; of the generated one, another draw is."""
MODES: Final = ("actual", "estimates", "backfilling")
DEPTHS: Final = (32, None)
SEVEN: Final = ("FCFS", "SPT", "SAF", "WFP3", "UNICEF", "F2", "LIN")
"""The orders that figures 4 and 5 compare."""
PLAIN: Final = ("FCFS", "SPT", "SAF", "WFP3", "UNICEF", "F1", "F2", "F3", "F4")
ORDERS: Final = (*PLAIN, *FORMS)
MEASURE: Final = "mean_bounded_slowdown"
PRINTED: Final = "printed"
WAITS: Final = 1.1
"""Where the median slowdown under FCFS is below this, hardly any job waits, and orders do not differ."""
_SCORE_FILES: Final = (".csv", ".csv.gz")


class Method(NamedTuple):
    """By which forms, and how many waiting jobs, claims are checked.

    Parameters
    ----------
    name
        How it is called.
    scores
        The scores that the forms were learned from; None: as they are printed.
    depth
        How many waiting jobs are considered; None: all of them.
    ours
        Whether it is no method of the paper's text.
    as_published
        The settings by which alone it is a method of the paper's text.
    """

    name: str
    scores: str | None
    depth: int | None
    ours: bool
    as_published: Mapping[str, object]


_LEARNING: Final = {"tau_s": 10.0, "initial_state": "started", "trials": 256_000}
_PRINTED: Final = {"tau_s": 10.0, "window_days": 15.0, "warm_jobs": 16}
_AGAIN: Final = _PRINTED | _LEARNING
METHODS: Final = (
    Method("forms as printed", None, None, ours=False, as_published=_PRINTED),
    Method("learned again, as published", "swap-any", None, ours=False, as_published=_AGAIN),
    Method("forms as printed, 32 waiting jobs as in the program", None, 32, ours=True, as_published=_PRINTED),
    Method("learned again, 32 waiting jobs as in the program", "swap-any", 32, ours=True, as_published=_AGAIN),
    Method("corrected method", "uniform", None, ours=True, as_published=_AGAIN),
    Method("corrected method, 32 waiting jobs", "uniform", 32, ours=True, as_published=_AGAIN),
)
"""The text sorts all jobs of the queue, so that is what it claims things of; the program looks at 32 of them."""
DRAWN: Final = Method("", None, None, ours=False, as_published={})
"""What is said of pairs that were drawn, whatever their jobs are scored by."""
WAYS: Final = (
    Method("published scores", "swap-any", None, ours=False, as_published=_LEARNING),
    Method("corrected scores", "uniform", None, ours=True, as_published=_LEARNING),
)
"""How forms are learned: what is said of the fits themselves does not depend on the queue."""


def is_learned(order: str) -> bool:
    """Return whether an order is one of the forms that are fitted."""
    return order in FORMS


def is_score_file(train: str) -> bool:
    """Return whether a training set is a file of scores."""
    return train.lower().endswith(_SCORE_FILES)


def label_of(order: str, scores: object, train: object = None) -> str:
    """Return what an order is called: a form with its scores and training set, or as it was printed."""
    if not is_learned(order):
        return order
    how = scores if isinstance(scores, str) else PRINTED
    where = "" if not isinstance(train, str) or train == GENERATED else f", {log_name(train)}"
    return f"{order}, {how}{where}"


def read_scores(path: str) -> pd.DataFrame:
    """Return the scores of a file in the authors' format: p, q, r and score, comma-separated, no header.

    Rows are taken 32 by 32 as those of a pair, if they can be; ``#`` begins a comment.

    Raises
    ------
    RequestError
        The file cannot be read, or has other columns.
    """
    try:
        table = pd.read_csv(path, header=None, comment="#")
    except (OSError, ValueError) as error:
        raise RequestError(f"{path}: no scores can be read ({error})") from error
    if table.shape[1] != 4:
        raise RequestError(f"{path} has {table.shape[1]} columns", "give the four columns p, q, r and score")
    table.columns = pd.Index(["p", "q", "r", "score"])
    return table if len(table) % 32 else table.assign(pair=table.index // 32)


@lru_cache(maxsize=64)
def printed_order(form: str, train: str) -> Priority:
    """Return a form as the paper prints it for a training set (table 3, 4 or 5): one object, compiled once."""
    known = set_of(train)
    if known is None or known == SYNTHETIC:
        return as_order(form)  # the paper's, to more digits than table 3 has
    terms = COEFFICIENTS[known][form]
    return Polynomial([term.theta for term in terms.values()], list(terms), name=f"{form} ({known}, printed)")


def training_sets(workload: str, values: Mapping[str, Sequence[object]]) -> tuple[str, ...]:
    """Return what the forms that run on a workload are learned from, each once."""
    own = GENERATED if workload == GENERATED else workload
    return tuple(dict.fromkeys(own if train == OWN else str(train) for train in values["train"]))


def all_training_sets(values: Mapping[str, Sequence[object]]) -> tuple[str, ...]:
    """Return what forms are learned from for any workload, each once."""
    return tuple(dict.fromkeys(train for name in values["workload"] for train in training_sets(str(name), values)))


def scores_for(train: str, values: Mapping[str, Sequence[object]]) -> tuple[str, ...]:
    """Return in which ways the jobs of a training set are scored."""
    return (GIVEN,) if is_score_file(train) else tuple(str(name) for name in values["scores"] if name is not None)


def online(workload: str, values: Mapping[str, Sequence[object]]) -> Iterator[dict[str, object]]:
    """Hand out the factors of the cells that run in each window of a workload."""
    orders = [str(order) for order in values["order"]]
    ways: list[tuple[str | None, str | None, str]] = []
    if None in values["scores"]:
        ways += [(None, None, order) for order in orders if not is_learned(order)]
        sets = [GENERATED, *([workload] if set_of(workload) not in {None, SYNTHETIC} else [])]
        ways += [(train, None, order) for train in sets for order in orders if is_learned(order)]
    for train in training_sets(workload, values):
        forms = [order for order in orders if is_learned(order)]
        ways += [(train, scores, order) for scores in scores_for(train, values) for order in forms]
    for learned_from, how, order in ways:
        everywhere = learned_from in {None, GENERATED} or order == "LIN"
        for mode in [mode for mode in values["mode"] if everywhere or mode == "actual"]:
            for depth in values["queue_depth"]:
                yield {"part": ONLINE, "train": learned_from, "scores": how, "order": order, "workload": workload,
                       "mode": mode, "queue_depth": depth}  # fmt: skip


def require_settings(design: Design) -> None:
    """Refuse settings that are out of range."""
    values = design.factors
    for value in values["scores"]:
        if value not in {None, *SCORES}:
            raise RequestError(must_be("scores", f"one of None, {', '.join(SCORES)}", value))
    design.require_known(part=PARTS, mode=MODES, engine=get_args(Engine), initial_state=get_args(Initial))
    for order in values["order"]:
        named_priority(str(order))
    design.require_integers(0, "warm_jobs")
    design.require_integers(1, "pairs", "jobs", "draws")
    design.require_integers(64, "trials", "uniform_trials")
    design.require_integers(1, "cores", "generated_windows", "pairs_of_logs", "queue_depth", or_none=True)
    design.require_numbers("window_days", "tau_s", above=0)
    if None in values["workload"]:
        raise RequestError(must_be("workload", f"{GENERATED}, or the file of a log", None))
    if None in values["train"]:
        raise RequestError(must_be("train", f"{GENERATED}, {OWN}, or the file of a log or of scores", None))
