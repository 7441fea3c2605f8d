# Everything runs in virtual environments of its own, made here; only Python, a C++ compiler and
# make are assumed. `make help` lists the targets.
PYTHON ?= python3
VENV := .venv
PY := $(VENV)/bin/python
SOURCES := pyproject.toml CMakeLists.txt $(shell find src -type f -not -name '*.pyc')
# Data sets beside the checkout are used where they are.
ifneq ($(wildcard ../shared/data),)
export ONEOF_DATA ?= $(abspath ../shared/data)
endif

.PHONY: help run quote compare quote-comparison test check unit examples sanitize fuzz bench clean

help:
	@echo "make run       rerun the paper's experiments; prints where the report is"
	@echo "make quote     quote the last run in README and docs"
	@echo "make compare   every learner on every data set; prints where the report is"
	@echo "make quote-comparison  quote the last comparison in docs/which-learner.md"
	@echo "make test      all checks: style, types, tests, examples"
	@echo "make bench     the speed claims, as ratios with their targets"
	@echo "make sanitize  the kernel tests under address and undefined-behaviour sanitizers"
	@echo "make fuzz      a million mutated inputs through the parsers, under the same sanitizers"
	@echo "make clean     remove what these have made"

run: $(VENV)/installed
	$(VENV)/bin/oneof reproduce

# After `make run`: its claims and a figure into README and docs.
quote: $(VENV)/installed
	$(PY) tools/quote_reproduction.py reproduction

# With the package vowpalwabbit in the environment, it is compared, too.
compare: $(VENV)/installed
	$(VENV)/bin/oneof compare

quote-comparison: $(VENV)/installed
	$(PY) tools/quote_comparison.py comparison

test: check unit examples

check: $(VENV)/installed
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy

unit: $(VENV)/installed
	$(PY) -m pytest

examples: $(VENV)/installed
	$(PY) -m pytest --doctest-modules --pyargs oneof

BENCHMARKS := speed beyond experiments open_streams reading files
bench: $(VENV)/installed
	@missed=0; for part in $(BENCHMARKS); do $(PY) benchmarks/$$part.py || missed=1; done; exit $$missed

# Warnings of the compiler are errors; the tests run against the installed package.
$(VENV)/installed: $(SOURCES)
	$(PYTHON) -m venv $(VENV)
	$(PY) -m pip install --quiet --upgrade pip
	$(PY) -m pip install --quiet '.[test]'
	@touch $@

build/sanitized/installed: $(SOURCES) $(VENV)/installed
	$(PY) -m pip install --quiet --no-deps --upgrade --target build/sanitized \
	    --config-settings=cmake.define.ONEOF_SANITIZE=address,undefined \
	    --config-settings=build-dir=build/sanitizing .
	@touch $@

SANITIZED := LD_PRELOAD="$$($(CXX) -print-file-name=libasan.so) $$($(CXX) -print-file-name=libstdc++.so)" \
    ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 PYTHONMALLOC=malloc PYTHONPATH=build/sanitized

sanitize: build/sanitized/installed
	$(SANITIZED) HYPOTHESIS_PROFILE=quick $(PY) -m pytest tests/test_kernels.py tests/test_model.py tests/test_laws.py \
	    tests/test_growth.py tests/test_open_classifier.py \
	    tests/test_readers_svmlight.py tests/test_readers_csv.py

fuzz: build/sanitized/installed
	$(SANITIZED) $(PY) tools/fuzz.py --inputs 1000000

clean:
	rm -rf $(VENV) build
