"""Proofs of programs as JUnit XML and as SARIF.

In JUnit a program that breaks a rule is a failure where it is refuted, and an error where it is not
proved, or may break all the same, for it is not known. SARIF has each that is not proved or may
break, at the line that it is about.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from junitparser.xunit2 import TestCase

from reports.documents.proofs import place_of, state_of
from reports.output import sarif
from reports.output.junit_file import (
    Outcome,
    case,
    document,
    error,
    failure,
    module_of,
    suite_of,
)
from reports.rows.claims import ANSWERS, MEANINGS
from reports.rows.fail_rules import DEFAULT_RULES, DEFAULT_RULES_OF_PROOFS, FailRule
from reports.rows.proofs import Proofs, ProvedProgram, reasons_of

_MAY_BREAK = "may-break"


def render_junit(proofs: Proofs, rules: Sequence[FailRule] = DEFAULT_RULES_OF_PROOFS) -> str:
    """Render proofs as JUnit XML, a case for each program; `rules` decide what fails."""
    if rules is DEFAULT_RULES:  # those of runs: nobody has named any
        rules = DEFAULT_RULES_OF_PROOFS
    cases = [_case(each, rules) for each in proofs.programs]
    properties = [("answer", proofs.headline), ("sides", " and ".join(proofs.sides))]
    return document([suite_of("constparity prove", cases, properties, created=proofs.created)])


def _case(program: ProvedProgram, rules: Sequence[FailRule]) -> TestCase:
    outcome: Outcome | None = None
    reasons = list(reasons_of(program))
    broken = [each for each in rules if each.is_broken_by(program)]
    if any(each.status_of_proof == "difference" for each in broken):
        outcome = failure(program.answer, reasons)
    elif broken:
        rule = _MAY_BREAK if program.answer == "proved" else program.answer
        outcome = error(rule, reasons)
    properties = [("state", state_of(program)), ("captured arrays", program.captured)]
    return case(program.name, module_of(program.source), outcome, properties)


# -- as SARIF --------------------------------------------------------------------------------------

_RULES = (
    *(
        sarif.SarifRule(
            each, f"A program whose forms are {each}", f"It says that {MEANINGS[each]}."
        )
        for each in ANSWERS
        if each != "proved"
    ),
    sarif.SarifRule(
        _MAY_BREAK,
        "A program that is proved, and may break by its contract",
        "Both forms are one computation. What the message names may change all the same.",
    ),
)


def render_sarif(proofs: Proofs) -> str:
    """Render what is not proved, and what may break, as SARIF 2.1.0."""
    found = [finding for each in proofs.programs for finding in _findings(each)]
    return sarif.render(proofs.environment.constparity, _RULES, found, notes=[proofs.headline])


def _findings(program: ProvedProgram) -> Iterator[sarif.SarifFinding]:
    if program.answer != "proved":
        file, line = place_of(program)
        said = "; ".join(reasons_of(program)) or program.answer
        level: sarif.Level = "error" if program.answer == "refuted" else "warning"
        yield _finding(program, program.answer, said, level, file, line)
        return
    for hazard in program.hazards:
        file, line = (hazard.file, hazard.line) if hazard.file else place_of(program)
        said = f"{hazard.kind}: {hazard.what}; {hazard.fix}"
        yield _finding(program, _MAY_BREAK, said, "warning", file, line, hazard.code)
    for each in program.reservations:
        yield _finding(program, _MAY_BREAK, each, "warning", *place_of(program))


def _finding(
    program: ProvedProgram, rule: str, said: str, level: sarif.Level, file: str, line: int,
    snippet: str = "",
) -> sarif.SarifFinding:  # fmt: skip
    return sarif.SarifFinding(
        rule_id=rule,
        message=sarif.shown(f"{program.name}: {said}"),
        level=level,
        file=file or None,
        line=line or None,
        snippet=sarif.shown(snippet),
    )
