# make run [VAULT=~/Notes]   index a vault and answer questions (without VAULT: the demo vault)
# make test                  the tests          make lint     style and types
# make nightly               the long tests     make bench    the measurements
VENV ?= .venv
BIN := $(VENV)/bin
VAULT ?=
# the default vault must not meet the data of a real one
RUN := $(if $(VAULT),--vault "$(VAULT)",--vault demo --name demo)

.PHONY: help run test lint format nightly bench clean

help:
	@sed -n 's/^# //p' Makefile | sed -n '1,3p'

$(VENV)/.run: pyproject.toml scripts/setup.sh
	@scripts/setup.sh $(VENV)
	@touch $@

$(VENV)/.dev: pyproject.toml scripts/setup.sh
	@scripts/setup.sh $(VENV) dev,hnsw
	@touch $@ $(VENV)/.run

run: $(VENV)/.run
	@$(BIN)/mindnetd model pull || echo "No model yet: the words are searchable, meaning is not. Try 'make run' again when online."
	@PATH="$(abspath $(BIN)):$$PATH" $(BIN)/mindnetd run $(RUN) --progress on

test: $(VENV)/.dev
	@$(BIN)/python -m pytest -q -m "not nightly" $(ARGS)

nightly: $(VENV)/.dev
	@$(BIN)/python -m pytest -q -m nightly --timeout=7200 $(ARGS)

lint: $(VENV)/.dev
	@failed=0; $(BIN)/ruff check . || failed=1; $(BIN)/ruff format --check . || failed=1; $(BIN)/mypy || failed=1; exit $$failed

format: $(VENV)/.dev
	@$(BIN)/ruff check --fix . && $(BIN)/ruff format .

bench: $(VENV)/.dev
	@$(BIN)/python -m benchmarks $(ARGS)

clean:
	rm -rf $(VENV) build *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
