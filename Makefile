# Everything here sets itself up: Debian packages, .venv and Python packages are installed when missing (tools/setup.sh).

SHELL := /bin/bash
PY := .venv/bin/python

# Debian packages that the tools need; the Python of python3-venv is only installed when no Python >= 3.11 is there.
APT_PACKAGES := git make python3-venv

# What the virtual lab runs, and a browser that looks at reports. A name with ? is asked for where the distribution has it.
# Without root rights there is no lab, its tests skip, and these are not asked for.
LAB_PACKAGES := frr frr-pythontools lldpd openssh-server openssh-client iproute2 iputils-ping procps util-linux \
                ibsim-utils opensm infiniband-diags \
                debootstrap debian-archive-keyring systemd-container fuse3 bindfs slurmctld \
                openmpi-bin chromium-headless-shell? python3-simgrid?

# More arguments for pytest: make test PYTEST_ARGS="-k render"
PYTEST_ARGS ?=

# Two more than there are cores: a test in a lab waits for its switches a good part of its time.
TEST_PROCESSES ?= $(shell echo $$(($$(getconf _NPROCESSORS_ONLN) + 2)))

export PYTHON
# Hundreds of `fabric` processes are started; each would compile what it imports again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup setup-lab demo test lint bench prove-torch prove-collectives scale-ib docs gen-docs clean

help: ## what can be made
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-9s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: ## install what is missing; nothing when nothing is
	@tools/setup.sh dev $(APT_PACKAGES)

setup-lab: setup
	@tools/setup.sh --lab $(LAB_PACKAGES)

demo: setup-lab ## check, render and change the lab and the 24,576-GPU cluster, and say what happened
	@tools/demo.sh

test: setup-lab ## all tests but the benchmarks
	@$(PY) -m pytest -q -n $(TEST_PROCESSES) $(PYTEST_ARGS)

lint: setup ## style, types, layers, YAML
	@tools/lint.sh

bench: setup ## speed and memory at full size; prints the figures
	@$(PY) -m tests.scale.bench $(BENCH_ARGS)  # BENCH_ARGS="--markdown": the table of docs/benchmarks.md

prove-collectives: setup-lab ## each fault of a fabric alone and in pairs in the lab, named by real Open MPI traffic; hours (--runs 1: one)
	@$(PY) -m tests.lab.prove_collectives $(PROVE_ARGS)  # PROVE_ARGS='--runs 1 cut "slow NIC+slow trunk" healthy'

scale-ib: setup ## 4,096 HCAs on ibsim and opensm, read back and walked; SCALE_ARGS=--whole: 24,576 (over ten minutes)
	@$(PY) -m tests.scale.bench_ib $(SCALE_ARGS)

PROVE_PYTHON ?= $(PY)

prove-torch: setup ## real PyTorch jobs on CPUs that hang or differ, and who is named; needs torch: PROVE_PYTHON=/path/python
	@$(PY) -m tests.verify.flight_recorder.prove_torch --python $(PROVE_PYTHON)

gen-docs: setup ## write the generated pages of docs/reference again
	@$(PY) -m tools.gen_docs

docs: gen-docs ## build the documentation into site/
	@tools/setup.sh docs
	@NO_MKDOCS_2_WARNING=1 $(PY) -m mkdocs build -q --strict

clean: ## remove what was built, the virtual environment too
	rm -rf .venv .ansible build dist out site .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis *.egg-info
	find fabric tests tools -name __pycache__ -type d -prune -exec rm -rf {} +
