# Each target stands alone on a fresh clone: it first builds the environment it needs, and reuses what is there.
# The environment is the active one ($VIRTUAL_ENV, or a conda environment other than base), otherwise .venv.
# NICPERF_CHECKED=1 makes `make test` run the checked build.

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help env report test test-checked bench lab lint clean
SHELL := /bin/sh
.SHELLFLAGS := -eu -c

CONDA_ENV := $(if $(filter-out base,$(CONDA_DEFAULT_ENV)),$(CONDA_PREFIX))
PREFIX := $(patsubst $(CURDIR)/.venv,.venv,$(or $(VIRTUAL_ENV),$(CONDA_ENV),.venv))
PYTHON := $(PREFIX)/bin/python
BIN := $(if $(filter .venv,$(PREFIX)),$(CURDIR)/.venv,$(PREFIX))/bin
export PATH := $(BIN):$(PATH)
export UV_PYTHON := $(BIN)/python

# Pins go into our own .venv only: whoever brings an environment keeps its versions where they satisfy pyproject.toml.
REQUIREMENTS := $(if $(filter .venv,$(PREFIX)),-r constraints.txt,--group dev)
STAMP := build/env/$(subst /,-,$(PREFIX))
CHECKED := build/checked
# Where the checked build is exercised: what drives the compiled core. The sanitizers' runtime must be there before Python is;
# Python's own allocator hides the borders of its objects, and what it never frees is no leak of ours.
CHECKED_TESTS = $(wildcard $(addprefix tests/,checked analytic laws twin unit/test_model_*.py unit/test_segment.py unit/test_ebpf_*.py unit/test_fec_*.py))
CHECKED_ENV = LD_PRELOAD=$(shell $(CC) -print-file-name=libasan.so) PYTHONMALLOC=malloc ASAN_OPTIONS=detect_leaks=0 \
	PYTHONPATH=$(CURDIR)/$(CHECKED)/site/lib:$(CURDIR) NICPERF_CHECKED=1
BASE_PYTHON = $(shell for python in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && command -v $$python && break; done)

# test || $(call missing,what,Debian packages)
missing = { echo "nicperf needs $(1). On Debian or Ubuntu: apt-get install $(2)" >&2; exit 1; }

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s%s\n", $$1, $$2 }' Makefile

env: $(STAMP) ## create the environment and compile (the other targets do it by themselves)
	@# An import recompiles what was edited, before parallel workers would all try to.
	@$(PYTHON) -c 'import nicperf'

report: env ## execute the notebooks and write the HTML report
	@$(PYTHON) -m nicperf.report build

ifdef NICPERF_CHECKED
test: test-checked
else
test: env ## run all tests, and every notebook against its stored outputs
	@$(PYTHON) -m pytest -n 2
	@$(PYTHON) -m pytest --nbval --nbval-current-env -n 2 --dist loadscope notebooks
endif

test-checked: env ## run the core's tests in a build that stops at bad indices, misused memory and integer overflow
	@test -e $(CHECKED)/build.ninja || meson setup -Dchecked=true --buildtype=debugoptimized \
		--prefix=$(CURDIR)/$(CHECKED)/site -Dpython.purelibdir=lib -Dpython.platlibdir=lib $(CHECKED) >/dev/null
	@ninja --quiet -C $(CHECKED) && meson install --quiet --no-rebuild -C $(CHECKED)
	@# The editable install steps aside, and the sources come last in the path: the package is the checked one.
	@$(CHECKED_ENV) MESONPY_EDITABLE_SKIP=$$($(PYTHON) -c 'import sys; print(*{f._build_path for f in sys.meta_path if hasattr(f, "_build_path")})') \
		$(PYTHON) -P -m pytest -n 2 -p no:cacheprovider $(CHECKED_TESTS)

bench: env ## measure the speed beside other simulators (BENCH="--full" and the like: see benchmarks/README.md)
	@if command -v uv >/dev/null; then uv pip install -q --group bench; else $(PYTHON) -m pip install -q --group bench; fi
	@$(PYTHON) -m benchmarks $(BENCH)

lab: env ## open the notebooks in JupyterLab
	@$(PYTHON) -m jupyterlab $(if $(filter 0,$(shell id -u)),--allow-root) notebooks

lint: env ## check style, format and types
	@ruff check
	@ruff format --check
	@cython-lint nicperf
	@mypy

clean: ## remove what the targets made
	rm -rf build report .venv .pytest_cache .mypy_cache .ruff_cache .hypothesis

.venv/bin/python:
	@test -n "$(BASE_PYTHON)" || $(call missing,Python 3.11 or newer,python3 python3-venv python3-dev)
	@$(BASE_PYTHON) -c "import ensurepip" 2>/dev/null || $(call missing,the venv module of $(BASE_PYTHON),python3-venv)
	@echo "nicperf: creating .venv with $(BASE_PYTHON)"
	@rm -rf .venv build/env
	@$(BASE_PYTHON) -m venv .venv

$(STAMP): $(PYTHON) pyproject.toml constraints.txt meson.build meson.options nicperf/meson.build
	@command -v $(firstword $(CC)) >/dev/null || $(call missing,a C compiler ($(CC)),build-essential)
	@$(PYTHON) -c 'import os, sysconfig; os.stat(sysconfig.get_path("include") + "/Python.h")' 2>/dev/null \
		|| $(call missing,the C headers of Python,python3-dev)
	@# One environment imports one build: the stamp of another interpreter is void from here on.
	@rm -rf build/env
	@command -v uv >/dev/null || $(PYTHON) -m pip install -q uv || echo "nicperf: no uv to be had, pip takes longer"
	@if command -v uv >/dev/null; then install="uv pip install -q"; else install="$(PYTHON) -m pip install -q"; fi; \
	echo "nicperf: installing packages into $(PREFIX)"; \
	$$install $(REQUIREMENTS); \
	echo "nicperf: compiling"; \
	$$install --no-build-isolation -e .
	@mkdir -p $(@D) && touch $@
