"""Claims: sentences of a paper, checked on the results of a campaign."""

import math
from dataclasses import dataclass
from typing import Final, Literal

from experiments.campaigns.statistics import Effect, compared
from simmodels.errors import RequestError, must_be

Verdict = Literal["holds", "fails", "undecided", "too few", "not judged"]

OPEN: Final[tuple[Verdict, ...]] = ("undecided", "too few", "not judged")
"""The verdicts that more replications, or a larger scale, may change."""
_USUAL: Final = 0.95
_SIGNS: Final = {"more_than": ">", "at_least": "≥", "less_than": "<", "at_most": "≤"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A sentence, what is measured to check it, what was found, and what it takes for it to hold.

    The interval is shown with its confidence where that is not 95 %.

    The verdict follows from the effect and the bounds, and is never given: it *holds* if the whole confidence interval
    of the effect keeps to the bounds, *fails* if the whole interval is outside one of them, and is *undecided*
    otherwise. There were *too few* replications if they give no interval (see
    `experiments.campaigns.statistics.ENOUGH`). A bound below and one above are an equivalence test with that margin.

    Parameters
    ----------
    text
        The sentence, in words of our own.
    source
        Where it stands: the section or figure of the paper, by the paper's own number.
    number
        The number that a specification gives it; empty if there is none.
    ours
        Whether it is a sentence of ours, weaker or sharper than the paper's, and not what the paper says.
    measure
        What is measured, in words.
    effect
        What was found; None if it could not be measured.
    more_than, less_than, at_least, at_most
        The bounds within which the claim holds: at least one; the first two exclude the bound itself.
    unit
        The unit of effect and bounds, empty for plain numbers; ``%`` shows fractions in per cent.
    to_decide
        What to run to decide it, if it is undecided.
    note
        More to say: why it fails, or why it could not be measured.
    judged
        Whether there is a verdict at all: there is none at a scale that is not `Scale.judged`.

    Raises
    ------
    RequestError
        There is no bound, one is not finite, or no value keeps to them.

    Examples
    --------
    >>> from experiments.campaigns import Claim, Effect
    >>> effect = Effect(estimate=0.12, low=0.08, high=0.16, replications=30)
    >>> claim = Claim(text="SAF waits less", source="section 4", measure="mean wait saved", effect=effect, more_than=0)
    >>> claim.verdict
    'holds'
    """

    text: str
    source: str
    measure: str
    effect: Effect | None
    number: str = ""
    ours: bool = False
    more_than: float | None = None
    less_than: float | None = None
    at_least: float | None = None
    at_most: float | None = None
    unit: str = ""
    to_decide: str = ""
    note: str = ""
    judged: bool = True

    def __post_init__(self) -> None:
        """Check the bounds."""
        if not all(map(math.isfinite, self.bounds().values())):
            raise RequestError(must_be(f"the bounds of claim {self.text!r}", "finite numbers", self.bounds()))
        low, high, open_ = self._bounds()
        if low == -math.inf and high == math.inf:
            raise RequestError(f"claim {self.text!r} has no bound", "add more_than, less_than, at_least or at_most")
        if not low <= high or (low == high and open_):
            raise RequestError(f"claim {self.text!r} holds for no value", "choose bounds that leave room")

    @property
    def place(self) -> str:
        """Where the sentence stands, as it is shown: ``section 6.4 (V9)``, or ``ours, on section 6.4``."""
        text = f"{self.source} ({self.number})" if self.number else self.source
        return f"ours, on {text}" if self.ours else text

    def _bounds(self) -> tuple[float, float, bool]:
        """Return the least and the largest value allowed, and whether one of these is itself excluded."""
        low = max((bound for bound in (self.more_than, self.at_least) if bound is not None), default=-math.inf)
        high = min((bound for bound in (self.less_than, self.at_most) if bound is not None), default=math.inf)
        return low, high, low == self.more_than or high == self.less_than

    @property
    def verdict(self) -> Verdict:
        """Whether the sentence holds."""
        if not self.judged:
            return "not judged"
        if self.effect is None:
            return "undecided"
        if self.effect.low is None or self.effect.high is None:
            return "too few"
        inside, outside = compared(self.effect, self.bounds())
        return "holds" if inside else "fails" if outside else "undecided"

    def bounds(self) -> dict[str, float]:
        """Return the bounds that there are, by name."""
        return {name: getattr(self, name) for name in _SIGNS if getattr(self, name) is not None}

    def expected(self) -> str:
        """Return the bounds as they are shown, such as ``> 0``."""
        return ", ".join(f"{_SIGNS[name]} {self.shown(bound)}" for name, bound in self.bounds().items())

    def found(self) -> str:
        """Return the effect with its interval as it is shown, such as ``-0.12 [-0.2, -0.05]``."""
        if self.effect is None:
            return "not measured"
        text = self.shown(self.effect.estimate)
        if self.effect.confidence == 1.0:
            return text
        if self.effect.low is None or self.effect.high is None:
            few = self.effect.replications < self.effect.needed
            needed = f", of {self.effect.needed} that are needed" if few else " are too few for one"
            return f"{text} (no interval: {self.effect.replications} replications{needed})"
        interval = f"{text} [{self.shown(self.effect.low)}, {self.shown(self.effect.high)}]"
        return interval if self.effect.confidence == _USUAL else f"{interval} at {100 * self.effect.confidence:.4g} %"

    def shown(self, value: float) -> str:
        """Return a value in the claim's unit, to three digits or to the unit."""
        value = value * 100 if self.unit == "%" else value
        text = f"{value:,.0f}" if abs(value) >= 999.5 else f"{value:.3g}"
        return f"{text} {self.unit}".rstrip()
