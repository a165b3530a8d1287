"""Risk: the table from which a job's category is read, made of the jobs of a reference (the week before, say).

Perotin et al. (2023, doi 10.1145/3624062.3624194), section 4.2: the category of a job is the share of the
reference's work (length x cores) that is in jobs at least as long.
"""

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from simmodels.errors import RequestError
from simmodels.work.workload import Workload

Category = Literal["ge", "gt", "thousandths"]

Table = tuple[NDArray[np.float64], NDArray[np.float64]]


def risk_table(reference: Workload, *, category: Category = "ge", cap_s: float) -> Table:
    """Return lengths (float64[k], increasing) and shares (float64[k + 1]); a job reads the share at its own length.

    It refuses a reference that holds no work.

    Parameters
    ----------
    reference
        Jobs like those to come.
    category
        ``"ge"``: the share in jobs at least as long (the paper); ``"gt"``: in longer jobs; ``"thousandths"``:
        as the authors' program has it, one minus the number of thousandths of the work that lie at or below
        the job's length (and 1, not 1/1000, for a job as long as the last of them).
    cap_s
        Longer jobs count as this long.
    """
    known = reference.known() & (reference.runtime_s > 0) & (reference.cores > 0)
    if not known.any():
        raise RequestError(f"the reference {reference.name!r} holds no work", "give jobs like those to come")
    lengths, row = np.unique(np.minimum(reference.runtime_s[known], cap_s), return_inverse=True)
    work = np.bincount(row, weights=lengths[row] * reference.cores[known])
    if category == "thousandths":
        share = np.cumsum(work) / work.sum()
        marks = lengths[np.searchsorted(share, np.arange(1, 1000) / 1000)]
        steps = 1.0 - np.arange(1000) / 1000
        # The authors' program takes a length equal to the last mark for one below all of them.
        return np.append(marks, np.nextafter(marks[-1], np.inf)), np.append(np.append(steps[:-1], 1.0), steps[-1])
    longer = np.append(np.cumsum(work[::-1])[::-1], 0.0)
    return lengths, longer / longer[0]
