"""Study: a design of independent cells, what one cell does, and what is to be reported of the results."""

import inspect
import itertools
import math
import pkgutil
import re
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import pandas as pd

from experiments.campaigns.cell import REPLICATION, Cell, Rows, Value, plain_value
from experiments.campaigns.claims import Claim
from experiments.campaigns.paper import Element, Paper
from experiments.campaigns.results import Results
from experiments.inputs import describe_error
from simmodels.errors import RequestError, SimModelsError, must_be, require_known
from simmodels.ground.cards import card
from simmodels.ground.numbers import as_flag, as_integer, as_number

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Figures: TypeAlias = "Mapping[str, Figure]"
"""Figures by name."""
NONE: Final[Mapping[str, Any]] = MappingProxyType({})
MOST_CELLS: Final = 1_000_000
"""A campaign has no more cells: each takes about a kilobyte of the runner's memory, and a name in its folder."""
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_FILE_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")


def _require_named(where: str, **parts: object) -> None:
    """Refuse what is no mapping of names."""
    for what, part in parts.items():
        if not isinstance(part, Mapping):
            raise RequestError(must_be(f"{what} of {where}", "a mapping from names", part))


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """How large a campaign is.

    Parameters
    ----------
    replications
        How often each combination of factors is repeated, each time with other random numbers; 1 to 1,000,000.
    parameters, factors
        What differs from the study's own at this scale.
    judged
        Whether claims get a verdict: False where the scale only shows that everything runs.

    Examples
    --------
    >>> from experiments.campaigns import Scale
    >>> Scale(replications=5, factors={"load": [0.7, 0.9]}).replications
    5
    """

    replications: int = 1
    parameters: Mapping[str, Value] = field(default_factory=dict)
    factors: Mapping[str, Sequence[Value]] = field(default_factory=dict)
    judged: bool = True

    def __post_init__(self) -> None:
        """Check the number of replications, and that the others are by name."""
        object.__setattr__(self, "replications", as_integer("replications", self.replications, 1, MOST_CELLS))
        _require_named("a scale", parameters=self.parameters, factors=self.factors)
        object.__setattr__(self, "judged", as_flag("judged of a scale", self.judged))


@dataclass(frozen=True, slots=True, kw_only=True)
class Design:
    """A study at one scale: what is the same in all cells, what is varied, and how often it is repeated."""

    parameters: Mapping[str, Any]
    factors: Mapping[str, tuple[Any, ...]]
    replications: int

    def values(self, name: str) -> tuple[Any, ...]:
        """Return the values that a factor has, or the one of a parameter."""
        return self.factors[name] if name in self.factors else (self.parameters[name],)

    def require_known(self, **known: Iterable[str]) -> None:
        """Refuse (`UnknownNameError`, `RequestError`) names that are not among those known, by parameter or factor."""
        for name, names in known.items():
            for value in self.values(name):
                require_known(name, value, names)

    def require_integers(self, least: int, *names: str, or_none: bool = False) -> None:
        """Refuse values of parameters and factors that are no integers from `least` on; None counts where it may be."""
        for name in names:
            for value in self.values(name):
                if not (or_none and value is None):
                    require_integer(name, value, least)

    def require_numbers(self, *names: str, or_none: bool = False, **span: Any) -> None:  # noqa: ANN401  of `as_number`
        """Refuse values of parameters and factors that are no numbers of a range, as `as_number` takes it."""
        for name in names:
            for value in self.values(name):
                if not (or_none and value is None):
                    as_number(name, value, **span)


class Study(ABC):
    """A design of independent cells, what one cell does, and what is to be reported of the results.

    A study of one's own names its factors and writes `run_cell`; the other methods have defaults.

    Parameters
    ----------
    chosen
        Values that replace those of the study at any scale: of a parameter one value, of a factor one or several;
        ``replications`` replaces their number.

    Raises
    ------
    RequestError
        A name is neither a parameter nor a factor, a factor has no values or one twice, or a value of the study
        is out of range.

    Examples
    --------
    >>> import simmodels as sm
    >>> import workloads as wl
    >>> from experiments.campaigns import Scale, Study
    >>> class Waits(Study):
    ...     '''Does a small area first shorten waits?'''
    ...     factors = {"order": ["FCFS", "SAF"]}
    ...     scales = {"smoke": Scale(replications=2)}
    ...     def run_cell(self, cell):
    ...         log = wl.lublin(jobs=100, cores=64, load=0.9, seed=cell.replication)
    ...         return {"mean_wait_s": sm.simulate(log, order=cell["order"]).metrics()["mean_wait_s"]}
    >>> study = Waits()
    >>> cells = list(study.cells("smoke", seed=1))
    >>> len(cells), cells[0]["order"], list(study.run_cell(cells[0]))
    (4, 'FCFS', ['mean_wait_s'])
    """

    name: str = ""
    """What it is called, on the command line and in its results; by default its class's name, as ``my_study``."""
    version: int = 1
    """Raise it, and all cells are run again; changes of the code that a cell runs are noticed anyway."""
    parameters: Mapping[str, Value] = NONE
    """What is the same in all cells, by name."""
    factors: Mapping[str, Sequence[Value]] = NONE
    """What is varied, by name, with its values; the design is their product."""
    scales: Mapping[str, Scale] = MappingProxyType(
        {"smoke": Scale(replications=2, judged=False), "small": Scale(replications=10), "paper": Scale(replications=30)}
    )
    """How large it can be run, by name."""
    measures: Sequence[str] = ()
    """The columns of its rows that the summary shows, in this order; by default all that are numbers."""
    drawn_by: str = ""
    """The function that makes its figures of the results, as ``module:name``: imported then, as matplotlib is slow."""
    paper: Paper | None = None
    """The paper that it reproduces, if it does."""
    elements: Sequence[Element] = ()
    """The figures and tables of that paper, each with the file that shows it."""
    seed: int = 0
    """The campaign's seed, for inputs that are drawn; it is there before they are asked for."""

    def __init_subclass__(cls) -> None:
        """Name the study after its class, unless it has a name."""
        super().__init_subclass__()
        if "name" not in cls.__dict__:
            cls.name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", cls.__name__).lower()

    def __init__(self, /, **chosen: Value | Sequence[Value]) -> None:
        self.chosen: dict[str, Any] = dict(chosen)
        _require_named(f"study {self.name}", parameters=self.parameters, factors=self.factors, scales=self.scales)
        known = (*self.parameters, *self.factors, "replications")
        for name in chosen:
            require_known(f"parameter or factor of {self.name}", name, known)
        if not _FILE_NAME.fullmatch(self.name):
            raise RequestError(
                must_be("the name of a study", "of ASCII letters, digits, _, - and ., with no - or . first", self.name)
            )
        if isinstance(self.measures, str) or not all(isinstance(name, str) for name in self.measures):
            raise RequestError(must_be(f"measures of study {self.name}", "a list of names", self.measures))
        for name, scale in self.scales.items():
            if not isinstance(scale, Scale):
                raise RequestError(must_be(f"scale {name!r} of study {self.name}", "a Scale", scale))
            self.design(name)

    def __repr__(self) -> str:
        """Return a line about it."""
        return f"<Study {self.name!r}: {self.title}>"

    def _repr_html_(self) -> str:
        """Return what a notebook shows: what is varied, and how many cells there are at each scale."""
        figures = {f"factor {name}": ", ".join(map(_shown, values)) for name, values in self.factors.items()}
        for name in self.scales:
            design = self.design(name)
            cells = design.replications * math.prod(map(len, design.factors.values()))
            figures[f"cells at scale {name}"] = f"{cells:,}"
        return card(repr(self).strip("<>"), figures)

    @property
    def title(self) -> str:
        """What it is about: the first line of its docstring."""
        return ((type(self).__doc__ or "").strip().splitlines() or [""])[0].strip().rstrip(".")

    def design(self, scale: str) -> Design:
        """Return the study at a scale: parameters, factors, replications, with what was chosen in place.

        Raises
        ------
        UnknownNameError
            The study has no such scale.
        RequestError
            A value of it is out of range.
        """
        require_known(f"scale of {self.name}", scale, self.scales)
        at = self.scales[scale]
        for what, own, others in (
            ("parameter", self.parameters, at.parameters),
            ("factor", self.factors, at.factors),
        ):
            for name in others:
                require_known(f"{what} of {self.name} at scale {scale}", name, own)
        parameters = {
            name: _value(name, self.chosen.get(name, value))
            for name, value in {**self.parameters, **at.parameters}.items()
        }
        factors = {
            name: factor_values(name, self.chosen.get(name, values))
            for name, values in {**self.factors, **at.factors}.items()
        }
        for name in (*parameters, *factors):
            if not _NAME.fullmatch(name) or name in {REPLICATION, "replications"}:
                expected = "of letters, digits and _, and no replication"
                raise RequestError(must_be("the name of a parameter or factor", expected, name))
            if name in parameters and name in factors:
                raise RequestError(f"{name!r} is both a parameter and a factor of {self.name}")
        replications = Scale(replications=self.chosen.get("replications", at.replications)).replications
        return Design(parameters=parameters, factors=factors, replications=replications)

    # -- what a study is ----------------------------------------------------------------------------

    def cells(self, scale: str, seed: int) -> Iterator[Cell]:
        """Hand out the cells of the design: each combination of the factors, as often as there are replications.

        A replication comes as a whole before the next, so that what is there of an unfinished campaign can be
        compared.

        Parameters
        ----------
        scale
            One of `scales`.
        seed
            The seed of all that is drawn, an integer >= 0.

        Raises
        ------
        UnknownNameError, RequestError
            There are more than a campaign may have; of a study that checks its settings, one is out of range.
        """
        design = self.design(scale)
        count = design.replications * math.prod(map(len, design.factors.values()))
        if count > MOST_CELLS:
            what = f"study {self.name} has {count:,} cells at scale {scale}, more than {MOST_CELLS:,}"
            raise RequestError(what, "run several campaigns, each with another seed")
        for replication in range(design.replications):
            for values in itertools.product(*design.factors.values()):
                yield Cell(dict(zip(design.factors, values, strict=True)), replication, seed, design.parameters)

    def inputs(self, scale: str) -> Mapping[str, Any]:  # noqa: ARG002  those who need it override it
        """Return what all cells share and what is slow to make, such as a log: made once, shipped once to each worker.

        It is found again in `Cell.inputs`. It must be possible to pickle it, to the same bytes each time: no sets.
        """
        return NONE

    def uses(self, cell: Cell) -> Collection[str] | None:  # noqa: ARG002  those with several inputs override it
        """Return the names of the inputs that a cell uses, and gets; None for all.

        A change of another input is then no reason to run it again.
        """
        return None

    @abstractmethod
    def run_cell(self, cell: Cell) -> Rows:
        """Run one cell and return its rows: a mapping (one row), several, or a DataFrame.

        A value is None, a bool, a number or a text. What is random in it comes from `Cell.stream` or
        `Cell.seed_for`; nothing else may make two runs of a cell differ.
        """

    def tables(self, results: Results) -> Mapping[str, pd.DataFrame]:
        """Return the tables of the report, by name: by default medians and quartiles by the factors."""
        return {"summary": results.summary(self.measures)}

    def findings(self, results: Results) -> Sequence[str]:  # noqa: ARG002  those who conclude override it
        """Return what the report says first, a sentence or a few each; by default nothing."""
        return ()

    def figures(self, results: Results) -> Figures:
        """Return the figures of the report, by name: those that `drawn_by` draws; by default none."""
        found: Figures = pkgutil.resolve_name(self.drawn_by)(results) if self.drawn_by else NONE
        return found

    def files(self, results: Results) -> Mapping[str, str]:  # noqa: ARG002  those who write some override it
        """Return further texts that the report writes and shows, by the name of the file; by default none."""
        return NONE

    def answer(self, results: Results) -> Mapping[str, Any]:  # noqa: ARG002  those who have one override it
        """Return what ``--json`` prints beside findings and claims, by name; by default nothing."""
        return NONE

    def claims(self, results: Results) -> Sequence[Claim]:  # noqa: ARG002  those who claim override it
        """Return what is claimed, checked on the results; by default nothing."""
        return ()


def used_inputs(study: Study, cell: Cell, inputs: Collection[str]) -> tuple[str, ...]:
    """Return the names of the inputs that a cell uses, sorted.

    Raises
    ------
    RequestError
        There is no such input.
    """
    names = asked(study, "uses", cell)
    if names is None:
        return tuple(sorted(inputs))
    known = sorted(inputs)
    for name in names:
        require_known(f"input of study {study.name}", name, known)
    return tuple(sorted(names))


def asked(study: Study, what: str, *args: object) -> Any:  # noqa: ANN401  what the method returns
    """Return what a method of a study returns; a mistake in a user's file is reported with its line.

    What it hands out one by one is all asked for, up to one more than a campaign may have cells.

    Raises
    ------
    RequestError
        The method of a user's study fails.
    """
    try:
        found = getattr(study, what)(*args)
        return tuple(itertools.islice(found, MOST_CELLS + 1)) if isinstance(found, Iterator) else found
    except Exception as error:
        if type(study).__module__.startswith("experiments.") or isinstance(error, SimModelsError):
            raise
        raise RequestError(
            f"{what} of study {study.name}: {describe_error(error, [inspect.getfile(type(study))])}"
        ) from error


def texts_of(study: Study) -> Iterator[str]:
    """Hand out the texts among the values of parameters and factors, at all scales, and among those chosen."""
    at = [part for scale in study.scales.values() for part in (scale.parameters, scale.factors)]
    for part in (study.parameters, study.factors, *at, study.chosen):
        for value in part.values():
            several = [value] if isinstance(value, str) or not isinstance(value, Iterable) else value
            yield from (each for each in several if isinstance(each, str))


def require_integer(name: str, value: object, least: int) -> None:
    """Refuse a value of a parameter or a factor that is no int from `least` on; cells take it as it is, so 2.0 is none.

    Raises
    ------
    RequestError
        It is none.
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise RequestError(must_be(name, f"an integer >= {least}", value))


def _shown(value: Value) -> str:
    """Return a value as a notebook shows it."""
    return "none" if value is None else str(value)


def _value(name: str, value: object) -> Value:
    """Return the value of a parameter or a factor; refuse what neither a table nor JSON can hold."""
    value = plain_value(name, value)
    return as_number(name, value, also="None") if isinstance(value, float) else value


def factor_values(name: str, values: object) -> tuple[Value, ...]:
    """Return the values of a factor, each once."""
    several = values if isinstance(values, Iterable) and not isinstance(values, str | Mapping) else [values]
    found = tuple(_value(name, value) for value in several)
    if not found:
        raise RequestError(f"factor {name!r} has no values", "give at least one")
    kinds = {_kind(value) for value in found if value is not None}
    if len(kinds) > 1:
        raise RequestError(
            f"factor {name!r} has values that are {' and '.join(sorted(kinds))}", "give values of one kind"
        )
    if len(set(found)) < len(found):  # 1 and 1.0 are one value: a column of the table has them as the same
        raise RequestError(f"factor {name!r} has a value twice: {', '.join(map(str, found))}", "give each once")
    return found


def _kind(value: Value) -> str:
    """Return the kind of a value: values of one kind go into one column."""
    return "bools" if isinstance(value, bool) else "texts" if isinstance(value, str) else "numbers"
