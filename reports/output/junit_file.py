"""The report as JUnit XML: a test case for each program, with every figure of it as a property.

A program that breaks a rule of `--fail-on` is a failure, one that could not be compared an error.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from reports.rows import Campaign, Environment, Observation, ProgramRow, metrics
from reports.rows.fail_rules import DEFAULT_RULES, FailRule
from reports.rows.grid import Grid
from reports.rows.grid_row import GridVersion
from reports.rows.version_rules import broken_across, changes_that_break, of_versions
from reports.views.grid_cells import said_of
from reports.views.texts import cut, cut_middle, visible

# What `visible` leaves, and XML does not allow in any spelling.
_ILLEGAL = re.compile("[\ufffe\uffff]")
_TEXT_LENGTH = 500
_FAILURE_LENGTH = 20_000
_STAGES = ("trace", "lower", "compile", "first_call")


def render(campaign: Campaign, rules: Sequence[FailRule] = DEFAULT_RULES) -> str:
    """Render the campaign as JUnit XML with one suite; `rules` decide what fails.

    Example::

        Path("report.xml").write_text(render(campaign), encoding="utf-8")
    """
    return document([_suite(campaign, rules, name="constparity")])


def render_grid(grid: Grid, rules: Sequence[FailRule] = DEFAULT_RULES) -> str:
    """Render a grid as JUnit XML with one suite for each version.

    A rule on changes between versions has a suite of its own.

    Example::

        Path("grid.xml").write_text(render_grid(grid), encoding="utf-8")
    """
    suites = [_of_version(each, rules) for each in grid.versions]
    return document([*suites, _across(grid, rules)] if of_versions(rules) else suites)


def _of_version(version: GridVersion, rules: Sequence[FailRule]) -> Element:
    name = f"constparity on jax {version.label}"
    if version.campaign is not None:
        return _suite(version.campaign, rules, name)
    suite = Element("testsuite", name=legal_text(name))
    case = SubElement(
        suite, "testcase", name="all programs", classname=legal_text(name), time="0.000"
    )
    outcome(case, "error", "not-compared", [f"nothing was run: {version.missing}"])
    return counted(suite, seconds=0.0)


def _across(grid: Grid, rules: Sequence[FailRule]) -> Element:
    suite = Element("testsuite", name="constparity between versions of jax")
    found = broken_across(grid, rules)
    for row in grid.programs:
        case = SubElement(
            suite,
            "testcase",
            name=legal_text(row.name),
            classname=legal_text(module_of(row.source)),
            time="0.000",
        )
        if broken := [each for each in found if row.name in each.programs]:
            is_failure = any(each.status == "difference" for each in broken)
            reasons = [
                f"{each.side}: {said_of(each)}"
                for rule in dict.fromkeys(each.rule for each in broken)
                for each in changes_that_break(grid, rule, row.name)
            ]
            texts = ",".join(dict.fromkeys(each.rule.text for each in broken))
            outcome(
                case,
                "failure" if is_failure else "error",
                texts,
                reasons or ["it ran on a version, and cannot be loaded on a later one"],
            )
    return counted(suite, seconds=0.0)


def _suite(campaign: Campaign, rules: Sequence[FailRule], name: str) -> Element:
    suite = Element("testsuite", name=legal_text(name), timestamp=legal_text(campaign.created))
    properties(suite, _of_campaign(campaign))
    for row in campaign.programs:
        _case(suite, row, rules)
    for left_out in campaign.not_run:
        case = SubElement(suite, "testcase", name=legal_text(left_out), classname="", time="0.000")
        SubElement(case, "skipped", message="not run: the campaign stopped at its first finding")
    return counted(suite, sum(map(_seconds, campaign.programs)))


def _case(suite: Element, row: ProgramRow, rules: Sequence[FailRule]) -> None:
    case = SubElement(
        suite,
        "testcase",
        name=legal_text(row.name),
        classname=legal_text(module_of(row.source)),
        time=f"{_seconds(row):.3f}",
    )
    properties(case, _of_program(row))
    broken = [rule for rule in rules if rule.is_broken_by(row)]
    if broken:
        is_failure = any(rule.status == "difference" for rule in broken)
        texts = ",".join(rule.text for rule in broken)
        outcome(case, "failure" if is_failure else "error", texts, list(_reasons(row)))


def outcome(case: Element, kind: str, rules: str, reasons: Sequence[str]) -> None:
    """Give a case its failure or error, with the first of the reasons as its message.

    Example::

        outcome(case, "failure", "different", ["outputs differ"])
    """
    said = SubElement(case, kind, type=legal_text(rules), message=legal_text(reasons[0]))
    said.text = _legal(cut_middle("\n".join(reasons), _FAILURE_LENGTH // 4, _FAILURE_LENGTH))


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


def properties(parent: Element, pairs: Iterator[tuple[str, object]]) -> None:
    """Give a suite or a case its properties.

    Example::

        properties(case, iter([("verdict", "parity")]))
    """
    all_of_them = SubElement(parent, "properties")
    for name, value in pairs:
        SubElement(all_of_them, "property", name=legal_text(name), value=legal_text(str(value)))


# -- elements and their texts ----------------------------------------------------------------------


def counted(suite: Element, seconds: float) -> Element:
    """Give a suite the attributes that count its cases.

    Example::

        counted(Element("testsuite", name="constparity"), seconds=0.0)
    """
    suite.set("tests", str(len(suite.findall("testcase"))))
    for name, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(name, str(len(suite.findall(f"testcase/{tag}"))))
    suite.set("time", f"{seconds:.3f}")
    return suite


def document(suites: Sequence[Element]) -> str:
    """Return suites as the text of an XML file.

    Example::

        document([counted(suite, seconds=0.0)])
    """
    root = Element("testsuites", name="constparity")
    root.extend(suites)
    for name in ("tests", "failures", "errors", "skipped"):
        root.set(name, str(sum(int(suite.get(name, "0")) for suite in suites)))
    root.set("time", f"{sum(float(suite.get('time', '0')) for suite in suites):.3f}")
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
    return _legal(cut(text, _TEXT_LENGTH))


def _legal(text: str) -> str:
    r"""Spell out the characters that XML does not allow, and those that no reader sees."""
    return _ILLEGAL.sub(lambda match: f"\\u{ord(match[0]):04x}", visible(text))
