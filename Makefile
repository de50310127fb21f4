# The front door. Every target makes the virtual environment it needs: a fresh clone needs only Python 3.11+ and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: help setup demo test coverage test-lowest test-numba-next torture lint format bench docs clean
.DEFAULT_GOAL := help

help:
	@echo "make demo    a classifier learns digits before your eyes, and ends in a page (two minutes)"
	@echo "make setup   create $(VENV) and install gemsnn with its development tools"
	@echo "make test    run the tests"
	@echo "make coverage  run them and report which lines they reach, which takes half as long again"
	@echo "make test-lowest  the tests with the oldest versions that pyproject.toml allows"
	@echo "make test-numba-next  the tests of the engine with Numba's newest release candidate"
	@echo "make torture mutated files, odd networks and kills for SECONDS (60, if not given)"
	@echo "make lint    ruff and mypy --strict"
	@echo "make bench   print the speed and memory tables"
	@echo "make docs    build the documentation, warnings are errors"

$(VENV)/.installed: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit("gemsnn needs Python 3.11 or newer; run: make PYTHON=/path/to/python3.11 ...") if sys.version_info < (3, 11) else None'
	$(BIN)/python -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	touch $@

$(VENV)/.dev: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	touch $@

setup: $(VENV)/.dev

# Real learning on simulated recordings. Stopped, it goes on when called again.
demo: $(VENV)/.installed
	$(BIN)/gemsnn demo --out demo

# Two tests at a time: make test WORKERS=8, make test TESTS=tests/engine
# Each worker gets half of the files; who is done first takes over tests of the other.
WORKERS ?= 2
PARALLEL := --numprocesses $(WORKERS) --dist worksteal
test: setup
	$(BIN)/python -m pytest $(PARALLEL) $(TESTS)

coverage: setup
	$(BIN)/python -m pytest $(PARALLEL) --cov --cov-report term $(TESTS)

# A second environment, with exactly the lower bounds of pyproject.toml.
LOWEST := .venv-lowest
$(LOWEST)/.installed: pyproject.toml tests/support/lowest.py
	$(LOWEST)/bin/python -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv $(LOWEST)
	$(LOWEST)/bin/python tests/support/lowest.py > $(LOWEST)/requirements.txt
	$(LOWEST)/bin/python -m pip install --quiet --disable-pip-version-check -r $(LOWEST)/requirements.txt -e .
	touch $@

test-lowest: $(LOWEST)/.installed
	NUMBA_CACHE_DIR=$(CURDIR)/$(LOWEST)/numba $(LOWEST)/bin/python -m pytest $(PARALLEL) $(TESTS)

# A third, with Numba's newest version or release candidate, whatever the upper bound says.
NEXT := .venv-numba-next
test-numba-next:
	$(PYTHON) -m venv $(NEXT)
	$(NEXT)/bin/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	$(NEXT)/bin/python -m pip install --quiet --disable-pip-version-check --upgrade --pre numba llvmlite
	$(NEXT)/bin/python -m pip list | grep -E '^(numba|llvmlite) '
	NUMBA_CACHE_DIR=$(CURDIR)/$(NEXT)/numba $(NEXT)/bin/python -m pytest $(PARALLEL) tests/compiling tests/contract tests/engine tests/rules tests/learning

# Each failure is told with the seed that makes it happen again: make torture TORTURE='--only prepared --seed 4711'
SECONDS ?= 60
torture: setup
	PYTHONPATH=tests:tests/support OPENBLAS_NUM_THREADS=1 $(BIN)/python -m torture $(SECONDS) $(TORTURE)

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: setup
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

$(VENV)/.bench: $(VENV)/.dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev,bench]'
	touch $@

# One script a subject; the tables of the engine take options: make bench BENCH=--quick
bench: $(VENV)/.bench
	$(BIN)/python benchmarks/bench_engine.py $(BENCH)
	for script in $(filter-out benchmarks/bench_engine.py,$(wildcard benchmarks/bench_*.py)); do $(BIN)/python $$script || exit 1; done

$(VENV)/.docs: $(VENV)/.dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev,docs]'
	touch $@

docs: $(VENV)/.docs
	$(BIN)/python -m sphinx --quiet --fail-on-warning --keep-going --fresh-env docs site
	@echo "The documentation is in site/index.html"

clean:
	rm -rf $(VENV) $(LOWEST) $(NEXT) dist build site demo
