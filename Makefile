# `make test` and `make demo` need python3 (3.11 or newer), a C++17 compiler and the Python package index, nothing else.
PYTHON ?= python3
VENV := .venv
PY := $(VENV)/bin/python
PIP := $(PY) -m pip --disable-pip-version-check install --quiet
SOURCES := $(shell find core src -not -name '*.pyc' -not -name __pycache__) pyproject.toml CMakeLists.txt
ARGS ?=

.PHONY: help demo test test-matrix test-oldest test-clang test-wide test-avx512 test-mlflow sanitize sanitize-address sanitize-thread fuzz honesty bench docs dist dist-offline changelog lint format clean
.DEFAULT_GOAL := help

help:
	@echo "make demo     build, then train on handwritten digits next to scikit-learn's SVC"
	@echo "make test     build, then run the tests           (ARGS='-k name' runs some of them)"
	@echo "make test-matrix   some tests again on other instruction sets, BLAS kernels, threads and seeds"
	@echo "make test-oldest   some tests with the oldest packages that are declared"
	@echo "make test-clang    some tests with the core built by Clang"
	@echo "make test-wide     some tests with the lanes of AVX-512, on any processor with AVX2"
	@echo "make test-avx512 BOCHS=bochs   some tests with AVX-512 itself, in an emulator"
	@echo "make test-mlflow   models in MLflow, which brings some forty packages"
	@echo "make sanitize   some tests with cores that look for memory errors, undefined behavior and races of threads"
	@echo "make fuzz SECONDS=60   for that long each: changed files, strange calls, strange command lines"
	@echo "make honesty PROBLEMS=1000   random problems: all that their fits claim is recomputed"
	@echo "make bench    build, then run the benchmarks      (ARGS are passed on)"
	@echo "make docs     build the site, gallery included, into docs/_build/html; warnings are errors"
	@echo "make dist     build source archive and wheel, and try the wheel in an environment of its own"
	@echo "make dist-offline   install the source archive where there is no network"
	@echo "make changelog   put the notes of changes.d into CHANGELOG.md"
	@echo "make lint     check style, formatting and types   make format   fix the first two"
	@echo "make clean    remove the environment and all that was built"

demo: $(VENV)/built $(VENV)/extra-report
	$(PY) -m polymargin.cli demo

test: $(VENV)/built $(VENV)/extra-test
	$(PY) -m pytest -n 2 --dist worksteal $(ARGS)

test-matrix: $(VENV)/built $(VENV)/extra-test
	@PYTHON=$(PY) .ci/matrix $(ARGS)

# What leans on other packages; docs/deploy.md is about an extra. Old packages meet new ones here, and their deprecations are not ours.
test-oldest: $(VENV)/oldest/built
	$(VENV)/oldest/bin/python -m pytest -n 2 -p no:cacheprovider -W ignore::DeprecationWarning \
	  tests/manifold/test_manifold.py tests/smoothing/test_grnn.py tests/test_readme.py tests/inspection/test_displays.py -k 'not demo and not deploy' $(ARGS)

test-clang: $(VENV)/clang/built $(VENV)/extra-test
	@PYTHON=$(PY) PYTHONPATH=$(CURDIR)/$(VENV)/clang ROWS=CXX=clang++ .ci/matrix $(ARGS)

test-wide: $(VENV)/wide/built $(VENV)/extra-test
	@PYTHONPATH=$(CURDIR)/$(VENV)/wide $(PY) -c "from polymargin import _core; assert _core.simd() == 'avx512', 'needs AVX2'"
	@PYTHON=$(PY) PYTHONPATH=$(CURDIR)/$(VENV)/wide ROWS=POLYMARGIN_WIDE=ON .ci/matrix $(ARGS)

# Every kind of vector code, in tests that are quick here (campaigns/emulated.py); limits and Ctrl-C have no meaning on an emulated clock.
BOCHS := bochs
test-avx512: $(VENV)/built $(VENV)/extra-test
	$(PY) -m campaigns.emulated --bochs $(BOCHS) tests/core/test_kernel_core.py tests/core/test_scores.py \
	  tests/training/test_kesler_solvers.py tests/training/test_linear.py tests/landmarks/test_landmarks.py tests/training/test_joint.py \
	  tests/training/test_scatter.py -k 'not every_instruction_set and not limit and not ctrl_c and not scikit_learn' $(ARGS)

test-mlflow: $(VENV)/built $(VENV)/extra-test $(VENV)/extra-mlflow
	$(PY) -m pytest -p no:cacheprovider tests/test_citizenship.py -k mlflow $(ARGS)

sanitize: sanitize-address sanitize-thread

# Address space and leaks are Python's affair. Rows that are shared out to threads, every solver, indefinite kernels, wrong arguments;
# FILES='tests/core/test_faces.py' runs others.
sanitize-address: FILES := tests/core/test_core_arguments.py tests/core/test_faces.py tests/core/test_kernel_core.py tests/core/test_scores.py \
  tests/fitting/test_bad_input.py tests/fitting/test_indefinite.py tests/training/test_kesler_solvers.py tests/training/test_scatter.py \
  tests/reductions/test_reductions.py
sanitize-address: $(VENV)/address/built $(VENV)/extra-test
	LD_PRELOAD="$$($(GXX) -print-file-name=libasan.so) $$($(GXX) -print-file-name=libubsan.so)" \
	  ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1 \
	  PYTHONPATH=$(CURDIR)/$(VENV)/address $(PY) -m pytest -n 2 -p no:cacheprovider \
	  $(FILES) -k 'not every_instruction_set and not limit' $(ARGS)

# The first race ends a test. Threads that share rows and columns, and Ctrl-C among them; what counts on a quick core is left out, and so are
# the threads of OpenBLAS: how they wait for one another is not seen.
sanitize-thread: $(VENV)/thread/built $(VENV)/extra-test
	LD_PRELOAD="$$($(GXX) -print-file-name=libtsan.so)" TSAN_OPTIONS=halt_on_error=1:exitcode=66 POLYMARGIN_SLOWER=20 OPENBLAS_NUM_THREADS=1 \
	  PYTHONPATH=$(CURDIR)/$(VENV)/thread $(PY) -m pytest -n 2 -p no:cacheprovider --capture=sys \
	  tests/core/test_shared_rows.py tests/fitting/test_interrupt.py::test_ctrl_c_in_a_program tests/reductions/test_reductions_running.py \
	  -k 'not limit and not while_the_kernel_matrix' $(ARGS)

SECONDS := 60
fuzz: $(VENV)/built $(VENV)/extra-test $(VENV)/extra-fuzz
	$(PY) -m campaigns.fuzz --seconds $(SECONDS) $(ARGS)

PROBLEMS := 1000
honesty: $(VENV)/built $(VENV)/extra-test
	$(PY) -m benchmarks.honesty --problems $(PROBLEMS) --seed $$(date +%s) $(ARGS)

bench: $(VENV)/built $(VENV)/extra-bench
	$(PY) -m benchmarks.run $(ARGS)

docs: $(VENV)/docs/built
	$(VENV)/docs/bin/python -m sphinx -b html -W --keep-going docs docs/_build/html $(ARGS)

# The wheel is built from the source archive, so that a file that is missing there is missed; so do the archive's own tests of pages and
# workflows. Two builds give the same archive.
dist: $(VENV)/tools
	rm -rf dist build/archive && $(PIP) build twine cyclonedx-bom && $(PIP) --require-hashes -r .ci/build-tools.txt
	SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) $(PY) -m build --no-isolation --outdir dist .
	SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) $(PY) -m build --no-isolation --sdist --outdir build/archive .
	cmp build/archive/*.tar.gz dist/*.tar.gz
	$(PY) -m twine check --strict dist/*
	rm -rf $(VENV)/wheel && $(PYTHON) -m venv $(VENV)/wheel
	$(VENV)/wheel/bin/python -m pip --disable-pip-version-check install --quiet pytest "$$(ls $(CURDIR)/dist/*.whl)[report]"
	cd $(VENV)/wheel && bin/python -m pytest -q -p no:cacheprovider $(CURDIR)/.ci/test_wheel.py
	tar xzf dist/*.tar.gz -C build/archive
	cd build/archive/*/ && $(CURDIR)/$(VENV)/wheel/bin/python -m pytest -q -p no:cacheprovider tests/test_site.py
	$(PY) .ci/sbom.py $(VENV)/wheel/bin/python build/polymargin.cdx.json

dist-offline: $(VENV)/tools
	rm -rf dist && $(PIP) build && $(PIP) --require-hashes -r .ci/build-tools.txt
	$(PY) -m build --no-isolation --sdist --outdir dist .
	.ci/offline $(CURDIR)/$(PY) $(CURDIR)/$(VENV)/offline

changelog:
	$(PYTHON) changes.d/collect.py

lint: $(VENV)/built $(VENV)/extra-lint
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy
	$(VENV)/bin/clang-format --dry-run -Werror core/*/*.?pp core/*/*.inl

format: $(VENV)/extra-lint
	$(PY) -m ruff check --fix .
	$(PY) -m ruff format .
	$(VENV)/bin/clang-format -i core/*/*.?pp core/*/*.inl

clean:
	rm -rf $(VENV) build dist docs/_build docs/api docs/gallery .pytest_cache .ruff_cache .mypy_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# $(call need,command that must succeed,what is said when it does not)
need = @{ $(1); } >/dev/null 2>&1 || { echo "make: $(2)" >&2; exit 1; }
# Without CXX in the environment CMake looks for these names.
COMPILERS := $(if $(filter environment command,$(firstword $(origin CXX))),$(firstword $(CXX)),c++ g++ clang++)

define check-tools
$(call need,command -v $(PYTHON),polymargin needs Python 3.11 or newer and found no '$(PYTHON)': install it$(comma) or name another one with PYTHON=...)
$(call need,$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3$(comma) 11))',polymargin needs Python 3.11 or newer and '$(PYTHON)' is $$($(PYTHON) -V 2>&1): install a newer one$(comma) or name it with PYTHON=...)
$(call need,$(PYTHON) -c 'import ensurepip$(comma) venv','$(PYTHON)' cannot make virtual environments: install its venv package (Debian and Ubuntu: apt-get install python3-venv).)
$(call need,$(PYTHON) -c 'import os$(comma) sysconfig; os.stat(sysconfig.get_path("include") + "/Python.h")','$(PYTHON)' has no C headers: install them (Debian and Ubuntu: apt-get install python3-dev).)
$(call need,for c in $(COMPILERS); do command -v $$c && exit; done; false,polymargin needs a C++17 compiler and found none of '$(COMPILERS)': install one (Debian and Ubuntu: apt-get install g++; macOS: xcode-select --install).)
endef
comma := ,

# $(call list,expression): strings from pyproject.toml, one per line.
list = $(PY) -c "import tomllib; p = tomllib.load(open('pyproject.toml', 'rb')); print(*$(1), sep='\n')"

$(VENV)/tools: pyproject.toml
	$(check-tools)
	@echo "Making the environment $(VENV) with the build tools ..."
	@$(PYTHON) -m venv $(VENV)
	@$(call list,p['build-system']['requires']) >$@.txt && $(PIP) -r $@.txt
	@# CMake and Ninja, if this machine has none that will do.
	@$(PY) -c "from scikit_build_core.build import get_requires_for_build_wheel as r; print(*r(), sep='\n')" >$@.txt
	@$(PIP) -r $@.txt
	@touch $@

# Extras that an extra, or what is done with it, leans on.
also-report := cli
also-test := cli report dask onnx
also-bench := cli
also-lint := cli
also-docs := cli report onnx
also-oldest := cli report
# $(call of-extras,names): what they require, without the package itself.
of-extras = [r for e in '$(1)'.split() for r in p['project']['optional-dependencies'][e] if not r.startswith('polymargin[')]

# The build tools stay at one place in the environment, so that CMake compiles only what changed.
$(VENV)/built: $(SOURCES) | $(VENV)/tools
	$(check-tools)
	@echo "Building polymargin ..."
	@$(PIP) --no-build-isolation .
	@touch $@

$(VENV)/oldest/built: $(VENV)/built
	@echo "Making the environment $(VENV)/oldest with the oldest packages ..."
	@$(PYTHON) -m venv $(VENV)/oldest
	@$(call list,[r.replace('>='$(comma) '==') + '.*' for r in p['project']['dependencies'] + $(call of-extras,$(also-oldest))]) >$@.txt
	@$(PY) -m pip --disable-pip-version-check wheel --quiet --no-build-isolation --no-deps --wheel-dir $(VENV)/oldest/wheel .
	@$(VENV)/oldest/bin/python -m pip --disable-pip-version-check install --quiet --force-reinstall --no-deps $(VENV)/oldest/wheel/*.whl
	@$(VENV)/oldest/bin/python -m pip --disable-pip-version-check install --quiet -r $@.txt pytest pytest-xdist cvxpy clarabel
	@touch $@

# The site has an environment of its own: its packages are many, and none of them is needed to use or to test the library.
$(VENV)/docs/built: $(VENV)/built
	@echo "Making the environment $(VENV)/docs for the site ..."
	@$(PYTHON) -m venv $(VENV)/docs
	@$(call list,p['project']['dependencies'] + $(call of-extras,docs $(also-docs))) >$@.txt
	@$(PY) -m pip --disable-pip-version-check wheel --quiet --no-build-isolation --no-deps --wheel-dir $(VENV)/docs/wheel .
	@$(VENV)/docs/bin/python -m pip --disable-pip-version-check install --quiet --force-reinstall --no-deps $(VENV)/docs/wheel/*.whl
	@$(VENV)/docs/bin/python -m pip --disable-pip-version-check install --quiet -r $@.txt
	@touch $@

# $(call core,folder,settings): the package with another core, in a folder that goes before the environment's own.
core = $(PIP) --no-build-isolation --no-deps --upgrade --target $(VENV)/$(1) -C build-dir=build/$(1) $(2) .
GXX ?= g++

$(VENV)/clang/built: $(VENV)/built
	$(call need,command -v clang++,this needs Clang and found no 'clang++': install it (Debian and Ubuntu: apt-get install clang).)
	@echo "Building polymargin with Clang ..."
	@CXX=clang++ $(call core,clang)
	@touch $@

$(VENV)/wide/built: $(VENV)/built
	@echo "Building polymargin with vectors of 64 bytes ..."
	@$(call core,wide,-C cmake.define.POLYMARGIN_WIDE=ON)
	@touch $@

$(VENV)/address/built $(VENV)/thread/built: $(VENV)/%/built: $(VENV)/built
	@echo "Building polymargin with the sanitizer of $* ..."
	@CXX=$(GXX) $(call core,$*,-C cmake.define.POLYMARGIN_SANITIZE=$* -C install.strip=false)
	@touch $@

$(VENV)/extra-%: pyproject.toml | $(VENV)/tools
	@echo "Installing the packages for $* ..."
	@$(call list,$(call of-extras,$* $(also-$*))) >$@.txt
	@$(PIP) -r $@.txt
	@touch $@
