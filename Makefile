# The few words of daily work; CI calls the same. `make` alone lists them.
CACHE ?= $(HOME)/.cache/lakebed
# One target directory for every checkout on a machine, so that DataFusion is compiled once.
export CARGO_TARGET_DIR ?= $(CACHE)/target
export LAKEBED_CACHE ?= $(CACHE)
VENV ?= .venv
PY := $(VENV)/bin/python

.PHONY: help build demo test test-rust test-python fuzz-door test-spark sim lint bench bench-spark docs wheel
help:
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  make \1\t/' | expand -t 22

build: $(VENV)/demo.stamp ## the extension module, into .venv
	$(VENV)/bin/maturin develop --quiet --profile dev

demo: build $(VENV)/spark.stamp ## from a bare checkout to a table that is made, changed and put in order, step by step
	$(PY) examples/demo.py

test: lint test-rust test-python ## everything that CI runs

# Always the whole workspace: a part of it would compile its dependencies anew, with fewer of their features.
test-rust: ## unit, property and integration tests, simulations, docs' examples and fuzz seeds
	@tests/need cargo cc
	cargo test --quiet --workspace

sim: ## seeded writers, readers and faults against a model, and the commit protocol in every state
	@tests/need cargo cc
	cargo test --quiet --workspace --test sim --test model

test-python: build $(VENV)/test.stamp ## the Python suite, with Delta Spark, deltalake and DuckDB beside it
	@tests/need java mvn go
	$(PY) -m pytest tests/python

fuzz-door: build $(VENV)/test.stamp ## random calls of the Python API against a model, for MINUTES or EXAMPLES, from SEED on
	cd tests/python && $(abspath $(PY)) -m door.hours

test-spark: build $(VENV)/test.stamp ## only what runs Spark
	@tests/need java mvn
	$(PY) -m pytest tests/python -m spark

lint: build $(VENV)/test.stamp ## formats, lints, types and the stub
	cargo fmt --all --check
	cargo clippy --quiet --workspace --all-targets -- --deny warnings
	$(VENV)/bin/ruff check python tests/python benches examples
	$(VENV)/bin/ruff format --check python tests/python benches examples
	$(VENV)/bin/mypy
	$(VENV)/bin/python -m mypy.stubtest lakebed._lakebed --ignore-disjoint-bases

bench: build $(VENV)/test.stamp ## lakebed beside its peers: makes the tables, measures, and writes the tables in benches/README.md
	@tests/need cargo cc
	$(PY) -m pip install --quiet --disable-pip-version-check -r benches/python/requirements.txt
	$(PY) -m benches.python.tables
	$(PY) -m benches.python.lineitem
	$(PY) -m benches.python.dml_data
	$(PY) -m benches.python.layout_data
	$(PY) -m benches.python.run --time-limit 1800
	$(PY) -m benches.report
	cargo bench --quiet --profile dev --workspace --bench log --bench stats --bench merge --bench filter --bench table

bench-spark: build $(VENV)/test.stamp ## TPC-H, TPC-DS, loads and floating-point columns through PySpark, beside Parquet and Delta Spark; an hour or two
	@tests/need java mvn
	$(PY) -m pip install --quiet --disable-pip-version-check -r benches/python/requirements.txt
	$(PY) -m benches.python.spark.data
	$(PY) -m benches.python.spark.tpc
	$(PY) -m benches.python.spark.tpc --suite tpch,tpch_doubles --engines parquet,lakebed --name "$$(date -u +%F)-tpch-doubles"
	$(PY) -m benches.python.doubles
	$(PY) -m benches.report

docs: build ## the Rust reference; the guide's snippets run as tests
	cargo doc --quiet --no-deps --package lakebed --package lakebed-core --package lakebed-expr --package lakebed-io

wheel: $(VENV)/demo.stamp ## the wheel as it is published, into dist/
	$(VENV)/bin/maturin build --profile dist --out dist

$(VENV)/demo.stamp: tests/need
	@tests/need cargo cc python
	@test -x $(PY) || python3 -m venv $(VENV)
	$(PY) -m pip install --quiet --disable-pip-version-check 'maturin>=1.9,<2' 'pyarrow>=16'
	@touch $@

# The demo shows PySpark where there is Java 17 or newer; without a network it does without. The version is that of the tests.
$(VENV)/spark.stamp: $(VENV)/demo.stamp
	@if tests/need java 2>/dev/null; then \
	    echo "installing PySpark, with pandas, which it needs, for the last part of the demo (480 MB)"; \
	    $(PY) -m pip install --quiet --disable-pip-version-check $$(grep -E '^(pyspark|pandas)==' tests/python/requirements.txt) && touch $@ || \
	    echo "PySpark could not be installed; the demo goes on without it"; \
	fi

$(VENV)/test.stamp: $(VENV)/demo.stamp tests/python/requirements.txt
	$(PY) -m pip install --quiet --disable-pip-version-check -r tests/python/requirements.txt
	@touch $@
