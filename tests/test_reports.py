"""The package as a whole: its examples run, and it needs nothing of the other packages."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import subprocess
import sys

import pytest

import reports

MODULES = [module.name for module in pkgutil.walk_packages(reports.__path__, "reports.")]
CHECK = (
    "import sys; from reports import load_campaign; "
    "print(sorted(set(sys.argv[1:]) & {name.partition('.')[0] for name in sys.modules}))"
)


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    failures, _ = doctest.testmod(importlib.import_module(name))
    assert failures == 0


def test_there_are_examples():
    finder = doctest.DocTestFinder(exclude_empty=True)
    examples = [t for name in MODULES for t in finder.find(importlib.import_module(name))]
    assert sum(len(test.examples) for test in examples) >= 15


def imported(forbidden: set[str]) -> str:
    command = [sys.executable, "-c", CHECK, *forbidden]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def test_reports_import_neither_jax_nor_the_other_packages():
    others = {"jax", "jaxlib", "numpy", "engine", "parity_tests"}
    assert imported(others) == "[]"


def test_the_import_check_can_fail():
    assert imported({"pydantic"}) == "['pydantic']"


def test_records_without_pages_need_no_jinja2():
    assert imported({"jinja2"}) == "[]"
    pages = "import sys; from reports import write_report; print('jinja2' in sys.modules)"
    command = [sys.executable, "-c", pages]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "True"


def test_the_table_of_contents_is_true():
    assert set(reports.__all__) <= set(dir(reports))
