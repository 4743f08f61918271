# Everything a contributor needs; a fresh machine needs Python 3.11 or later, git and make.
#   make demo     one honest patch that merges, cheats that do not
#   make test     the whole test suite, in parallel
#   make lint     formatter-independent lint, types, import contracts
#   make corpus   every executable case: the shared corpora where they are, and our own
#   make real     releases of real projects (needs the shared tasks)
#   make bench    benchmarks; results as JSON in benchmarks/results, then one table with goals and figures
#   make lock     write requirements/*.txt anew (needs uv)

SHELL := /bin/sh
.DELETE_ON_ERROR:
.PHONY: demo test lint corpus real bench lock clean system

SHARED ?= ../shared
JOBS ?= auto
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
  $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
BIN := .venv/bin
READY := .venv/ready
DEMO_READY := .venv/ready-demo
TOOLS_READY := .venv/ready-tools

demo: $(DEMO_READY)
	$(BIN)/python scripts/demo.py

test: $(READY) $(TOOLS_READY) system
	$(BIN)/python -m pytest -n $(JOBS) $(ARGS)

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

corpus: $(READY) system
	if [ -d "$(SHARED)/judge" ]; then $(BIN)/python "$(SHARED)/judge/run_cases.py" --trivet "$(CURDIR)/$(BIN)/trivet" $(ARGS); \
	else echo "no folder $(SHARED)/judge: our own cases only (SHARED=DIR names it)"; fi
	$(BIN)/python -m pytest -n $(JOBS) tests/corpus tests/negative

real: $(READY) system
	@[ -d "$(SHARED)/judge" ] || { echo "make real needs the shared tasks; SHARED=DIR names their folder, not $(SHARED)" >&2; exit 2; }
	$(BIN)/python "$(SHARED)/judge/run_real.py" --trivet "$(CURDIR)/$(BIN)/trivet" $(ARGS)

bench: $(READY)
	$(BIN)/python benchmarks/table.py --run

# Packages of the system that some tests need: installed where that is allowed, otherwise these tests are skipped by name.
system:
	@scripts/system_packages

# The demonstration needs a tenth of what the suite needs; the suite installs the rest over it.
$(DEMO_READY): requirements/demo.txt pyproject.toml
	@[ -n "$(PYTHON)" ] || { echo "trivet needs Python 3.11 or later on PATH" >&2; exit 2; }
	@$(PYTHON) -c 'import ensurepip' 2>/dev/null || { echo "this Python cannot make virtual environments: apt-get install -y python3-venv" >&2; exit 2; }
	rm -f $(DEMO_READY) $(READY)
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --require-hashes --requirement requirements/demo.txt
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	touch $(DEMO_READY)

$(READY): $(DEMO_READY) requirements/dev.txt
	rm -f $(READY)
	$(BIN)/python -m pip install --quiet --require-hashes --requirement requirements/dev.txt
	touch $(READY)

# Checkers with pytest plugins and pins of their own: beside the suite's environment, not in it, where they would slow every start of pytest.
$(TOOLS_READY): $(DEMO_READY) requirements/tools.txt
	rm -f $(TOOLS_READY)
	$(PYTHON) -m venv .venv/tools
	.venv/tools/bin/python -m pip install --quiet --require-hashes --requirement requirements/tools.txt
	touch $(TOOLS_READY)

lock:
	scripts/lock

clean:
	rm -rf .venv ci_out .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
