# make demo    judge a dozen of the shipped submissions and print the leaderboard (installs what it needs into .venv first)
# make test    the quick tests: 90 seconds on two cores
# make check   everything that has to pass before a change goes in: lint, types and the tests that need no GPU

PYTHON ?= python3
TEST_JOBS ?= 2

VENV := .venv
RUN := $(VENV)/bin/python
PIP := $(RUN) -m pip --disable-pip-version-check --quiet
HAS_GPU := $(shell nvidia-smi -L >/dev/null 2>&1 || test -e /dev/nvidia0 && echo yes)
EXTRA := $(if $(HAS_GPU),gpu)
COMMA := ,

# A dozen that shows every status (on a GPU, `not_evaluated` only where CuPy is missing). Without a GPU, only C++ is judged. The first three of
# both lists are right and faster than PyTorch.
DEMO_CPU := gelu_tanh/cpp_vectorized.py mish/cpp_vectorized.py row_statistics/cpp_one_read.py linear_recurrence/cpp_one_pass.py \
	gelu_tanh/cpp_wrong_constant.py gelu_tanh/cpp_cached_output.py gelu_tanh/cpp_const_pointer.py leaky_relu/cpp_crash.py \
	gelu_tanh/cached_output.py leaky_relu/missing_model_new.py responses/softmax_three_tries.txt responses/softmax_cut_off.txt
DEMO_GPU := gelu_tanh/vectorized.py swiglu/one_pass.py bias_residual_relu/one_pass.py leaky_relu/triton_kernel.py \
	gelu_tanh/wrong_constant.py gelu_tanh/cached_output.py softmax/const_pointer.py leaky_relu/illegal_access.py \
	leaky_relu/cupy_raw.py leaky_relu/missing_model_new.py responses/softmax_three_tries.txt responses/softmax_cut_off.txt
# On a GPU, C++ for the CPU would only fail.
ALL := $(if $(HAS_GPU),$(shell grep -rL '^\# device: cpu' submissions --include='*.py' --include='*.txt' --include='*.md' --exclude=README.md),submissions)
DEMO := $(addprefix submissions/,$(if $(HAS_GPU),$(DEMO_GPU),$(DEMO_CPU)))
# Some submissions loop for ever: five seconds are enough to see that.
JUDGE := $(RUN) pipeline.py --timeout 5

# A file is one worker's, since its tests share what is expensive. The longest files begin first (tests/conftest.py).
TESTS := $(RUN) -m pytest -n $(TEST_JOBS) --dist loadfile --no-loadscope-reorder -rfER

.PHONY: help demo demo-all test gpu-test bench nightly lint types format check mutants clean

help:
	@echo "make demo      judge a dozen shipped submissions, print the leaderboard"
	@echo "make demo-all  judge all of submissions/ for this device (several minutes)"
	@echo "make test      the quick tests: units, and a few submissions through every stage"
	@echo "make gpu-test  the tests that need a GPU"
	@echo "make bench     the tests that measure times, on a quiet machine"
	@echo "make nightly   tests of the benchmarks, soaks, wide draws of the fuzzers"
	@echo "make lint      ruff: rules and format        make format  apply the format"
	@echo "make types     mypy"
	@echo "make check     lint, types and all tests that need no GPU"
	@echo "make mutants   how many small errors in the judge the tests notice (hours)"
	@echo "make clean     remove .venv and what tools cache here; assay.db stays"

# Exit code 1 says that a submission was not evaluated, which the demo shows on purpose.
demo: $(VENV)/installed
	@$(JUDGE) $(DEMO) || test $$? -eq 1
	@echo
	@$(RUN) -m db leaderboard --all
	@echo
	@echo "The results are in assay.db. What to try next:"
	@echo "  $(VENV)/bin/assay show 1           all facts about evaluation 1"
	@echo "  $(VENV)/bin/assay failures         how many failed, by cause, and what to do"
	@echo "  $(VENV)/bin/assay judge PATH...    judge submissions of your own: README.md says what they look like"
	@echo "  make demo-all                 judge all of submissions/"
	@echo "  $(VENV)/bin/assay serve            all of it in a browser, after $(RUN) -m pip install -c constraints.txt -e '.[web]'"

demo-all: $(VENV)/installed
	@$(JUDGE) $(ALL) || test $$? -eq 1
	@echo
	@$(RUN) -m db leaderboard --all

test: $(VENV)/installed-dev
	$(TESTS) -m "not gpu and not quiet and not nightly and not slow"

gpu-test: $(VENV)/installed-dev
	$(RUN) -m pytest -m gpu

bench: $(VENV)/installed-dev
	$(RUN) -m pytest -m "quiet and not gpu"

nightly: $(VENV)/installed-dev
	ASSAY_SEED=$$(date +%F) $(TESTS) -m "nightly and not gpu and not quiet"

lint: $(VENV)/installed-dev
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .

format: $(VENV)/installed-dev
	$(VENV)/bin/ruff format .

types: $(VENV)/installed-dev
	$(VENV)/bin/mypy

check: lint types
	$(TESTS)

# Figures for docs/benchmarks.md, and no part of the checks.
mutants: $(VENV)/installed-mutants
	$(RUN) -m pytest -q tests/benchmarks/test_mutants.py
	$(RUN) -m benchmarks.mutants cover --jobs $(TEST_JOBS)
	$(RUN) -m benchmarks.mutants run --jobs $(TEST_JOBS) --json mutants/results.json

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis build screenshots *.egg-info

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Assay needs Python 3.11 or newer, and $(PYTHON) is not: make PYTHON=python3.12 (or another that is)" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

# setuptools comes first and from the constraints too, because an isolated build would fetch a version of its own choice.
$(VENV)/installed: constraints.txt pyproject.toml | $(VENV)/bin/python
	@echo "Installing into $(VENV) (PyTorch is large: this takes a while) ..."
	@$(PIP) install -c constraints.txt setuptools
	@$(PIP) install -c constraints.txt --no-build-isolation -e '.$(if $(EXTRA),[$(EXTRA)])'
	@touch $@

$(VENV)/installed-dev: constraints.txt pyproject.toml | $(VENV)/bin/python
	@echo "Installing into $(VENV) with what development needs ..."
	@$(PIP) install -c constraints.txt setuptools
	@$(PIP) install -c constraints.txt --no-build-isolation -e '.[dev$(if $(EXTRA),$(COMMA)$(EXTRA))]'
	@touch $@ $(VENV)/installed

$(VENV)/installed-mutants: constraints.txt pyproject.toml | $(VENV)/bin/python
	@echo "Installing into $(VENV) with what the mutants need ..."
	@$(PIP) install -c constraints.txt setuptools
	@$(PIP) install -c constraints.txt --no-build-isolation -e '.[dev,mutants$(if $(EXTRA),$(COMMA)$(EXTRA))]'
	@touch $@ $(VENV)/installed-dev $(VENV)/installed
