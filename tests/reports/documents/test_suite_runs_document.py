"""Reports on a test-suite on stock JAX: what differs first, everything named, nothing executed."""

import json
from pathlib import Path

import jsonschema
import pytest
import xmlschema
from html_pages import Page
from junitparser import JUnitXml
from sarif_pydantic import Sarif

from reports import formats_of, load_result, render_report
from reports.output import json_file
from reports.rows.suite_runs import (
    SuiteComparison,
    SuiteOutcome,
    SuiteRuns,
    SuiteSide,
    SuiteVersionChange,
)

JUNIT = xmlschema.XMLSchema11(Path(__file__).parents[1].joinpath("schemas") / "junit.xsd")
HOSTILE = "<script>alert(1)</script> | ` \x1b[31m \u202e ]]> @name"
PASSED = SuiteOutcome(outcome="passed")


def failed(summary, text=""):
    return SuiteOutcome(outcome="failed", summary=summary, text=text)


def compared(test, legacy, simplified, again=None):
    return SuiteComparison(
        test=test, interpreter="JAX 0.10.2", legacy=legacy, simplified=simplified, again=again
    )


def side(name, **changes):
    given = {
        "side": name,
        "interpreter": "JAX 0.10.2",
        "executable": "python",
        "python": "3.11.7",
        "pytest": "9.0",
        "jax": "0.10.2",
        "jaxlib": "0.10.2",
        "variable": "0",
        "flag_at_start": name == "jax-simplified",
        "flag_at_end": name == "jax-simplified",
        "counts": {"failed": 3, "passed": 9},
        "seconds": 1.5,
        "starts": 1,
        "ending": "",
    }
    return SuiteSide(**given | changes)


def runs(**changes):
    sides = (side("jax-legacy"), side("jax-simplified"))
    given = {"created": "2026-01-01T00:00:00+00:00", "arguments": (), "tests": 12, "sides": sides}
    return SuiteRuns(**given | changes)


RICH = runs(
    arguments=("-q", HOSTILE),
    sides=(side("jax-legacy"), side("jax-simplified", starts=2, ending="crashed the interpreter")),
    alike=7,
    differences=(
        compared("t.py::test_flip", PASSED, failed(HOSTILE, f"E  {HOSTILE}"), ("passed", "failed")),
    ),
    fail_otherwise=(compared("t.py::test_other", failed("KeyError: 'a'"), failed("E: b")),),
    not_repeatable=(compared("t.py::test_once", PASSED, failed("x"), ("passed", "passed")),),
    fail_alike=(compared("t.py::test_bad", failed("assert 0"), failed("assert 0")),),
    not_compared=(compared("t.py::test_lost", PASSED, SuiteOutcome(outcome="not run")),),
    version_changes=(
        SuiteVersionChange(test="t.py::test_new", interpreters=("a", "b"), outcomes=("p", "f")),
    ),
)
NAMED = ["test_flip", "test_other", "test_once", "test_bad", "test_lost"]


@pytest.mark.parametrize("format_", formats_of("suite-runs"))
def test_every_format_spells_hostile_text_out(format_):
    text = render_report(format_, RICH)
    assert "\x1b" not in text
    assert format_ == "json" or "\u202e" not in text
    if format_ in ("html", "junit"):
        assert "<script>" not in text


@pytest.mark.parametrize("format_", ["html", "md", "comment", "junit"])
def test_every_test_that_is_not_simply_alike_is_named(format_):
    text = render_report(format_, RICH).replace("\\", "")
    assert [name for name in NAMED if name not in text] == []
    assert "test_new" in text
    assert "fails otherwise" in text
    assert "crashed the interpreter" in text


def test_json_reads_back_and_fits_its_schema(tmp_path):
    path = tmp_path / "runs.json"
    path.write_text(render_report("json", RICH), encoding="utf-8")
    assert load_result(path) == RICH
    schema = jsonschema.Draft202012Validator(json_file.json_schema("suite-runs"))
    data = json.loads(path.read_text("utf-8"))
    assert list(schema.iter_errors(data)) == []
    assert list(schema.iter_errors(data | {"kind": "suite"}))


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (RICH, "1 test differs"),
        (RICH.model_copy(update={"differences": ()}), "1 test was not compared"),
        (runs(fail_otherwise=RICH.fail_otherwise), "1 test fails otherwise on each side"),
        (runs(left_out=3), "stopped early"),
        (runs(tests=0), "no test ran"),
        (runs(fail_alike=RICH.fail_alike * 2), "alike on both sides, where 2 tests fail"),
        (runs(alike=12), "alike on both sides"),
    ],
)
def test_the_answer_comes_first(found, said):
    assert render_report("md", found).startswith(f"# constparity: {said}\n")


def test_the_page_links_each_test_to_its_texts():
    attributes = Page(render_report("html", RICH)).attributes
    links = [value for name, value in attributes if name == "href"]
    assert len(links) == 4
    assert set(links) <= {f"#{value}" for name, value in attributes if name == "id"}


def test_junit_has_failures_for_what_differs_and_a_case_for_each_side(tmp_path):
    text = render_report("junit", RICH)
    JUNIT.validate(text)
    [suite] = JUnitXml.fromstring(text.encode())
    assert (suite.tests, suite.failures, suite.errors, suite.skipped) == (7, 2, 2, 2)
    [suite] = JUnitXml.fromstring(render_report("junit", runs(alike=12)).encode())
    assert (suite.tests, suite.failures, suite.errors, suite.skipped) == (2, 0, 0, 0)


def test_sides_that_compared_nothing_are_no_success():
    flags = (compared("t.py::test_flag", PASSED, PASSED),)
    found = runs(tests=1, set_the_flag=flags)
    assert found.faults
    [suite] = JUnitXml.fromstring(render_report("junit", found).encode())
    assert suite.errors == 1
    assert (
        not Sarif.model_validate_json(render_report("sarif", found))
        .runs[0]
        .invocations[0]
        .execution_successful
    )


def test_sarif_names_the_files_of_what_is_not_alike():
    log = Sarif.model_validate_json(render_report("sarif", RICH))
    found = [(each.rule_id, each.level) for each in log.runs[0].results]
    assert [rule for rule, _ in found] == [
        "test-differs",
        "test-not-compared",
        "test-fails-otherwise",
    ]


def test_a_comment_links_to_the_whole_report():
    assert "[The whole report](<https://example.org/suite.html>) has all of it" in render_report(
        "comment", runs(), link="https://example.org/suite.html"
    )
    assert "The whole report" not in render_report("comment", runs())


def test_a_comment_fits_whatever_the_suite():
    many = compared("t.py::test_" + "x" * 500, PASSED, failed("y" * 5000, "z" * 8000))
    text = render_report("comment", runs(differences=(many,) * 5000))
    assert len(text.encode()) < 65_536
    assert "more tests" in text
