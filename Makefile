# Everything that is done with this project, from a checkout, with make and Python >= 3.11.
# `make` alone lists the targets. Each does the set-up it needs: its own .venv, with the exact versions of
# requirements/*.txt, made again only when these change (or when the folder was moved).

# What another active environment, or the caller's settings, would bring in.
unexport PYTHONHOME PYTHONPATH PYTHONSTARTUP PYTHONDONTWRITEBYTECODE VIRTUAL_ENV CONDA_PREFIX __PYVENV_LAUNCHER__
unexport PIP_USER PIP_TARGET PIP_PREFIX PIP_ROOT PIP_REQUIRE_VIRTUALENV
export PYTHONNOUSERSITE := 1
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_NO_INPUT := 1

PYTHON ?=
WORKERS ?= 2
ARGS ?=

VENV := .venv
PY := $(VENV)/bin/python
PACKAGES := simmodels workloads experiments

# Stamps: a file whose name holds the checksum of what it was made from. All paths are relative: the folder's may
# have spaces.
checksum = $(shell { pwd; cat $(1); } 2>/dev/null | cksum | cut -d ' ' -f 1)
PINS := $(VENV)/.pins-$(call checksum,requirements/run.txt requirements/dev.txt)
INSTALLED := $(VENV)/.installed-$(call checksum,requirements/*.txt pyproject.toml setup.cfg simmodels/version.py)

# A .venv without its Python is made again.
ifneq ($(shell $(PY) -c 'print("runs")' 2>/dev/null),runs)
.PHONY: $(PINS)
endif

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-full attack docs docs-test bench wheel lint format types options floors spelling language size check hooks pins clean

help: ## list the targets
	@echo "usage: make TARGET [WORKERS=2] [ARGS='more arguments of pytest, the demo or the benchmarks'] [PYTHON=python3.12]"
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-10s %s\n", $$1, $$2 }' Makefile

setup: $(INSTALLED) ## make .venv with the pinned versions, and install the project in it (editable)

demo: $(INSTALLED) ## run the main job on a generated trace: five orders compared, a table, Parquet files, a figure
	@$(PY) -m experiments demo $(ARGS)

test: $(INSTALLED) ## run the tests (but those marked `full`)
	$(PY) -m pytest -n $(WORKERS) $(ARGS)

test-full: $(INSTALLED) ## run all tests, the long ones too
	HYPOTHESIS_PROFILE=full $(PY) -m pytest -n $(WORKERS) -m "full or not full" $(ARGS)

attack: $(INSTALLED) ## attack the project: damaged files, random cases, kills, flipped bits, refused runs (up to 2.5 h)
	$(PY) -m tests.attacks $(ARGS)

docs: $(INSTALLED) ## build the documentation site into build/docs, without network; a warning is an error
	@rm -rf build/docs build/doctrees
	$(PY) -m sphinx -b html -W --keep-going -q -j $(WORKERS) -d build/doctrees docs build/docs $(ARGS)
	@echo "open build/docs/index.html"

docs-test: $(INSTALLED) ## run every code block of the documentation
	$(PY) -m pytest tests/test_docs.py $(ARGS)

bench: $(INSTALLED) ## run the benchmarks; prints tables and writes JSON
	@$(PY) -m benchmarks $(ARGS)

wheel: $(INSTALLED) ## make a wheel with compiled code for x86-64-v3 in dist/, and say what that costs (minutes)
	@$(PY) -m benchmarks.wheel $(ARGS)

lint: $(INSTALLED) ## look for mistakes and for other formatting (ruff)
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .

format: $(INSTALLED) ## mend what ruff can mend by itself
	$(PY) -m ruff check --fix .
	$(PY) -m ruff format .

types: $(INSTALLED) ## check the types (mypy, strict)
	$(PY) -m mypy

options: $(INSTALLED) ## write the types of options that are taken by name, which type checkers read
	$(PY) -m tests.option_types

floors: $(INSTALLED) ## check that imports only point down (import-linter)
	$(VENV)/bin/lint-imports

spelling: $(INSTALLED) ## check the spelling (codespell)
	$(VENV)/bin/codespell

language: $(INSTALLED) ## look for phrases and names that are hard to read (tests/language.py says which)
	$(PY) -m tests.language

size: ## count lines of source and tests by room, words of documentation, and files of more than 500 lines
	@for room in simmodels workloads experiments benchmarks tests; do \
	    git ls-files "$$room/*.py" "$$room/*.pyi" | xargs cat | wc -l | xargs printf '%-14s %7s lines\n' "$$room"; \
	done
	@git ls-files README.md 'docs/*.md' | xargs cat | wc -w | xargs printf '%-14s %7s words\n' "docs, README"
	@git ls-files '*.py' | xargs wc -l | awk '$$1 > 500 && $$2 != "total" { print $$2 " has " $$1 " lines" }'

check: lint types floors spelling language docs test ## all of the above that CI runs

hooks: $(INSTALLED) ## have git run the checks before each commit (pre-commit)
	$(VENV)/bin/pre-commit install

clean: ## remove .venv and everything else that was made here but results
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find $(PACKAGES) tests benchmarks docs -name __pycache__ -type d -prune -exec rm -rf {} +

# -- the set-up -------------------------------------------------------------------------------------

# Prints the path of the Python outside of any environment, or says what is missing.
, := ,
probe := 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11) or print(getattr(sys, "_base_executable", 0) or sys.executable))'
define find_python
for name in $(if $(PYTHON),"$(PYTHON)",python3.13 python3.12 python3.11 python3 python); do \
    "$$name" -c $(probe) 2>/dev/null && exit; \
done; \
echo "make: no Python >= 3.11 with venv and pip under the name $(or $(PYTHON),python3.13$(,) python3.12$(,) python3.11$(,) python3 or python);" \
    "install one$(,) or say make PYTHON=/path/to/python3" >&2; \
exit 1
endef

$(PINS):
	@python=$$($(find_python)) && echo "making $(VENV) with $$python ..." && rm -rf $(VENV) && "$$python" -m venv $(VENV)
	@echo "installing the pinned versions (requirements/*.txt) ..."
	@$(PY) -m pip install -qq --progress-bar off --only-binary=:all: --require-hashes \
	    -r requirements/dev.txt
	@touch $@

$(INSTALLED): $(PINS)
	@echo "installing the project ..."
	@$(PY) -m pip install -qq --no-index --no-deps --no-build-isolation --editable .
	@rm -f $(VENV)/.installed-*
	@touch $@

# uv resolves for all platforms and all permitted versions of Python at once, and writes the hashes of all files of
# a version: what is installed elsewhere is held to them too.
PINS_PY := build/pins/bin/python
COMPILE = UV_CACHE_DIR=build/cache build/pins/bin/uv pip compile pyproject.toml --quiet --universal --python-version 3.11 --fork-strategy fewest \
    --generate-hashes --no-annotate --no-header --upgrade
pins: ## choose the newest versions that pyproject.toml allows, and write requirements/*.txt
	@python=$$($(find_python)) && rm -rf build && "$$python" -m venv build/pins
	@$(PINS_PY) -m pip install -qq uv
	@$(COMPILE) --output-file build/run.txt
	@$(COMPILE) --output-file build/dev.txt --extra dask --extra dev --constraint build/run.txt \
	    $$(sed -n 's/^\([A-Za-z0-9._-]*\)==.*/--no-emit-package \1/p' build/run.txt)
	@{ echo "# What schedlab runs with, to the last version; made by \`make pins\`."; cat build/run.txt; } > requirements/run.txt
	@{ echo "# What schedlab is built and tested with, to the last version; made by \`make pins\`."; echo "-r run.txt"; \
	    cat build/dev.txt; } > requirements/dev.txt
	@rm -rf build
