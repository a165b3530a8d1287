"""Plan: the cells of a campaign, each with the name under which its result is kept."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

from experiments.campaigns.cell import Cell, Value
from experiments.campaigns.planning.finding import find_study, reference
from experiments.campaigns.planning.fingerprint import cell_key, code_digest, pickled_inputs
from experiments.campaigns.records import digest
from experiments.campaigns.study import MOST_CELLS, Study, asked, factor_values, used_inputs
from simmodels.errors import RequestError, must_be
from simmodels.ground.streams import entropy


@dataclass(frozen=True, slots=True)
class Shipment:
    """What a worker is sent once: with it, and the factors of a cell, it can run the cell.

    Parameters
    ----------
    study, chosen
        What `experiments.campaigns.planning.finding.find_study` needs to find the study, in any folder.
    code
        The digest of the code; a worker that has other code refuses.
    seed, parameters
        What all cells share.
    inputs
        What `Study.inputs` made, each pickled, by name.
    """

    study: str
    chosen: Mapping[str, Any]
    code: str
    seed: int
    parameters: Mapping[str, Value]
    inputs: Mapping[str, bytes]


@dataclass(frozen=True)
class Plan:
    """The cells of a campaign.

    Parameters
    ----------
    study
        The study.
    scale
        What it is run at.
    cells
        The cells, in the order of the design.
    keys
        The name of each, as long.
    shipment
        What the workers are sent.
    inputs
        The digest of each input, by name.
    replications
        How often each combination of the factors is repeated.
    """

    study: Study
    scale: str
    cells: tuple[Cell, ...]
    keys: tuple[str, ...]
    shipment: Shipment
    inputs: Mapping[str, str]
    replications: int

    @classmethod
    def of(
        cls,
        text: str,
        scale: str,
        seed: int,
        chosen: Mapping[str, Any] | None = None,
        *,
        code: str | None = None,
        inputs: Mapping[str, str] | None = None,
    ) -> "Plan":
        """Return the plan of a study.

        Parameters
        ----------
        text, chosen
            See `find_study`.
        scale
            One of the study's scales.
        seed
            The seed of all that is drawn, an integer >= 0.
        code
            The digest of the code with which cells were run; None for that of the present code.
        inputs
            The digests of the inputs with which cells were run, by name; None for those of the present inputs.

        Raises
        ------
        RequestError
            The study cannot be found, has no such scale, no cells, or two cells that are the same; or one that
            is out of range.
        """
        entropy(seed)  # refuses what is no seed
        seed = int(seed)
        study = find_study(text, chosen)
        study.seed = seed
        design = study.design(scale)
        cells: tuple[Cell, ...] = tuple(asked(study, "cells", scale, seed))
        if not cells:
            raise RequestError(f"study {study.name} has no cells at scale {scale}", "design at least one")
        if len(cells) > MOST_CELLS:
            what = f"study {study.name} has more than {MOST_CELLS:,} cells at scale {scale}"
            raise RequestError(what, "run several campaigns, each with another seed")
        for name, values in _varied(study, cells).items():
            factor_values(name, values)  # refuses what no column can hold
        pickled = pickled_inputs(study, asked(study, "inputs", scale))
        digests = {name: digest([content]) for name, content in pickled.items()}
        code = code_digest(study) if code is None else code
        known = digests if inputs is None else inputs

        @cache
        def shared(names: tuple[str, ...]) -> str:
            """Return the digest of what those cells have in common that use these inputs."""
            parts = [study.name, code, *(part for name in names for part in (name, known[name]))]
            return digest(part.encode() for part in parts)

        keys = tuple(cell_key(cell, shared(used_inputs(study, cell, known))) for cell in cells)
        seen: dict[str, Cell] = {}
        for key, cell in zip(keys, cells, strict=True):
            if key in seen:
                raise RequestError(f"study {study.name} has the cell twice: {cell}", "keep one of them")
            if cell.seed != seed or dict(cell.parameters) != dict(design.parameters):
                what = f"the cell {cell} of study {study.name} has a seed or parameters of its own"
                raise RequestError(what, "use those of the campaign, and a factor for what is varied")
            seen[key] = cell
        shipment = Shipment(reference(text), dict(chosen or {}), code, seed, dict(design.parameters), pickled)
        return cls(study, scale, cells, keys, shipment, digests, design.replications)

    @cached_property
    def factors(self) -> dict[str, tuple[Value, ...]]:
        """The values of each factor, in the order in which the cells have them."""
        return _varied(self.study, self.cells)


def _varied(study: Study, cells: Sequence[object]) -> dict[str, tuple[Value, ...]]:
    """Return the values of each factor, in the order in which the cells have them; refuse what is no cell."""
    found: dict[str, dict[tuple[type, Value], None]] = {}
    for cell in cells:
        if not isinstance(cell, Cell):
            raise RequestError(must_be(f"a cell of study {study.name}", "a Cell", cell))
        for name, value in cell.factors.items():
            try:
                found.setdefault(name, {})[type(value), value] = None
            except TypeError:  # it has no hash
                factor_values(name, [value])
                raise
    return {name: tuple(value for _, value in values) for name, values in found.items()}
