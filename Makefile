# Two commands do everything on a fresh machine: `make book` (read) and `make test` (tests).
# Each makes the environment in .venv first, from pyproject.toml under the pins of constraints.txt.

PYTHON ?= python3
VENV := .venv
PY := $(VENV)/bin/python
STAMP := $(VENV)/.installed
ONLY ?=
# Which PyTorch: cpu, default (pip's own index), or the address of an index. Empty: by the machine.
TORCH ?=

.PHONY: help env html book lab test unit check execute prose exercises model clean

help:  ## list the commands
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):[^#]*## */  make \1\t/' | expand -t 20

env: $(STAMP)  ## make .venv with everything the course needs

$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; v = sys.version_info[:2]; sys.exit(v < (3, 11) and f"Python 3.11 or newer is needed; $(PYTHON) is {v[0]}.{v[1]} (choose another: make PYTHON=python3.12 ...)")'
	@echo "== environment: $(VENV) (the first time takes a few minutes, torch is large)"
	@test -x $(PY) || $(PYTHON) -m venv $(VENV)
	@$(PY) tools/install_torch.py $(TORCH)
	@$(PY) -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[test]'
	@touch $@

html: $(STAMP)  ## build the book into _build/html
	@$(PY) -m tools.build

book: html  ## build the book, serve it on localhost and open it
	@$(PY) -m tools.serve

lab: $(STAMP)  ## open chapters and exercises in JupyterLab, in your own folder notebooks/
	@$(PY) -m tools.lab

test: $(STAMP)  ## run every test: package, grading, notebooks, built book, browser
	@$(PY) -m tools.test

unit: $(STAMP)  ## run the fast tests alone (seconds to the first failure)
	@$(PY) -m tools.test unit

check: $(STAMP)  ## format, lint, types, unit tests, drift of generated files
	@$(PY) -m ruff format --check .
	@$(PY) -m ruff check .
	@$(PY) -m mypy
	@$(PY) -m tools.notebooks drift
	@$(PY) -m tools.test unit

execute: $(STAMP)  ## run chapters and store their outputs (ONLY=03 for one)
	@$(PY) -m tools.notebooks execute $(ONLY)

prose: $(STAMP)  ## take over text that changed in chapters whose code did not (ONLY=03 for one)
	@$(PY) -m tools.notebooks prose $(ONLY)

exercises: $(STAMP)  ## generate exercises/ and solutions/*.ipynb from solutions/*.py
	@$(PY) -m tools.exercises $(ONLY)

model: $(STAMP)  ## train a translator that comes with the package, in minutes (ONLY=toy-transformer)
	@$(PY) -m tools.ship_model $(ONLY)

clean:  ## remove what was built (the environment and your own files stay)
	@rm -rf _build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	@echo "removed _build, dist and caches; to remove the environment too: rm -rf $(VENV)"
