# Everything runs in the project's own virtual environment, made on first use.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/installed
export PIP_CONSTRAINT := $(CURDIR)/constraints.txt
export PIP_DISABLE_PIP_VERSION_CHECK := 1
WORKERS ?= 2

.DEFAULT_GOAL := help
.PHONY: help install run test lint unit test-long bench format clean

help: ## Show what can be made
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Python 3.11 or newer is needed; set PYTHON=/path/to/python3.11" >&2; exit 2; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --editable '.[dev]'
	@touch $@

install: $(STAMP) ## Make the virtual environment and install the product into it

run: $(STAMP) ## Run a living floor of four tables, to watch and to poke at
	@$(BIN)/progressive demo

test: lint unit ## Lint, types, import contract and every test

lint: $(STAMP) ## Style, types and the import contract
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

unit: $(STAMP) ## The tests alone
	$(BIN)/pytest -n $(WORKERS) -m "not long"

test-long: $(STAMP) ## The tests that take minutes
	$(BIN)/pytest -m long

bench: $(STAMP) ## Measure, and print figures as ratios
	$(BIN)/python tests/bench.py

format: $(STAMP) ## Put the code into its layout
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean: ## Remove the virtual environment and what tools left behind
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache *.egg-info build
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
