"""Declared: a study written as a TOML file, on the grounds of another study.

The file says which study does the work, and what is different:

    study = "replay"              # a name, or a Python file beside this one
    title = "Does a threshold cost anything?"

    [parameters]                  # what is the same in all cells
    jobs = 2000

    [factors]                     # what is varied
    order = ["FCFS", "SAF"]

    [scales.small]                # replications, and what differs at this scale
    replications = 10

    [[claims]]                    # a measure of some cells, alone or against others
    text = "SAF has shorter waits than FCFS"
    measure = "mean_wait_s"
    of = { order = "SAF" }
    against = { order = "FCFS" }
    less_than = 0.0
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, get_args

from experiments.campaigns.claims import Claim
from experiments.campaigns.results import Results
from experiments.campaigns.statistics import Effect, Statistic
from experiments.campaigns.study import Scale, Study
from experiments.inputs import reason
from simmodels.errors import FileFormatError, RequestError, SimModelsError, must_be, require_known
from simmodels.ground.files import open_regular
from simmodels.ground.toml_json import parsed

_STUDY: Final[Mapping[str, type]] = {
    "study": str,
    "name": str,
    "title": str,
    "parameters": dict,
    "factors": dict,
    "scales": dict,
    "measures": list,
    "claims": list,
}
_SCALE: Final[Mapping[str, type]] = {"replications": int, "parameters": dict, "factors": dict, "judged": bool}
_MEASURED: Final = ("of", "against", "relative", "statistic")
"""What of a claim says how it is measured; the other keys are those of `Claim`."""
_CLAIM: Final[Mapping[str, type]] = {
    "text": str,
    "measure": str,
    "of": dict,
    "against": dict,
    "relative": bool,
    "statistic": str,
    "source": str,
    "number": str,
    "ours": bool,
    "unit": str,
    "to_decide": str,
    "note": str,
    **dict.fromkeys(("more_than", "at_least", "less_than", "at_most"), float),
}


def declared(path: Path, find_class: Callable[[str], type[Study]]) -> type[Study]:
    """Return the study that a TOML file declares.

    Parameters
    ----------
    path
        The file.
    find_class
        Finds the study that it is based on; a file is looked for beside this one.

    Raises
    ------
    RequestError
        The file cannot be read.
    FileFormatError
        It is no TOML, or a value of it is out of range.
    """
    content = _content(path)
    try:
        return _made(content, path, find_class)
    except SimModelsError as error:
        raise FileFormatError(str(path), None, str(error)) from error


def _content(path: Path) -> dict[str, Any]:
    """Return what a TOML file says."""
    try:
        with open_regular(path) as file:
            text = file.read()
    except OSError as error:
        raise RequestError(f"no study can be read from {path}: {reason(error)}") from error
    return parsed(text, ".toml", str(path))


def _made(content: Mapping[str, Any], path: Path, find_class: Callable[[str], type[Study]]) -> type[Study]:
    """Return the class of what a TOML file says."""
    _check(content, _STUDY, "the file", needed=("study",))
    named = content["study"]
    base = find_class(str(path.parent / named) if named.lower().endswith((".py", ".toml")) else named)
    # What the file says of a name stands at all scales of the base, except what it says itself of a scale.
    named_here = {*content.get("parameters", {}), *content.get("factors", {})}
    scales = {
        name: replace(
            at,
            parameters={key: value for key, value in at.parameters.items() if key not in named_here},
            factors={key: value for key, value in at.factors.items() if key not in named_here},
        )
        for name, at in base.scales.items()
    }
    for name, said in content.get("scales", {}).items():
        _check(said, _SCALE, f"scale {name!r}")
        old = scales.get(name, Scale())
        scales[name] = Scale(
            replications=said.get("replications", old.replications),
            parameters={**old.parameters, **said.get("parameters", {})},
            factors={**old.factors, **said.get("factors", {})},
            judged=said.get("judged", old.judged),
        )
    claims = content.get("claims", [])
    for what, own in (("parameters", base.parameters), ("factors", base.factors)):
        for name in content.get(what, {}):
            if name not in {**base.parameters, **base.factors}:
                require_known(f"name under {what} for study {base.name}", name, (*own,))
    parameters, factors = _sorted_out(base, content)
    for number, claim in enumerate(claims, 1):
        _check(claim, _CLAIM, f"claim {number}", needed=("text", "measure"))
        _check_claim(claim, f"claim {number}", factors)

    def all_claims(self: Study, results: Results) -> Sequence[Claim]:
        return [*base.claims(self, results), *(_claim(said, results) for said in claims)]

    made = type(
        base.__name__,
        (base,),
        {
            "__doc__": content.get("title", base.__doc__),
            "__module__": base.__module__,  # the module of the code that does the work: its mistakes are reported
            "name": content.get("name", path.stem),
            "parameters": parameters,
            "factors": factors,
            "scales": scales,
            "measures": tuple(content.get("measures", base.measures)),
            "claims": all_claims,
        },
    )
    made()  # refuses what is out of range
    return made


def _sorted_out(base: type[Study], content: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return parameters and factors: what the file varies is no parameter, what it fixes is no factor."""
    parameters = {**base.parameters, **content.get("parameters", {})}
    factors = {**base.factors, **content.get("factors", {})}
    for name in content.get("factors", {}):
        if name in content.get("parameters", {}):
            raise RequestError(f"{name!r} is both a parameter and a factor")
        parameters.pop(name, None)
    for name in content.get("parameters", {}):
        factors.pop(name, None)
    return parameters, factors


def _claim(said: Mapping[str, Any], results: Results | None) -> Claim:
    """Return a claim of the file, checked on the results."""
    effect, note = None, said.get("note", "")
    if results is not None:
        try:
            effect = _effect(said, results)
        except RequestError as error:  # the other claims are checked all the same
            note = "; ".join(filter(None, [note, f"not measured: {error}"]))
    measure = said["measure"]
    shown = [", ".join(f"{k} {v}" for k, v in said[part].items()) for part in ("of", "against") if said.get(part)]
    if shown:
        measure += f" of {' minus that of '.join(shown)}" + (
            ", as a fraction of the latter" if said.get("relative") else ""
        )
    own = {name: value for name, value in said.items() if name not in _MEASURED}
    return Claim(**{"source": "", **own, "measure": measure, "effect": effect, "note": note})


def _effect(said: Mapping[str, Any], results: Results) -> Effect | None:
    """Return what a claim of the file is checked by."""
    how = {name: said[name] for name in ("relative", "statistic") if name in said}
    return results.difference(said["measure"], said.get("of", {}), said.get("against"), **how)


def _check_claim(said: Mapping[str, Any], where: str, factors: Mapping[str, Any]) -> None:
    """Refuse a claim that no results could be checked by: rather now than when all cells are done."""
    for part in ("of", "against"):
        for name in said.get(part, {}):
            require_known(f"factor under {part} of {where}", name, factors)
    require_known(f"statistic of {where}", said.get("statistic", "mean"), get_args(Statistic))
    _claim(said, None)  # refuses bounds that are missing or leave no room


def _check(said: object, allowed: Mapping[str, type], where: str, needed: Sequence[str] = ()) -> None:
    """Refuse a table of the file that has a key it may not have, lacks one, or has one of another kind."""
    if not isinstance(said, Mapping):
        raise RequestError(must_be(where, "a table", said))
    for key, value in said.items():
        require_known(f"key of {where}", key, allowed)
        kind = allowed[key]
        fits = isinstance(value, int | float) if kind is float else isinstance(value, kind)
        if not fits or (isinstance(value, bool) and kind is not bool):
            names = {str: "a text", dict: "a table", list: "an array", int: "an integer", float: "a number"}
            raise RequestError(must_be(f"{key} of {where}", names.get(kind, "true or false"), value))
    for key in needed:
        if key not in said:
            raise RequestError(f"{where} has no {key}", "add one")
