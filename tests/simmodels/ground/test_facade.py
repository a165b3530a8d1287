"""Facades: public names and nothing else are offered, and imported when they are used."""

import importlib
import json
import subprocess
import sys
from types import ModuleType

import pytest

FACADES = ("simmodels", "workloads", "experiments.campaigns")
HEAVY = {"llvmlite", "matplotlib", "networkx", "numba", "numpy", "pandas", "pyarrow", "scipy", "simpy", "typer"}


def imported_by(code: str) -> set[str]:
    """Return the packages that a fresh process has imported after some code."""
    asked = f"{code}\nimport json, sys\nprint(json.dumps([*sys.modules]))"
    done = subprocess.run([sys.executable, "-c", asked], stdout=subprocess.PIPE, check=True)
    return {name.partition(".")[0] for name in json.loads(done.stdout)}


def test_importing_the_facades_imports_no_library() -> None:
    assert not HEAVY & imported_by(f"import {', '.join(FACADES)}, simmodels.version, simmodels.errors")


@pytest.mark.parametrize("package", FACADES)
def test_a_facade_offers_its_public_names_and_lists_no_other(package: str) -> None:
    facade = importlib.import_module(package)
    assert dir(facade) == facade.__all__ == sorted(set(facade.__all__))
    for name in facade.__all__:
        assert not isinstance(getattr(facade, name), ModuleType), name


@pytest.mark.parametrize(
    ("package", "name", "instead"),
    [
        ("simmodels", "HOURS", "; did you mean HOUR?"),
        ("simmodels", "Custer", "; did you mean Cluster or ClusterSpec or Router?"),
        ("simmodels", "compare", "; simulate once for each policy, or use the command `schedlab compare`"),
        ("simmodels", "advise", "; `schedlab advise` is a command"),
        ("simmodels", "plot", "; a schedule has it: simulate(...).plot"),
        ("simmodels", "read_swf", "; workloads.read_swf is meant, perhaps: import workloads"),
        ("workloads", "simulate", "; simmodels.simulate is meant, perhaps: import simmodels"),
        ("experiments.campaigns", "Stduy", "; did you mean Study?"),
        ("simmodels", "zebra", ""),
        ("simmodels", "__path_of_others__", ""),
    ],
)
def test_a_name_that_a_facade_has_not_is_an_attribute_error_that_says_what_is_meant(
    package: str, name: str, instead: str
) -> None:
    facade = importlib.import_module(package)
    assert not hasattr(facade, name)
    with pytest.raises(AttributeError) as error:
        getattr(facade, name)
    assert str(error.value) == f"module {package!r} has no attribute {name!r}{instead}"


def test_python_adds_no_suggestion_to_that_of_a_facade() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "import simmodels as sm\nsm.Custer"], stderr=subprocess.PIPE, text=True, check=False
    )
    assert done.stderr.splitlines()[-1].endswith(
        "has no attribute 'Custer'; did you mean Cluster or ClusterSpec or Router?"
    )


def test_a_module_does_not_hide_the_public_name_that_it_shares() -> None:
    code = "import simmodels.simulate, workloads.lublin, simmodels as sm, workloads as wl\n"
    subprocess.run([sys.executable, "-c", f"{code}assert callable(sm.simulate) and callable(wl.lublin)"], check=True)
