# Everything a newcomer needs is `make demo` and `make test`; both set the project up first.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
READY := .venv/.ready
# Small networks are fastest with one thread, and tests that run side by side must not share theirs.
export OMP_NUM_THREADS := 1

.PHONY: demo test test-long check docs dist bench soak clean

demo: $(READY)  ## learn the T-maze from pixels, play the run of Fig. 1C, name the report and the explorer
	$(BIN)/vast train t-maze --preset cpu --out runs/demo
	$(BIN)/vast report runs/demo
	@echo "the report: runs/demo/report.html"
	@echo "its table in the browser: $(BIN)/vast explore runs/demo"

test: $(READY)  ## everything CI runs: style, types, all tests
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/pytest -n 2 -m "not slow"
	$(BIN)/pytest -m slow

test-long: $(READY)  ## the same tests with thousands of random examples each
	HYPOTHESIS_PROFILE=long $(BIN)/pytest

check: $(READY)  ## fast feedback while working
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	HYPOTHESIS_PROFILE=quick $(BIN)/pytest -n 2 -m "not slow"

docs: $(READY)  ## the documentation as a site, site/index.html; a dead link is an error
	$(BIN)/python -m zensical build --strict --clean

dist: $(READY)  ## the sdist and the wheel, in dist/, as a release has them
	rm -rf dist
	$(BIN)/python -m build --no-isolation

bench: $(READY)  ## speed, as ratios measured in one run
	$(BIN)/python -m benchmarks.planning
	$(BIN)/python -m benchmarks.envs
	$(BIN)/python -m benchmarks.neighbours
	$(BIN)/python -m benchmarks.model
	$(BIN)/python -m benchmarks.agents
	$(BIN)/python -m benchmarks.explorer

$(READY): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev]"
	touch $@

soak: $(READY)  ## half an hour of random kills, hung engines and full disks; see docs/reliability.md
	$(BIN)/python -m tests.soak

clean:
	rm -rf .venv .mypy_cache .pytest_cache .ruff_cache .hypothesis .cache dist figures site
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
