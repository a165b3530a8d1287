"""Batches: cells run one after the other in a worker."""

import os
import pickle
import platform
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from experiments.campaigns.cell import Cell, Value
from experiments.campaigns.planning.finding import find_study
from experiments.campaigns.planning.fingerprint import code_digest
from experiments.campaigns.planning.plan import Shipment
from experiments.campaigns.rows import Done, groups, parquet, plain_rows, table_of
from experiments.campaigns.store import Failure
from experiments.campaigns.study import Study, used_inputs
from experiments.inputs import describe_error
from simmodels.errors import RequestError

Job = tuple[str, Mapping[str, Value], int]
"""A cell as it is sent to a worker: its name, its factors, its replication."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a batch.

    Parameters
    ----------
    files
        Parquet files, as bytes, with the names of the cells in each: one, unless the values of a column are of two
        kinds. A file never mixes kinds, so that what is read of some cells does not depend on others.
    failures
        The cells that failed.
    seconds
        How long the cells took, together.
    """

    files: list[tuple[tuple[str, ...], bytes]] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    seconds: float = 0.0

    def __len__(self) -> int:
        """Return the number of cells."""
        return sum(len(keys) for keys, _ in self.files) + len(self.failures)


# -- in the worker ----------------------------------------------------------------------------------

_opened: list[tuple[Shipment, Study, dict[str, Any]]] = []
"""The shipment that this process works on, with its study and inputs; there is one at a time."""


def run_batch(shipment: Shipment, jobs: Sequence[Job], *, begun: Callable[[str | None], None] | None = None) -> Outcome:
    """Run cells one after the other, and return their results: a cell's failure is reported and does not stop others.

    Parameters
    ----------
    shipment
        What the cells share.
    jobs
        The cells.
    begun
        Is given the name of each cell before it is run, and None after the last one.

    Raises
    ------
    RequestError
        The study cannot be found here, or its code differs.
    """
    study, inputs = _open(shipment)
    worker = f"{platform.node()}, process {os.getpid()}"
    outcome = Outcome()
    done: list[Done] = []
    total = 0.0
    for key, factors, replication in jobs:
        cell = Cell(factors, replication, shipment.seed, shipment.parameters)
        if begun is not None:
            begun(key)
        start = time.perf_counter()
        try:
            used = {name: inputs[name] for name in used_inputs(study, cell, shipment.inputs)}
            rows = plain_rows(study.run_cell(replace(cell, inputs=used)), factors)
        except (Exception, SystemExit) as error:  # noqa: BLE001  whatever the study raises
            trace = error.__traceback__.tb_next if error.__traceback__ is not None else None
            shown = "".join(traceback.format_exception(type(error), error, trace))
            outcome.failures.append(Failure(key, describe_error(error), shown, worker))
            rows = None
        seconds = time.perf_counter() - start
        total += seconds
        if rows is not None:
            done.append((key, seconds, rows))
    if begun is not None:
        begun(None)
    outcome.files.extend((tuple(key for key, _, _ in group), parquet(table_of(group))) for group in groups(done))
    return Outcome(outcome.files, outcome.failures, total)


class _Inputs(dict[str, Any]):
    """Inputs by name, each unpacked when it is first used."""

    def __init__(self, pickled: Mapping[str, bytes]) -> None:
        super().__init__()
        self.pickled = pickled

    def __missing__(self, name: str) -> object:
        """Unpack an input."""
        self[name] = pickle.loads(self.pickled[name])  # noqa: S301  our own, sent by the runner
        return self[name]


def _open(shipment: Shipment) -> tuple[Study, dict[str, Any]]:
    """Return study and inputs of a shipment; they are looked up and unpacked once."""
    if not _opened or _opened[0][0] is not shipment:
        study = find_study(shipment.study, shipment.chosen)
        if code_digest(study) != shipment.code:
            what = f"the worker on {platform.node()} has other code of schedlab or of study {shipment.study}"
            raise RequestError(what, "install there the code that the campaign was started with")
        _opened[:] = [(shipment, study, _Inputs(shipment.inputs))]
    return _opened[0][1:]
