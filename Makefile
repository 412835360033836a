# Verbs of this repository; CI runs the same ones. `make demo` and `make test` set up what they need.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PYTEST := $(BIN)/python -m pytest -q
# Tests that need tools of their own run with the targets that install these.
FAST   := not kafka and not spark and not nightly and not site and not browser
DOCS   := .venv-docs
NODE   := tests/browser/node_modules
SCRIPTS := .cache/site
# Of tests on one cluster a worker takes all. More than twice as many as there are cores, since most wait for brokers.
WORKERS ?= 5
# What the nightly tests draw: others each day. A failure says the command that draws it again.
SEED ?= $(shell date -u +%Y%m%d)
# What is compiled is kept: tests start the command hundreds of times.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: help install compiled jars-all jars-nightly demo demo-fleet demo-kafka test test-fast test-nightly lint format types contracts package bench jars lock docs release test-browser tools clean

help:            ## this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 16

install: $(BIN)/replan   ## the command, at .venv/bin/replan

$(BIN)/replan: requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed; set PYTHON=…" >&2; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

jars: install    ## Kafka's jars for the tests and the demo, by Maven, into a cache
	@$(BIN)/python -m tests.kafka.harness.fetch 4.3.1

jars-all: install
	@$(BIN)/python -m tests.kafka.harness.fetch

jars-nightly: jars-all
	@$(BIN)/python -m tests.kafka.harness.fetch 4.1.2 4.2.1

demo: install    ## plan, apply, drift on the embedded cluster; a broker dies in the middle
	@$(BIN)/python examples/demo.py

demo-fleet: install   ## twenty simulated clusters at two moments, with a report to open; ENGINE=spark: the same there
	@$(BIN)/python examples/demo_fleet.py $(if $(ENGINE),--engine $(ENGINE))

demo-kafka: jars ## the same on a real local cluster of five brokers
	@$(BIN)/python -m tests.kafka.demo

test: install    ## all that needs no tools of its own; stops at the first part that fails, the quickest first
	@$(MAKE) --no-print-directory -j2 -O types compiled lint contracts jars-all package
	$(PYTEST) tests -m "not nightly and not site and not browser" --maxfail 10 \
	  -n $(WORKERS) --dist loadscope --no-loadscope-reorder --durations 20

# Each test module is compiled once, beside the type checker, rather than by every worker. What cannot be imported the run itself says.
compiled: install
	@$(PYTEST) tests --collect-only -qq >/dev/null 2>&1 || true

test-fast: install   ## the inner loop: no JVM, no process of its own, a taste of each law
	HYPOTHESIS_PROFILE=fast $(PYTEST) tests -m "$(FAST) and not command and not slow" -n 2

test-nightly: install jars-nightly   ## the slow ones: thousands of cases, frozen controllers; SEED=20261224 draws those of that day
	HYPOTHESIS_PROFILE=nightly $(PYTEST) tests --timeout 7200 --hypothesis-seed $(SEED)

lint: install    ## format and lint
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

format: install
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

types: install
	$(BIN)/mypy

contracts: install   ## which layer may import which
	$(BIN)/lint-imports

package: install ## build the wheel, install it elsewhere, run it there
	sh .ci/package.sh

test-browser: docs tools   ## pages, the site and editor support, in Chromium and node; installs both
	$(PYTEST) tests/browser -m browser -n 2 --dist loadscope --no-loadscope-reorder

tools: $(DOCS)/bin/check-jsonschema $(SCRIPTS) $(NODE)/.package-lock.json   ## what the site and the browser need
	@command -v chromium >/dev/null || sh .ci/chromium.sh

$(NODE)/.package-lock.json: tests/browser/package-lock.json
	npm ci --prefix tests/browser --no-audit --no-fund --silent

docs: install $(DOCS)/bin/check-jsonschema $(SCRIPTS)   ## the site, and the files for forges against their schemas
	NO_MKDOCS_2_WARNING=1 $(DOCS)/bin/mkdocs build --strict --quiet
	$(PYTEST) tests/ci -m site

$(SCRIPTS): .ci/site_scripts.sh
	sh .ci/site_scripts.sh $@

release: install $(DOCS)/bin/check-jsonschema $(SCRIPTS)   ## VERSION=0.2.0: changelog, wheel, site, commit, tag (docs/releasing.md)
	bash .ci/release.sh $(VERSION)

$(DOCS)/bin/check-jsonschema: requirements-docs.lock
	test -x $(DOCS)/bin/python || $(PYTHON) -m venv $(DOCS)
	$(DOCS)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-docs.lock
	@touch $@

bench: install   ## the table of benchmarks/README.md; AGAINST=COMMIT ends with 2 where a row is slower by a tenth than there
	$(BIN)/python -m benchmarks.run $(if $(AGAINST),--against $(AGAINST)) $(if $(SAVE),--save $(SAVE))

lock:            ## renew requirements*.lock (needs uv)
	uv pip compile pyproject.toml --extra fleet --group dev --python-version 3.11 --universal \
	  --generate-hashes --no-emit-index-url --no-emit-find-links --no-header -q -o requirements.lock
	uv pip compile --group docs --python-version 3.11 --universal \
	  --generate-hashes --no-emit-index-url --no-emit-find-links --no-header -q -o requirements-docs.lock

clean:
	rm -rf $(VENV) $(DOCS) $(NODE) site dist build .mypy_cache .ruff_cache .pytest_cache
