# make demo | test | test-fast | test-processes | test-web | test-notebooks | soak | coverage | lint | format | bench | bench-smoke | docs | dist | matrix | lock | clean
# Each sets up .venv from .ci/requirements.lock first; that is quick once it is there.

PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
LOCK := .ci/requirements.lock
SOURCES := flinkish tests examples

.PHONY: demo test test-fast test-processes test-web test-notebooks soak coverage lint format bench bench-smoke docs dist matrix lock clean
.DELETE_ON_ERROR:

demo: $(READY)
	$(BIN)/python -m examples.flights

# The tests with Spark wait much of their time: those without run meanwhile.
test: $(READY)
	@mkdir -p build
	@$(BIN)/pytest -m spark > build/test-spark.log 2>&1 & spark=$$!; \
		$(BIN)/pytest -n 2 -m "not spark"; without=$$?; \
		wait $$spark; with=$$?; cat build/test-spark.log; exit $$((without | with))

# Every way in which a job, its JVM and its workers end, in processes of their own.
test-processes: $(READY)
	$(BIN)/pytest -m processes tests/spark/test_job_life.py tests/reliability tests/cli

# The web page in a real browser; what it looked like is in build/web.
test-web: $(READY)
	command -v chromium >/dev/null || \
		{ apt-get update && apt-get install --yes --no-install-recommends chromium; }
	FLINKISH_TEST_WEB=1 $(BIN)/pytest tests/web

# The notebooks of the examples, each on a kernel of its own.
test-notebooks: $(READY)
	$(BIN)/pytest -m notebooks tests/notebooks

# Kills a job two hundred times; goes on where it was interrupted (build/soak).
soak: $(READY)
	$(BIN)/pytest -m soak tests/reliability

# Without Spark, in under a minute. There is no Java, so that a test that starts one and has no mark fails.
test-fast: $(READY)
	JAVA_HOME=/nonexistent $(BIN)/pytest -n 2 -m "not spark and not thorough"

# All tests, and which lines of flinkish ran; pyproject.toml says what is not seen. The pages are in build/coverage.
coverage: $(READY)
	$(BIN)/pytest --cov --cov-report term:skip-covered --cov-report html:build/coverage

lint: $(READY)
	$(BIN)/ruff check $(SOURCES)
	$(BIN)/ruff format --check $(SOURCES)
	$(BIN)/mypy
	$(BIN)/pyright --pythonpath $(BIN)/python

format: $(READY)
	$(BIN)/ruff check --fix $(SOURCES)
	$(BIN)/ruff format $(SOURCES)

# All jobs on all sides, into docs/benchmarks.md; with JOBS="tumbling sessions" or ELEMENTS=1000000 a part of it, to look at.
bench: $(READY)
	$(BIN)/python -m tests.benchmarks $(if $(JOBS),--jobs $(JOBS)) $(if $(ELEMENTS),--elements $(ELEMENTS)) $(BENCH)

# Every job once on few elements: whether all sides still run and agree, with Flink where it can be had.
bench-smoke: BENCH := --elements 5000 --files 3 --java-runs 1
bench-smoke: bench

# The documentation site in build/site; any warning is an error. The theme's notice about MkDocs 2 is no warning of ours.
docs: $(READY)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet --clean --config-file .mkdocs.yml

# Wheel and sdist, and the README's first job where only the wheel is installed.
dist: $(READY)
	rm -rf dist
	$(BIN)/python -m hatchling build --directory dist
	$(BIN)/python -m tests.distribution.fresh_install dist build/fresh $(LOCK)

# The tests on each Python and pyspark that flinkish supports, as far as this machine has the Pythons.
matrix:
	.ci/matrix

# The newest versions that pyproject.toml allows, pinned with their hashes; with UPGRADE= only what is missing.
lock: UPGRADE ?= --upgrade
lock:
	$(PYTHON) -m venv build/lock-venv
	build/lock-venv/bin/pip install --quiet pip-tools
	CUSTOM_COMPILE_COMMAND="make lock" build/lock-venv/bin/pip-compile --quiet $(UPGRADE) \
		--all-extras --generate-hashes --allow-unsafe --strip-extras \
		--no-emit-index-url --no-emit-find-links --output-file $(LOCK) pyproject.toml

clean:
	rm -rf build dist $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis spark-warehouse

$(READY): $(LOCK) pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "flinkish needs Python 3.11 or newer: make PYTHON=/path/to/python3.11 ..." >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --requirement $(LOCK)
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@
