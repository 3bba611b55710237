"""The report as JUnit XML: a test case for each program, with every figure of it as a property.

A program that breaks a rule of `--fail-on` is a failure, one that could not be compared an error.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar
from xml.etree import ElementTree

from junitparser import Error, Failure, JUnitXml, Skipped
from junitparser.xunit2 import TestCase, TestSuite

from reports.rows import Campaign, Environment, Observation, ProgramRow, metrics
from reports.rows.fail_rules import (
    DEFAULT_RULES,
    FailRule,
    broken_across,
    changes_that_break,
    compares_nothing,
    of_versions,
)
from reports.rows.grid import Grid
from reports.rows.grid_row import GridVersion
from reports.views.grid_cells import said_of
from reports.views.texts import cut, cut_middle, visible

Outcome = Error | Failure | Skipped
_TEXT_LENGTH = 500
_FAILURE_LENGTH = 20_000
_STAGES = ("trace", "lower", "compile", "first_call")


def render(campaign: Campaign, rules: Sequence[FailRule] = DEFAULT_RULES) -> str:
    """Render the campaign as JUnit XML with one suite; `rules` decide what fails."""
    return document([_suite(campaign, rules, name="constparity")])


def render_grid(grid: Grid, rules: Sequence[FailRule] = DEFAULT_RULES) -> str:
    """Render a grid as JUnit XML with one suite for each version.

    A rule on changes between versions has a suite of its own.
    """
    suites = [_of_version(each, rules) for each in grid.versions]
    return document([*suites, _across(grid, rules)] if of_versions(rules) else suites)


def _of_version(version: GridVersion, rules: Sequence[FailRule]) -> TestSuite:
    name = f"constparity on jax {version.label}"
    if version.campaign is not None:
        return _suite(version.campaign, rules, name)
    found = error("not-compared", [f"nothing was run: {version.missing}"])
    return suite_of(name, [case("all programs", name, found)])


def _across(grid: Grid, rules: Sequence[FailRule]) -> TestSuite:
    found = broken_across(grid, rules)
    cases = []
    for row in grid.programs:
        outcome = None
        if broken := [each for each in found if row.name in each.programs]:
            is_failure = any(each.status == "difference" for each in broken)
            reasons = [
                f"{each.side}: {said_of(each)}"
                for rule in dict.fromkeys(each.rule for each in broken)
                for each in changes_that_break(grid, rule, row.name)
            ]
            outcome = (failure if is_failure else error)(
                ",".join(dict.fromkeys(each.rule.text for each in broken)),
                reasons or ["it ran on a version, and cannot be loaded on a later one"],
            )
        cases.append(case(row.name, module_of(row.source), outcome))
    for rule in of_versions(rules):
        if compares_nothing(grid, rule):
            said = "no side that it is about ran on two versions"
            cases.append(case(rule.text, "rules", error(rule.text, [said])))
    return suite_of("constparity between versions of jax", cases)


def _suite(campaign: Campaign, rules: Sequence[FailRule], name: str) -> TestSuite:
    not_run = "not run: the campaign was interrupted or stopped at a finding"
    cases = [
        *(_case(row, rules) for row in campaign.programs),
        *(case(each, "", skipped(not_run)) for each in campaign.not_run),
    ]
    return suite_of(name, cases, _of_campaign(campaign), created=campaign.created)


def _case(row: ProgramRow, rules: Sequence[FailRule]) -> TestCase:
    outcome = None
    if broken := [rule for rule in rules if rule.is_broken_by(row)]:
        is_failure = any(rule.status == "difference" for rule in broken)
        texts = ",".join(rule.text for rule in broken)
        outcome = (failure if is_failure else error)(texts, list(_reasons(row)))
    return case(row.name, module_of(row.source), outcome, _of_program(row), _seconds(row))


def _reasons(row: ProgramRow) -> Iterator[str]:
    """Yield what was found, each with its place and what helps, then the tracebacks of failures."""
    for reason in row.flip.reasons if row.flip else ():
        at = f"{reason.where}: " if reason.where else ""
        helps = f" -> {reason.action}" if reason.action else ""
        yield f"{at}{reason.what}{helps}"
    yield from row.reasons
    for seen in row.observations:
        if seen.failure is not None:
            yield f"{seen.side}: {seen.failure.message}\n{seen.failure.traceback}"
    yield f"verdict: {row.verdict}"


# -- properties ------------------------------------------------------------------------------------


def _of_campaign(campaign: Campaign) -> Iterator[tuple[str, object]]:
    yield from Environment.model_dump(campaign.environment).items()
    yield "sides", ", ".join(campaign.sides)
    yield "flip", campaign.headline.flip or "not asked"
    yield "headline", campaign.headline.question
    yield "pipelines", campaign.headline.agreement
    for line in campaign.provenance:
        yield "provenance", line


def _of_program(row: ProgramRow) -> Iterator[tuple[str, object]]:
    """Yield the judgement of a program, then each figure that was measured, by metric and side."""
    yield "source", row.source
    yield "summary", row.summary
    yield "verdict", row.verdict
    yield "flip", row.flip.outcome if row.flip else "not asked"
    for metric in metrics.METRICS:
        for seen in row.observations:
            value = metric.read(seen)
            if value is not None:
                yield f"{metric.name} [{seen.side}]", value
    for each in row.times:
        yield f"{each.metric} ratio [{each.right} to {each.left}]", each.ratio
        yield f"{each.metric} verdict [{each.right} to {each.left}]", each.verdict


# -- suites, cases and their texts -----------------------------------------------------------------

_Properties = Iterable[tuple[str, object]]


def case(
    name: str,
    group: str,
    outcome: Outcome | None = None,
    properties: _Properties = (),
    seconds: float = 0.0,
) -> TestCase:
    """Make a test case, which has passed where there is no outcome."""
    made = TestCase(legal_text(name), legal_text(group), round(seconds, 3))
    for key, value in properties:
        made.add_property(legal_text(key), legal_text(str(value)))
    if outcome is not None:
        made.result = [outcome]
    return made


def failure(rules: str, reasons: Sequence[str]) -> Failure:
    """Make the outcome of a case that fails, with the first of the reasons as its message."""
    return _said(Failure(legal_text(reasons[0]), legal_text(rules)), reasons)


def error(rules: str, reasons: Sequence[str]) -> Error:
    """Make the outcome of a case that could not be judged, as `failure` does."""
    return _said(Error(legal_text(reasons[0]), legal_text(rules)), reasons)


def skipped(message: str) -> Skipped:
    """Make the outcome of a case of which nothing is judged."""
    return Skipped(legal_text(message))


_Said = TypeVar("_Said", Failure, Error)


def _said(outcome: _Said, reasons: Sequence[str]) -> _Said:
    text = cut_middle("\n".join(reasons), _FAILURE_LENGTH // 4, _FAILURE_LENGTH)
    outcome.text = visible(text)
    return outcome


def suite_of(
    name: str, cases: Sequence[TestCase], properties: _Properties = (), *, created: str = ""
) -> TestSuite:
    """Make a suite of cases, which it counts; `created` is a time of ISO 8601."""
    suite = TestSuite(legal_text(name))
    if created:
        suite.timestamp = legal_text(created)
    for key, value in properties:
        suite.add_property(legal_text(key), legal_text(str(value)))
    suite.add_testcases(list(cases))
    return suite


def document(suites: Sequence[TestSuite]) -> str:
    """Return suites as the text of an XML file."""
    xml = JUnitXml("constparity")
    for each in suites:
        xml.add_testsuite(each)
    xml.update_statistics()
    root = ElementTree.fromstring(xml.tostring())
    ElementTree.indent(root)
    text = ElementTree.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'


def _seconds(row: ProgramRow) -> float:
    """Return the time that all sides of a program took from tracing to the end of a first call."""
    return sum(map(_of_stages, row.observations))


def _of_stages(seen: Observation) -> float:
    return sum(getattr(seen.times, stage) for stage in _STAGES) if seen.times else 0.0


def module_of(source: str) -> str:
    """Name the file of a program as JUnit names classes: viewers group test cases by it.

    Example::

        >>> module_of("package/model.py:12")
        'package.model'
    """
    return source.rpartition(":")[0].removesuffix(".py").strip("/").replace("/", ".")


def legal_text(text: str) -> str:
    r"""Return a text cut to the length of an attribute, without what XML does not allow.

    Example::

        >>> legal_text("nul\x00")
        'nul\\x00'
    """
    return visible(cut(text, _TEXT_LENGTH))
