"""JUnit XML: valid, read back by a library, with failures by the rules and every figure."""

from pathlib import Path

import built_grids as built
import pytest
import xmlschema
from junitparser import JUnitXml, Properties

from reports.output import junit_file
from reports.rows import FlipReason, FlipVerdict, metrics
from reports.rows.fail_rules import broken_across, compares_nothing, parse

SCHEMA = xmlschema.XMLSchema11(Path(__file__).parents[1].joinpath("schemas") / "junit.xsd")
CONTROL = "\x00\x08\x1b[31m\x0b\ud800\udfff\ufffe\uffff\u2028 ]]> <![CDATA[ &#0; \U0001f600"


def suites(text):
    SCHEMA.validate(text)
    return list(JUnitXml.fromstring(text.encode()))


def cases(text):
    return [case for suite in suites(text) for case in suite]


def properties(case):
    return {each.name: each.value for each in case.child(Properties)}


def flipped(campaigns, name, outcome):
    reason = FlipReason(outcome=outcome, kind="outputs", what="seen", where="m.py:3", action="fix")
    flip = FlipVerdict(
        left="jax-legacy", right="jax-simplified", outcome=outcome, reasons=(reason,)
    )
    return campaigns.parity(name).model_copy(update={"flip": flip})


def test_a_case_for_each_program_with_the_figures_of_each_side(campaigns):
    campaign = campaigns.rich()
    found = cases(junit_file.render(campaign))
    assert len(found) == 3
    assert (found[0].name, found[0].classname) == ("matmul", "parity_tests.corpus.plain")
    of_first = properties(found[0])
    for seen in campaign.programs[0].observations:
        for metric in metrics.METRICS:
            value = metric.read(seen)
            name = f"{metric.name} [{seen.side}]"
            assert of_first.get(name) == (None if value is None else str(value))
    assert of_first["verdict"] == "parity"
    assert of_first["source"] == "parity_tests/corpus/plain.py:12"


@pytest.mark.parametrize(
    ("outcome", "rules", "expected"),
    [
        ("safe", "different,not-compared", None),
        ("different", "different,not-compared", ("failure", "different")),
        ("could not compare", "different,not-compared", ("error", "not-compared")),
        ("different", "not-compared", None),
        ("numerics drift, explained", "different,drift", ("failure", "drift")),
    ],
)
def test_what_fails_is_what_the_rules_say(campaigns, outcome, rules, expected):
    campaign = campaigns.campaign(flipped(campaigns, "f", outcome))
    [suite] = suites(junit_file.render(campaign, parse(rules)))
    [case] = suite
    kind = expected[0] if expected else ""
    assert (case.is_failure, case.is_error) == (kind == "failure", kind == "error")
    assert (suite.failures, suite.errors) == (int(case.is_failure), int(case.is_error))
    assert case.is_passed == (not expected)
    if expected:
        assert case.result[0].type == expected[1]
        assert case.result[0].message == "m.py:3: seen -> fix"


def test_programs_that_were_not_run_are_skipped_and_not_passed(campaigns):
    campaign = campaigns.campaign(campaigns.parity()).model_copy(update={"not_run": ("g", "h")})
    [suite] = suites(junit_file.render(campaign))
    assert (suite.tests, suite.skipped) == (3, 2)
    assert [case.name for case in suite if case.is_skipped] == ["g", "h"]


def test_hostile_text_is_legal_xml(campaigns):
    name = f"<script>{CONTROL}"
    text = junit_file.render(campaigns.campaign(campaigns.not_compared(name)))
    [case] = cases(text)
    assert case.name == (
        r"<script>\x00\x08" + "\n" + r"\ud800\udfff\ufffe\uffff" + "\n"
        " ]]> <![CDATA[ &#0; \U0001f600"
    )  # fmt: skip
    assert "<script>" not in text


def test_a_message_of_a_megabyte_is_cut_and_says_so(campaigns):
    failed = campaigns.failed("f", "legacy", "exception", message="no " * 350_000)
    row = campaigns.parity("f").model_copy(
        update={
            "observations": (failed,),
            "verdict": "could not compare",
            "reasons": ("x" * 10**6,),
        }
    )
    text = junit_file.render(campaigns.campaign(row))
    assert len(text) < 60_000
    [case] = cases(text)
    assert "999,500 more characters" in case.result[0].message


def test_a_grid_has_a_suite_for_each_version():
    grid = built.rich()
    found = suites(junit_file.render_grid(grid))
    assert [each.name for each in found] == [
        f"constparity on jax {version.label}" for version in grid.versions
    ]
    for suite, version in zip(found, grid.versions, strict=True):
        if version.campaign is None:
            assert suite.errors == 1
        else:
            assert suite.tests == len(version.campaign.programs) + len(version.campaign.not_run)


def test_changes_between_versions_have_a_suite_where_a_rule_asks_for_them():
    grid, rules = built.rich(), parse("version-change")
    suite = suites(junit_file.render_grid(grid, rules))[-1]
    assert suite.name == "constparity between versions of jax"
    found = {case.name: case for case in suite}
    assert list(found) == [junit_file.legal_text(row.name) for row in grid.programs]
    broken = {name for each in broken_across(grid, rules) for name in each.programs}
    assert broken
    assert {name for name, case in found.items() if not case.is_passed} == {
        junit_file.legal_text(name) for name in broken
    }


def test_a_rule_on_changes_fails_where_nothing_was_compared():
    grid, rules = built.of(built.version("0.10.2", built.program("a"))), parse("version-change")
    assert compares_nothing(grid, rules[0])
    found = {case.name: case for case in suites(junit_file.render_grid(grid, rules))[-1]}
    assert found["a"].is_passed
    assert found["version-change"].is_error


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("<properties>", "<properties><unknown/>"),
        ('tests="3"', 'tests="three"'),
        ('name="matmul"', 'title="matmul"'),
        ('timestamp="2026', 'timestamp="yesterday'),
    ],
)
def test_the_schema_refuses_what_is_wrong(campaigns, right, wrong):
    """The schema is ours: it must be able to fail."""
    text = junit_file.render(campaigns.rich())
    assert right in text
    with pytest.raises(xmlschema.XMLSchemaException):
        SCHEMA.validate(text.replace(right, wrong))
