# Two commands from nothing: `make demo` shows roadtest at work, `make test` proves it. Both set up .venv on first use.
PYTHON ?= python3
BIN := .venv/bin
# A child of make must not see another project's virtual environment, and Python may keep what it compiles: many tests
# start it anew.
unexport VIRTUAL_ENV PYTHONPATH PYTHONHOME PYTHONDONTWRITEBYTECODE

.PHONY: help demo test check lint types imports docs format pins bench clean

help: ## show this list
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 12

.venv/pyvenv.cfg:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "roadtest needs Python 3.11 or newer; say which with: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	$(PYTHON) -m venv .venv

.venv/.demo: .venv/pyvenv.cfg requirements/demo.txt pyproject.toml
	@echo "Setting up .venv (once; includes Claude Code, about 350 MB)…"
	@$(BIN)/pip install --quiet --disable-pip-version-check -r requirements/demo.txt
	@$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

.venv/.dev: .venv/.demo requirements/dev.txt
	@echo "Installing what the tests need (once)…"
	@$(BIN)/pip install --quiet --disable-pip-version-check -r requirements/dev.txt
	@touch $@

demo: .venv/.demo ## run the example evals on the real Claude Code, replayed: no key, no network, no cost
	@$(BIN)/roadtest demo

test: .venv/.dev ## run the whole test suite
	$(BIN)/python -m pytest -n 4 --dist worksteal

check: lint types imports docs ## everything CI checks besides the tests

lint: .venv/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: .venv/.dev
	$(BIN)/mypy

imports: .venv/.dev
	$(BIN)/lint-imports --no-cache

docs: .venv/.dev
	$(BIN)/python -m pytest -q -k "links or commands" tests/test_docs.py

format: .venv/.dev ## let ruff format and fix
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: .venv/.dev ## measure everything beside its peers and update docs/explanation/performance.md (half an hour)
	$(BIN)/python -m bench

pins: ## resolve the pinned versions anew (needs uv)
	uv pip compile pyproject.toml --quiet --upgrade --universal --python-version 3.11 --no-header --no-emit-index-url \
		--no-annotate --extra claude --group build -o requirements/demo.txt
	uv pip compile pyproject.toml --quiet --upgrade --universal --python-version 3.11 --no-header --no-emit-index-url \
		--no-annotate --all-extras --group build --group dev -o requirements/dev.txt
	uv pip compile bench/requirements.in --quiet --upgrade --universal --python-version 3.11 --no-header --no-emit-index-url \
		--no-annotate -o bench/requirements.txt

clean: ## remove the environment and everything generated
	rm -rf .venv .bench test-output .pytest_cache .mypy_cache .ruff_cache .hypothesis
