"""What a test that fails on a difference says, and the lines of the terminal's summary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from parity_tests.evidence.tolerance_ladder import RUNGS
from reports.documents.proofs import is_told
from reports.rows.claims import ANSWERS
from reports.rows.proofs import reasons_of
from reports.rows.suite import SuiteDifference, SuiteProgram, SuiteResult
from reports.views.suite_texts import (
    RUNGS_IN_WORDS,
    answer_of_proofs,
    captured,
    entry,
    for_nothing,
    headline,
    measured,
    not_seen,
    ran,
    rule,
    states,
    what_differs,
    why_and_what_helps,
)
from reports.views.texts import counted

MOST = 5  # differences, captured arrays of each, and reasons, that a message lists


def message_of(differences: Sequence[SuiteDifference]) -> str:
    """Return the message of a failed test: each program that differs, where, by how much, and why.

    Example::

        constparity: legacy and simplified differ in `step` (model.py:12)
          ['loss']: 1.0000001 on legacy, 1.0000005 on simplified; max rel 4e-07, max abs ...
          model.py:14: outputs are different in their values: mismatch at ['loss']
            -> constparity culprit names the captured arrays that it takes; ...
          it captured float32[64,64] (16,384 bytes), first used at model.py:14 in step
    """
    lines = [line for each in differences[:MOST] for line in _lines(each)]
    if more := len(differences) - MOST:
        lines += [f"and {counted(more, 'more difference')}"] if more > 0 else []
    return "\n".join(lines)


def _lines(row: SuiteDifference) -> Iterator[str]:
    yield f"constparity: {headline(row)}"
    if said := what_differs(row):
        yield f"  {said}"
    if row.because:
        yield f"  {row.state}: {row.because}"
    yield from (f"  {line}" for line in why_and_what_helps(row))
    for each in row.captured[:MOST]:
        yield f"  it captured {captured(each)}"
    if (more := len(row.captured) - MOST) > 0:
        yield f"  and {counted(more, 'more array')}"
    if not row.captured:
        yield "  it captured no arrays"


def summary_lines(result: SuiteResult) -> Iterator[str]:
    """Yield what was compared or proved, what differs by program, and what was left out."""
    if result.is_proof:
        yield answer_of_proofs(result)
    yield ran(result)
    if result.for_nothing:
        yield f"{for_nothing(result)}; without --constparity such a suite passes"
    rungs = Counter(each.rung for each in result.programs if each.rung)
    for rung in RUNGS:
        if rungs[rung]:
            yield f"  {rungs[rung]} {RUNGS_IN_WORDS[rung]}"
    same = sum(each.one_executable for each in result.programs)
    if same:
        yield f"  {same} of these captured nothing: both sides run one executable"
    yield from _not_compared(result)
    yield from _not_proved(result)
    yield not_seen(result)
    if said := states(result):
        yield f"differences: {said}"
    yield from _differences(result.failing)
    yield from (f"known: {line}" for line in _differences(result.accepted))
    yield from map(entry, result.known)
    for change in result.baseline:
        found = f"{change.found or 'did not run'}, accepted {change.accepted or 'is nothing'}"
        yield f"baseline: {change.program}: {found}; {change.what_to_do}"
    if result.measured:
        yield measured(result)
        yield from map(rule, result.measured.rules)
    left_out = "not proved" if result.is_proof else "not shadowed"
    yield from (f"{left_out}: {each}" for each in result.outside)
    for process in result.lost:
        where = f" in {process.test}" if process.test else ""
        yield f"lost: {process.worker}{where}: {process.what}"


def _not_compared(result: SuiteResult) -> Iterator[str]:
    reasons = Counter(why for each in result.programs for why in each.not_compared)
    for why, count in sorted(reasons.items(), key=lambda item: (-item[1], item[0])):
        example = next(each for each in result.programs if why in each.not_compared)
        programs = f"{counted(count, 'program')}, as {example.name} ({example.source})"
        yield f"not compared each time: {programs}: {why}"


def _not_proved(result: SuiteResult) -> Iterator[str]:
    """Yield the functions that are not proved or may break, and why, the worst first."""
    groups: dict[tuple[int, bool, bool, str, str], list[SuiteProgram]] = {}
    for each in result.programs:
        if each.proof is not None and is_told(each.proof):
            rank = ANSWERS.index(each.proof.answer)
            is_safe, is_whole = not each.proof.hazards, not each.proof.reservations
            groups.setdefault((rank, is_safe, is_whole, each.source, each.name), []).append(each)
    for (rank, is_safe, is_whole, source, name), rows in sorted(groups.items()):
        in_part = " in part" if not is_whole and ANSWERS[rank] == "proved" else ""
        state = f"{ANSWERS[rank]}{in_part}{'' if is_safe else ', may still break'}"
        where = f" ({source})" if source else ""
        count = f", {counted(len(rows), 'program')}" if len(rows) > 1 else ""
        yield f"{state}: `{name}`{where}{count}, as in {rows[0].test or 'no test'}"
        reasons = dict.fromkeys(why for row in rows if row.proof for why in reasons_of(row.proof))
        yield from (f"  {why}" for why in list(reasons)[:MOST])
        if (more := len(reasons) - MOST) > 0:
            yield f"  and {counted(more, 'more reason')}"


def _differences(differences: Sequence[SuiteDifference]) -> Iterator[str]:
    tests: dict[str, set[str]] = {}
    for each in differences:
        tests.setdefault(each.program, set()).add(each.test or "outside of tests")
    for program, where in sorted(tests.items(), key=lambda item: (-len(item[1]), item[0])):
        first = next(each for each in differences if each.program == program)
        yield f"{headline(first)}, in {counted(len(where), 'test')}"
        if said := what_differs(first):
            yield f"  {said}"
        yield from (f"  {line}" for line in why_and_what_helps(first))
