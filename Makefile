# The developer's entry: `make` lists the targets.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
SOURCES := src tests bench tools demo

.DEFAULT_GOAL := help
.PHONY: help demo test stress check format bench docs clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(VENV)/installed ## Set up and show the main job on a real noisy run, with a follow-up read
	@PATH="$(abspath $(BIN)):$$PATH" sh demo/demo.sh

test: $(VENV)/developing ## Run the tests (under five minutes on two cores)
	$(BIN)/pytest -n auto -m "not stress" $(ARGS)

stress: $(VENV)/developing ## Run the long tests: kills, full disks, many processes, huge outputs
	$(BIN)/pytest -m stress $(ARGS)

check: $(VENV)/developing ## Format, lint, types, imports
	$(BIN)/ruff format --check $(SOURCES)
	$(BIN)/ruff check $(SOURCES)
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

format: $(VENV)/developing ## Put the code in order
	$(BIN)/ruff format $(SOURCES)
	$(BIN)/ruff check --fix $(SOURCES)

bench: $(VENV)/developing ## Print the figures, as ratios measured side by side
	$(BIN)/python bench/core.py
	$(BIN)/python bench/tokens.py
	$(BIN)/python bench/store.py
	$(BIN)/python bench/run.py
	$(BIN)/python bench/auto.py
	$(BIN)/python bench/grep.py
	$(BIN)/python bench/mcp.py

docs: $(VENV)/developing ## Write the pages that follow from the code
	$(BIN)/python tools/cli_reference.py
	$(BIN)/python tools/five_systems.py

clean: ## Remove what the other targets made
	rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis

$(VENV)/installed: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit("overspill needs Python 3.11 or newer; say which: make PYTHON=python3.12 …" if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --editable .
	@touch $@

$(VENV)/developing: $(VENV)/installed
	$(BIN)/python -m pip install --quiet --editable . --group dev
	@touch $@
