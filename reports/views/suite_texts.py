"""Sentences about the rows of a test-suite, the same in messages of tests and in reports."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from reports.document import Tone
from reports.rows.claims import Answer
from reports.rows.proofs import headline_of, reason_of
from reports.rows.suite import (
    SuiteArray,
    SuiteDifference,
    SuiteKnown,
    SuiteProgram,
    SuiteResult,
    SuiteRule,
    is_of_stock,
)
from reports.views.texts import counted

RUNGS_IN_WORDS = {
    "bitwise": "bitwise equal",
    "ulp": "within a few ULP",
    "tolerance": "within the tolerance of the dtype",
    "arbiter": "equally near to double precision",
    "mismatch": "different",
}

# Shadow mode traces each function once, on one side, and both sides are ours.
NOT_SEEN = (
    "not seen: loops outside of jax.jit, and jax.pmap; code that reads jaxprs or JAX's flag, and "
    "decides by them; what a flip of stock JAX changes and the engine does not, as NumPy arrays "
    "that are overwritten, transfer guards, and devices; pytest --constparity=jax-both sees all of "
    "them"
)
# What a trace does not say, and the traces of one process.
_NOT_PROVED = (
    "not proved: bits, which XLA decides; derivatives, batches and loops outside of jax.jit, and "
    "jax.pmap; what Python does between calls or with stages, as to serialize them, and what it "
    "reads when it is imported, or keeps from a first trace"
)
_OUR_FORMS = "our two forms, because JAX takes its flag once, when it is imported"


def ran(result: SuiteResult, *, compared: str = "") -> str:
    """Return what ran, in one line: how often, or how it was proved.

    Example::

        ran(result) == "3 programs of 2 tests ran on both pipelines; the tests saw legacy"
    """
    programs, tests = counted(len(result.programs), "program"), counted(result.tests, "test")
    if result.is_proof:
        return f"{programs}, each traced in {_OUR_FORMS}"
    return f"{programs} of {tests} ran on both pipelines{compared}; the tests saw {result.sees}"


def not_seen(result: SuiteResult) -> str:
    """Return what the mode of a run does not see."""
    return _NOT_PROVED if result.is_proof else NOT_SEEN


def answer_of_proofs(result: SuiteResult) -> str:
    """Return how many programs are proved, and how many of these may still break."""
    return headline_of([each.proof for each in result.programs if each.proof is not None])


_CLAIMED: dict[Answer, str] = {
    "refuted": "two computations",
    "parted": "not proved one computation",
    "undecided": "not proved one computation",
    "failed": "not proved one computation",
    "proved": "one computation, which may still break,",
}


def headline(row: SuiteDifference) -> str:
    """Return the program that differs, in one line."""
    program = f"`{row.name}` ({row.source})" if row.source else f"`{row.name}`"
    if row.claim is not None:
        return f"{row.left} and {row.right} are {_CLAIMED[row.claim.answer]} in {program}"
    if is_of_stock(row):
        return f"the flip of stock JAX breaks {program}, which works on both pipelines"
    return f"{row.left} and {row.right} differ in {program}"


def what_differs(row: SuiteDifference) -> str:
    """Return how the sides differ, in one line; "" where stock JAX alone differs."""
    if is_of_stock(row):
        return ""
    if row.claim is not None:
        return row.claim.reason if row.claim.answer == "refuted" else reason_of(row.claim)
    if row.failures:
        return "; ".join(f"{each.side}: {each.error or 'works'}" for each in row.failures)
    values = f"{row.left_value} on {row.left}, {row.right_value} on {row.right}"
    if row.leaf is None:
        return f"{row.property}: {values}"
    leaf = row.leaf
    at = f"{list(leaf.first_index)}" if leaf.first_index else ""
    distance = f"max rel {leaf.max_rel:.2g}, max abs {leaf.max_abs:.2g}"
    ulp = f", {leaf.max_ulp} ULP" if leaf.max_ulp is not None else ""
    note = f"; {leaf.note}" if leaf.note else ""
    return f"{leaf.path}{at}: {values}; {distance}{ulp}{note}"


def why_and_what_helps(row: SuiteDifference) -> Iterator[str]:
    """Yield the reasons of a difference and what helps, as `constparity run` prints them.

    Example::

        list(why_and_what_helps(row)) == ["model.py:14: outputs are different ...", "  -> ..."]
    """
    for reason in row.reasons:
        yield f"{reason.where}: {reason.what}" if reason.where else reason.what
        if reason.action:
            yield f"  -> {reason.action}"


def captured(row: SuiteArray) -> str:
    """Return a captured array and the line that uses it first.

    Example::

        captured(row) == "float32[4] (16 bytes), first used at model.py:14 in step"
    """
    where = f", first used at {row.file}:{row.line} in {row.function}" if row.file else ""
    return f"{row.aval} ({row.bytes:,} bytes){where}"


def answer(result: SuiteResult) -> tuple[str, Tone]:
    """Return what the run comes to, in a few words, and how a reader should take it.

    Example::

        answer(result) == ("no difference in 12 compared programs", "good")
    """
    if result.failing:
        return _differs(result.failing), "bad"
    if result.lost:
        return f"{_as(len(result.lost), 'process', 'processes')} of the suite ended early", "bad"
    if result.fixed:
        gone = _as(len(result.fixed), "known difference is", "known differences are")
        return f"{gone} gone", "bad"
    if result.misspelt:
        return f"{_as(len(result.misspelt), 'entry matches', 'entries match')} nothing", "bad"
    if result.baseline:
        return f"{counted(len(result.baseline), 'program')} not as in the baseline", "bad"
    if result.broken:
        return f"{counted(len(result.broken), 'rule')} broken", "bad"
    if result.measured and result.measured.problem:
        return "the collected programs were not measured", "bad"
    if result.for_nothing or not result.compared_tests:
        return for_nothing(result), "bad" if result.for_nothing else "warn"
    if result.accepted:
        return f"no difference but {counted(len(result.accepted), 'known difference')}", "warn"
    if result.is_proof:
        proofs = [each.proof for each in result.programs if each.proof is not None]
        is_clean = all(each.answer == "proved" and not each.may_break for each in proofs)
        return answer_of_proofs(result).removeprefix("proof: "), "good" if is_clean else "warn"
    compared = sum(each.rung is not None for each in result.programs)
    return f"no difference in {counted(compared, 'compared program')}", "good"


def for_nothing(result: SuiteResult) -> str:
    """Return that nothing was compared or proved, and of how many tests that passed.

    Example::

        for_nothing(result) == "nothing was proved: 1 test passed, and none ran a …"
    """
    said = f"nothing was {'proved' if result.is_proof else 'compared'}"
    if not result.for_nothing:
        return said
    tests = counted(result.for_nothing, "test")
    if result.programs:
        return f"{said}: {tests} passed, and no program could be compared"
    return f"{said}: {tests} passed, and none ran a function of jax.jit"


def _differs(failing: Sequence[SuiteDifference]) -> str:
    of_stock = {each.program for each in failing if is_of_stock(each)}
    claimed = {each.program: each.claim.answer for each in failing if each.claim is not None}
    differing = {each.program for each in failing} - of_stock - set(claimed)
    said = []
    if refuted := [*claimed.values()].count("refuted"):
        said.append(f"{counted(refuted, 'program')} refuted")
    if others := len(claimed) - refuted:
        said.append(f"{counted(others, 'program')} that --constparity-fail names")
    if differing:
        said.append(f"legacy and simplified differ in {counted(len(differing), 'program')}")
    if of_stock:
        said.append(f"the flip of stock JAX breaks {counted(len(of_stock), 'program')}")
    return ", and ".join(said)


def states(result: SuiteResult) -> str:
    """Count differences and entries by their states; "" where there are none.

    Example::

        states(result) == "2 new, 1 known, 1 fixed"
    """
    counts = {"new": 0, "known": 0, "expired": 0, "fixed": len(result.fixed)}
    counts["matching nothing"] = len(result.misspelt)
    for each in result.differences:
        counts[each.state] += 1
    return ", ".join(f"{count:,} {state}" for state, count in counts.items() if count)


def measured(result: SuiteResult) -> str:
    """Return what was measured after the tests, and by which rules it was judged."""
    found = result.measured
    if found is None:
        return "Times: not measured"
    if found.problem:
        return f"Times: not measured: {found.problem}"
    times = f"times in {counted(found.rounds, 'round')}" if found.rounds else "times: not measured"
    return f"Measured after the tests: {counted(found.programs, 'program')}, {times}"


def rule(row: SuiteRule) -> str:
    """Return a rule and the programs that broke it.

    Example::

        rule(row) == "slower:20%: broken by step"
    """
    broken = f"broken by {', '.join(row.broken_by)}" if row.broken_by else "kept"
    return f"{row.rule}: {broken}"


def entry(row: SuiteKnown) -> str:
    """Return an entry of a list of known differences, what became of it, and what to do.

    Example::

        entry(row).startswith("fixed: known.toml:3: outputs of `step`")
    """
    of = f" of `{row.program}`" if row.program else ""
    tests = f" in {row.test}" if row.test else ""
    issue = f" ({row.issue})" if row.issue else ""
    state = "matches nothing" if row.state == "fixed" and row.why else row.state
    return f"{state}: {row.where}: {row.metric}{of}{tests}: {row.reason}{issue}{_advice(row)}"


def _advice(row: SuiteKnown) -> str:
    match row.state:
        case "fixed" if row.why:
            return f"; {row.why}: fix the entry, or delete it"
        case "fixed":
            return "; nothing differs there: delete the entry"
        case "expired":
            return f"; valid until {row.valid_until}: fix the difference, or renew the entry"
        case "not judged":
            return f"; {row.why}"
    return f"; {counted(row.matched, 'difference')}"


def state_of(program: SuiteProgram, differences: Sequence[SuiteDifference]) -> tuple[str, Tone]:
    """Return the state of a program in words, and its tone; `differences` are those of it."""
    if any(each.state != "known" for each in differences):
        return "different", "bad"
    if differences:
        return "known difference", "warn"
    if program.rung is None:
        return "not compared", "warn"
    return RUNGS_IN_WORDS[program.rung], "good" if program.rung in ("bitwise", "ulp") else "note"


def _as(number: int, one: str, several: str) -> str:
    return f"{number:,} {one if number == 1 else several}"
