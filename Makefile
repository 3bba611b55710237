# `make report` and `make test` need Python 3.11+ and nothing else: they create .venv when it is
# missing or older than pyproject.toml.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
REPORT_DIR := constparity-report
# One worker has a whole file of tests, or each would measure what the fixtures of it measure.
TEST_ARGS ?= -n 2 --dist loadfile -q

.PHONY: report test lint clean

report: $(VENV)/.installed
	@mkdir -p $(REPORT_DIR)
	$(BIN)/constparity run --exit-zero \
	  --report html:$(REPORT_DIR)/report.html \
	  --report md:$(REPORT_DIR)/report.md \
	  --report json:$(REPORT_DIR)/report.json

test: $(VENV)/.installed
	$(BIN)/python -m pytest $(TEST_ARGS)

lint: $(VENV)/.installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/mypy

$(VENV)/.installed: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "constparity needs Python 3.11 or newer; set PYTHON=")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[corpus,dev]'
	@touch $@

clean:
	rm -rf $(VENV) $(REPORT_DIR)
