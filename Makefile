# Everything runs from a checkout: `make run` shows the main job, `make test` proves it. Both set up what they need.
SHELL := /bin/bash
VENV ?= .venv
PYTHON ?= python3
BIN := $(VENV)/bin
UV := $(shell command -v uv 2>/dev/null || echo $(CURDIR)/$(VENV)/bin/uv)
# One more than there are cores: some tests wait for leases and servers.
JOBS ?= $(shell $(PYTHON) -c 'import os; print((os.cpu_count() or 1) + 1)')
export UV_COMPILE_BYTECODE := 1

SEEDS ?= 5000
SCHEDULES ?= 100000
FIRST ?= 1000

.PHONY: help setup run serve test lint unit test-flux spec soak bench mutants schemas lock clean

help: ## what there is to make
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

setup: $(VENV)/.ready ## a virtual environment with everything pinned

$(VENV)/.ready: requirements/dev.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Fleetform needs Python 3.11 or newer; set PYTHON="; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@command -v uv >/dev/null || test -x $(BIN)/uv || $(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	@$(UV) pip install --quiet --python $(BIN)/python --require-hashes -r requirements/dev.txt
	@$(UV) pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation -e .
	@touch $@

run: setup ## the main job on the example fleet: decide, roll out in stages, fail, go back, finish; into out/demo
	@PATH="$$($(BIN)/python -m tools.kit 2>/dev/null | tail -1):$$PATH" tools/demo examples/fleet $(CURDIR)/out/demo $(CURDIR)/$(BIN)/fleetform

serve: setup ## keep the example fleet running in out/demo; Ctrl-C ends it; ARGS='--listen 8080' has it answer
	@test -d out/demo/fleet || { mkdir -p out/demo && cp -r examples/fleet out/demo/fleet && git -C out/demo/fleet init --quiet; }
	@cd out/demo && PATH="$$(cd $(CURDIR) && $(BIN)/python -m tools.kit 2>/dev/null | tail -1):$$PATH" $(CURDIR)/$(BIN)/fleetform serve -f fleet --state sqlite:state/fleet.db $$(test -d probes && echo --health-dir probes) $(ARGS)

test: setup lint spec unit ## everything that must hold

lint: setup ## style, types, import rules, schemas in step with the records
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check --quiet .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-cache > .lint-imports.log || { cat .lint-imports.log; exit 1; }
	@$(BIN)/python -m tools.schemas --check

unit: setup ## the tests; the first time on a machine etcd and kube-apiserver are built for them (six minutes)
	@$(BIN)/python -m tools.servers > /dev/null
	@$(BIN)/pytest -n $(JOBS)

test-flux: setup ## delivery through Flux's own controllers: ten minutes; the first time on a machine they are built (ten more)
	@$(BIN)/python -m tools.servers flux > /dev/null
	@$(BIN)/pytest -m flux tests/operator

spec: setup ## which rule is proved by which tests; fails where one is stated and not proved
	@$(BIN)/python -m tools.spec

soak: setup ## many random fleets against the rules, and random faults against the control plane; SEEDS=20000 SCHEDULES=1000 FIRST=0
	@PYTHONPATH=tests $(BIN)/python -m rulebook --seeds $(SEEDS) --first $(FIRST)
	@PYTHONPATH=tests $(BIN)/python -m simulation --pairs
	@PYTHONPATH=tests $(BIN)/python -m simulation --killed
	@PYTHONPATH=.:tests $(BIN)/python -m support.operator_kills
	@PYTHONPATH=tests $(BIN)/python -m simulation --schedules $(SCHEDULES) --first $(FIRST)

bench: setup ## measurements, as ratios
	@$(BIN)/python -m bench

mutants: setup ## small faults put in one at a time: does a test notice? N=300 SEED=2 SINCE=main IN=engine/plan MINUTES=8
	@$(BIN)/python -m tools.mutants -n $(or $(N),60) --seed $(or $(SEED),1) $(if $(SINCE),--since $(SINCE)) $(if $(IN),--within '$(IN)') $(if $(MINUTES),--minutes $(MINUTES))

schemas: setup ## write the JSON Schemas and the reference of kinds from the records
	@$(BIN)/python -m tools.schemas

lock: ## pin the dependencies anew
	@$(UV) pip compile --quiet --generate-hashes --universal --python-version 3.11 --no-header --no-annotate pyproject.toml -o requirements/run.txt
	@$(UV) pip compile --quiet --generate-hashes --universal --python-version 3.11 --no-header --no-annotate --group dev pyproject.toml -o requirements/dev.txt

clean:
	@rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .lint-imports.log
