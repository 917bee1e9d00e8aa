# make demo    judge shipped submissions and print the leaderboard (installs what it needs into .venv first)
# make test    the quick tests: five minutes on two cores
# make check   everything that has to pass before a change goes in: lint, types and all tests that need no GPU

PYTHON ?= python3
TEST_JOBS ?= 2

VENV := .venv
RUN := $(VENV)/bin/python
PIP := $(RUN) -m pip --disable-pip-version-check --quiet
HAS_GPU := $(shell nvidia-smi -L >/dev/null 2>&1 || test -e /dev/nvidia0 && echo yes)
EXTRA := $(if $(HAS_GPU),gpu)
COMMA := ,

# All of submissions/. Without a GPU, C++ ones are judged and CUDA ones compiled, where there is an nvcc. One of them loops for ever: five
# seconds are enough to see that.
DEMO := submissions --timeout 5

# A file is one worker's, since its tests share what is expensive; files begin in the order of tests/conftest.py, the longest first.
TESTS := $(RUN) -m pytest -n $(TEST_JOBS) --dist loadfile --no-loadscope-reorder

.PHONY: help demo test gpu-test lint types format check clean

help:
	@echo "make demo      judge shipped submissions, print the leaderboard"
	@echo "make test      the quick tests: units, and a few submissions through every stage"
	@echo "make gpu-test  the tests that need one"
	@echo "make lint      ruff: rules and format        make format  apply the format"
	@echo "make types     mypy"
	@echo "make check     lint, types and all tests that need no GPU"
	@echo "make clean     remove .venv and what tools cache here; assay.db stays"

demo: $(VENV)/installed
	@code=0; $(RUN) pipeline.py $(DEMO) || code=$$?; \
	if [ $$code -gt 1 ]; then exit $$code; fi
	@echo
	@$(RUN) -m db leaderboard --all

test: $(VENV)/installed-dev
	$(TESTS) -m "not gpu and not slow"

gpu-test: $(VENV)/installed-dev
	$(RUN) -m pytest -m gpu

lint: $(VENV)/installed-dev
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .

format: $(VENV)/installed-dev
	$(VENV)/bin/ruff format .

types: $(VENV)/installed-dev
	$(VENV)/bin/mypy

check: lint types
	$(TESTS)

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis build *.egg-info

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
