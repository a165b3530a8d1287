"""Order: which waiting job goes first, as a plain function of its characteristics; the smaller value does."""

from dataclasses import dataclass

from simmodels.decisions.functions import PythonFunction
from simmodels.decisions.priority import Priority, named_in
from simmodels.decisions.vocabulary import REGISTERS as PARAMETERS
from simmodels.errors import RequestError
from simmodels.workload import Job


@dataclass(frozen=True, eq=False)
class Order(Priority):
    """An order: its function, and what the reference says of it.

    Parameters
    ----------
    name
        What the registry, the command line and the tables call it.
    function
        A plain function of some of `PARAMETERS`, by name; the job with the smaller value goes first.
    formula
        The formula as the reference prints it (r submit, p estimate, q cores, w wait).
    source
        Who published it, where.
    is_built_in
        Whether it is one of the registry's own, which give a number for every job.

    Raises
    ------
    RequestError
        The function names something that is no characteristic of a job.
    """

    formula: str = ""
    source: str = ""
    is_built_in: bool = False

    def __post_init__(self) -> None:
        """Check the parameter names."""
        unknown = [name for name in self.needs if name not in PARAMETERS]
        if unknown or not callable(self.function):
            what = f"order {self.name!r} names {', '.join(unknown)}"
            raise RequestError(what, f"an order may name {', '.join(PARAMETERS)}")

    @property
    def compiled(self) -> bool:
        """Return whether numba could compile it."""
        return not isinstance(self.key_function, PythonFunction)

    def value(self, job: Job, now: float) -> float:
        """Return the value of a job that waits at an instant, by the plain function (a draw counts as 0)."""
        known = (job.submit_s, job.estimate_s, job.runtime_s, float(job.cores), now - job.submit_s, now, 0.0)
        values = dict(zip(PARAMETERS, known, strict=True))
        return float(self.function(*(values[name] for name in self.needs)))

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle by its name in the module that defines it, else by its fields; what is compiled stays behind."""
        home = self.home()
        if home is not None:
            return named_in, home
        return Order, (self.name, self.function, self.formula, self.source, self.is_built_in)
