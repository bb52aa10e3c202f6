# One door to everything. `make demo` and `make test` need only Python 3.11 or later, with pip and venv.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
JOBS   ?= 2
LOWEST := .venv-lowest
KERNELS ?= Prescott Nehalem Sandybridge Haswell SkylakeX

.PHONY: help demo test test-full messages test-kernels test-lowest test-wheel dist check lint types format layers size bench reproduce docs clean

help:
	@echo "make demo         show the four published systems on real data, and write report.html"
	@echo "make test         run the tests (3 minutes on 2 cores)"
	@echo "make test-kernels run them under the BLAS kernels of several processors"
	@echo "make test-lowest  run the tests with the lowest versions of everything we need"
	@echo "make dist         build wheel and source distribution into dist/, and check what they say of themselves"
	@echo "make test-wheel   install that wheel into an empty environment without pandas, and try it"
	@echo "make check        lint, types, layers, size and tests: what has to pass before a change goes in"
	@echo "make bench        measure everything beside peers and write the pages in benchmarks/ (some hours)"
	@echo "make reproduce    the part of it that recomputes the published numbers (an hour on 2 cores)"
	@echo "make docs         build the documentation into docs/_build/html"
	@echo "make clean        remove everything that was made"

# pip is not quiet, so that the packages, their sizes and how far the download is are seen.
PIP_INSTALL = -m pip install --disable-pip-version-check

$(BIN)/python:
	@echo "Making a virtual environment in $(VENV)"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python $(PIP_INSTALL) --quiet "pip>=23"

$(VENV)/.demo: pyproject.toml | $(BIN)/python
	@$(BIN)/python tools/say_what_is_installed.py $(VENV)
	@$(BIN)/python $(PIP_INSTALL) -e .
	@touch $@

$(VENV)/.dev: pyproject.toml | $(BIN)/python
	@$(BIN)/python tools/say_what_is_installed.py $(VENV) dev
	@$(BIN)/python $(PIP_INSTALL) -e ".[dev]"
	@touch $@ $(VENV)/.demo

$(VENV)/.docs: pyproject.toml | $(BIN)/python
	@$(BIN)/python tools/say_what_is_installed.py $(VENV) docs
	@$(BIN)/python $(PIP_INSTALL) -e ".[docs]"
	@touch $@

$(VENV)/.release: pyproject.toml | $(BIN)/python
	@$(BIN)/python $(PIP_INSTALL) "build>=1.2" "twine>=6"
	@touch $@

demo: $(VENV)/.demo
	@$(BIN)/python -m clearmargin demo --force

# The workbench is tested in a real browser, which is installed where there is none and that can be done.
test: $(VENV)/.dev
	@$(BIN)/python tools/find_browser.py --install
	$(BIN)/python -m pytest -n $(JOBS) -q

test-full: $(VENV)/.dev
	@$(BIN)/python tools/find_browser.py --install
	HYPOTHESIS_PROFILE=full $(BIN)/python -m pytest -n $(JOBS) -q

# Answers do not depend on the processor. Kernels of recent ones (SkylakeX) need one that can run them:
# `make test-kernels KERNELS="Prescott Haswell"`.
test-kernels: $(VENV)/.dev
	@$(BIN)/python tools/find_browser.py --install
	@set -e; for kernel in $(KERNELS); do \
	  echo "with the BLAS kernels of $$kernel"; \
	  OPENBLAS_CORETYPE=$$kernel $(BIN)/python -m pytest -n $(JOBS) -q; \
	done

# From scratch each time, on Python 3.11 or 3.12: later ones have no numpy 2.0.
test-lowest:
	$(PYTHON) -m venv --clear $(LOWEST)
	@$(LOWEST)/bin/python tools/say_what_is_installed.py $(LOWEST) dev
	@$(LOWEST)/bin/python $(PIP_INSTALL) -c constraints-lowest.txt -e ".[dev]"
	@$(LOWEST)/bin/python tools/find_browser.py --install
	$(LOWEST)/bin/python -m pytest -n $(JOBS) -q

# From scratch each time, so that nothing of an earlier version is released.
dist: $(VENV)/.release
	rm -rf dist
	$(BIN)/python -m build --outdir dist
	$(BIN)/twine check --strict dist/*

test-wheel: dist
	$(PYTHON) tools/try_wheel.py dist

check: lint types layers size test

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format: $(VENV)/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

types: $(VENV)/.dev
	$(BIN)/mypy

layers: $(VENV)/.dev
	$(BIN)/lint-imports --no-cache

size:
	@$(PYTHON) tools/check_size.py

# All texts of errors and warnings, so that a wording is reviewed as a difference.
messages: $(VENV)/.dev
	$(BIN)/python tools/list_messages.py

# OPTIONS=--quick tries everything in minutes and installs no peers.
bench: $(VENV)/.dev
	$(BIN)/python -m benchmarks $(OPTIONS)

reproduce: $(VENV)/.dev
	$(BIN)/python -m benchmarks --only fung trees rankings advice

docs: $(VENV)/.docs
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html
	@echo "open docs/_build/html/index.html"

clean:
	rm -rf $(VENV) $(LOWEST) .venv-peers build dist docs/_build docs/reference/generated docs/gallery .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
