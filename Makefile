# One command for everything a change must pass: make check
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
SOURCES := src brain router agents prompts tests benchmarks

.PHONY: install check format lint types imports test docs bench bench-peers

install:  ## venv and an editable install with everything the tests need
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install -e '.[dev]' --config-settings editable_mode=strict

check: lint types imports test  ## all of it, as CI runs it

format:  ## put the sources in order
	$(BIN)/ruff check --fix $(SOURCES)
	$(BIN)/ruff format $(SOURCES)

lint:
	$(BIN)/ruff format --check $(SOURCES)
	$(BIN)/ruff check $(SOURCES)

types:
	$(BIN)/mypy -p kds

imports:
	$(BIN)/lint-imports

test:  ## with the doctests and the commands of the documentation
	$(BIN)/pytest

docs:  ## write docs/cli.md anew from the commands themselves
	$(BIN)/python -m kds.cli.reference > docs/cli.md

bench:  ## what a turn costs
	$(BIN)/python benchmarks/turn_cost.py

bench-peers:  ## KDS beside what else runs offline; QUICK=--quick, ONLY=intents|rewrites for less
	$(BIN)/python benchmarks/peers.py $(QUICK) $(if $(ONLY),--only $(ONLY)) \
	  $(if $(QUICK),,--write docs/benchmarks.md)
