"""docs/trust/jax_tests.md was made with the reasons that there are, and its figures add up."""

import re
import tomllib
from collections import Counter

import pytest

from tests.scripts import jax_tests as script


@pytest.fixture(scope="module")
def text():
    return script.PAGE.read_text()


@pytest.fixture(scope="module")
def rows(text):
    """The figures of each file and release: tests, of, and each outcome that the page has."""
    files = text.partition("## Files")[2]
    [head, _, *lines] = [line for line in files.splitlines() if line.startswith("|")]
    kinds = [each.strip() for each in head.strip("|").split("|")][4:]
    found = {}
    for line in lines:
        file, jax, tests, of, *outcomes = (each.strip() for each in line[1:-1].split("|"))
        counts = dict(zip(kinds, (int(each or 0) for each in outcomes), strict=True))
        found[file, jax] = (int(tests), int(of), counts)
    releases = re.findall(r"\*\*jax (\S+)\*\*", text)
    # "a_test.py 4/6; b_test.py 3+1/5, -": passed+skipped/collected, on each release or on all.
    figure = r"(?:[\d+/]+|-)"
    listed = rf"(\S+_test\.py) ({figure}(?:, {figure})*)"
    for file, said in re.findall(listed, " ".join(files.split())):
        of_releases = said.split(", ")
        if len(of_releases) == 1:
            of_releases *= len(releases)
        for jax, each in zip(releases, of_releases, strict=True):
            if each != "-":
                passed, skipped, of = map(
                    int, re.fullmatch(r"(\d+)(?:\+(\d+))?/(\d+)", each).groups("0")
                )
                found[file, jax] = (passed + skipped, of, {"passed": passed, "skipped": skipped})
    return found


def test_the_page_was_made_with_the_reasons_that_there_are(text):
    assert script.digest() in text, "a reason has changed: run tests/scripts/jax_tests.py page"
    reasons = tomllib.loads(script.REASONS.read_text())["reason"]
    assert all(each["why"] in text for each in reasons)  # and none is of nothing


def test_the_outcomes_of_a_file_add_up(rows):
    assert rows
    for name, (tests, collected, outcomes) in rows.items():
        assert tests == sum(outcomes.values()), name
        assert tests <= collected, name


def test_the_first_lines_are_sums_of_the_files(text, rows):
    for jax in {jax for _, jax in rows}:
        [said] = re.findall(rf"\*\*jax {re.escape(jax)}\*\*.*?: (.*)", text)
        found = {kind: int(number) for number, kind in re.findall(r"(\d+) ([a-z ]+?)[,.:]", said)}
        sums = Counter()
        for (_, release), (tests, _, outcomes) in rows.items():
            if release == jax:
                sums.update({"files": 1, "tests": tests, **outcomes})
        assert dict(+sums) == found


def test_a_test_without_a_reason_is_not_written():
    reasons = [{"tests": ["aot_test.py::*"], "jax": ["0.10.2"], "what": "", "why": ""}]
    found = script.reason_of(reasons, "tests/aot_test.py::A::b", "0.10.2", "jax-both")
    assert found == (0, "aot_test.py::*")
    for of in (("tests/aot_test.py::A::b", "0.11.0"), ("tests/api_test.py::A::b", "0.10.2")):
        with pytest.raises(SystemExit, match="has no reason for"):
            script.reason_of(reasons, *of, "jax-both")
