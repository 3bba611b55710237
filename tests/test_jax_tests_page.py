"""docs/jax_tests.md was made with the reasons that there are, and its figures add up."""

import importlib.util
import re
import tomllib
from collections import Counter
from pathlib import Path

import pytest

PATH = Path(__file__).parent / "scripts" / "jax_tests.py"


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("jax_tests", PATH)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def text(script):
    return script.PAGE.read_text()


@pytest.fixture(scope="module")
def rows(script, text):
    """The figures of each file and release: tests, of, and each outcome."""
    table = text.partition("## Files")[2]
    lines = [line.strip("| ").split(" | ") for line in table.splitlines() if "_test.py" in line]
    width = 4 + len(script.OUTCOMES)
    cells = [(line + [""] * width)[:width] for line in lines]
    return {(c[0], c[1]): [int(each or 0) for each in c[2:width]] for c in cells}


def test_the_page_was_made_with_the_reasons_that_there_are(script, text):
    assert script.digest() in text, "a reason has changed: run tests/scripts/jax_tests.py page"
    reasons = tomllib.loads(script.REASONS.read_text())["reason"]
    assert all(each["why"] in text for each in reasons)  # and none is of nothing


def test_the_outcomes_of_a_file_add_up(rows):
    assert rows
    for name, (tests, collected, *outcomes) in rows.items():
        assert tests == sum(outcomes), name
        assert tests <= collected, name


def test_the_first_lines_are_sums_of_the_table(script, text, rows):
    for jax in {jax for _, jax in rows}:
        [said] = re.findall(rf"\*\*jax {re.escape(jax)}\*\*.*?: (.*)", text)
        found = {kind: int(number) for number, kind in re.findall(r"(\d+) ([a-z ]+?)[,.:]", said)}
        sums = Counter()
        for (_, release), (tests, _, *outcomes) in rows.items():
            if release == jax:
                sums.update(
                    {
                        "files": 1,
                        "tests": tests,
                        **dict(zip(script.OUTCOMES, outcomes, strict=True)),
                    }
                )
        assert +sums == {kind: found[kind] for kind in +sums}


def test_a_test_without_a_reason_is_not_written(script):
    reasons = [{"tests": ["aot_test.py::*"], "jax": ["0.10.2"], "what": "", "why": ""}]
    assert script.reason_of(reasons, "tests/aot_test.py::A::b", "0.10.2", "jax-both") == 0
    for of in (("tests/aot_test.py::A::b", "0.11.0"), ("tests/api_test.py::A::b", "0.10.2")):
        with pytest.raises(SystemExit, match="has no reason for"):
            script.reason_of(reasons, *of, "jax-both")
