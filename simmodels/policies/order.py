"""Order: which waiting job goes first, as a plain function of its characteristics; the smaller value does."""

from dataclasses import dataclass

from simmodels.policies.priority import Priority


@dataclass(frozen=True, eq=False)
class Order(Priority):
    """An order: its function, and what the reference says of it.

    Parameters
    ----------
    name
        What the registry, the command line and the tables call it.
    function
        A plain function of characteristics of a job, by name; the job with the smaller value goes first.
    formula
        The formula as the reference prints it (r submit, p estimate, q cores, w wait).
    source
        Who published it, where.
    about
        The formula in words, such as "fewest cores first".

    Notes
    -----
    A parameter that is no word of the vocabulary is a column of the workload (`Workload.extras`); a job without such a
    number is refused when it is submitted.

    Examples
    --------
    >>> import simmodels as sm
    >>> saf = sm.orders()["SAF"]
    >>> saf.name, saf.formula, saf.about
    ('SAF', 'p q', 'smallest limit x cores first')
    """

    formula: str = ""
    source: str = ""
    about: str = ""
