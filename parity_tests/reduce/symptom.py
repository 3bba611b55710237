"""Symptoms: how a program differs on two sides, in terms that a smaller program can share.

A candidate that fails in another way is another fault. So a symptom says which metric differs and
how, or which side fails with which error. A candidate shows the symptom only if all of that agrees.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from parity_tests.evidence import tolerance_ladder
from parity_tests.evidence.records import Evidence
from parity_tests.evidence.tolerance_ladder import RUNGS, worst_rung
from parity_tests.evidence.values import dtype_named
from parity_tests.judge.verdict import Judgement
from reports.rows import Comparison, Observation, Side

FAILURE = "failure"
OUTPUTS = "outputs"
# The values of these metrics do not change when a program gets smaller, so they must stay.
_SAYS_ALL = frozenset({"output dtypes", "output weak types", "output committed"})


@dataclass(frozen=True)
class Symptom:
    """A difference: `metric` differs in the way that `kind` says, under this verdict.

    `fails` has the type of what each failing side raises, or "" where its process died.
    `detail` is the wording of this very program, and is no part of what has to stay the same.
    """

    verdict: str
    metric: str
    kind: str
    detail: str
    fails: tuple[tuple[Side, str], ...] = ()

    def is_like(self, other: Symptom) -> bool:
        """Say whether another program shows the same."""
        mine, theirs = (
            (each.verdict, each.metric, each.kind, each.fails) for each in (self, other)
        )
        return mine == theirs


def symptoms(
    judgement: Judgement, evidence: Sequence[Evidence], *, beyond: str = "bitwise"
) -> tuple[Symptom, ...]:
    """Return all that a judgement of two sides shows, what decided the verdict first.

    Outputs that are equal though not bitwise are drift, and shown where they are worse than the
    rung `beyond`.
    """
    observations = [each.observation for each in evidence]
    found = [
        Symptom(judgement.verdict, each.metric, _kind(each), _detail(each))
        for each in judgement.comparisons
        if each.outcome in ("different", "expected difference")
    ]
    found.sort(key=lambda each: not each.kind.startswith("different"))
    failed = tuple((each.side, _raised(each)) for each in observations if each.failure is not None)
    if failed:
        kind = "; ".join(_failure(each) for each in observations)
        said = "; ".join(
            f"{each.side}: {each.failure.message.strip()}" for each in observations if each.failure
        )
        found.append(Symptom(judgement.verdict, FAILURE, kind, said, failed))
    found += [
        Symptom(judgement.verdict, OUTPUTS, "drift", each.detail)
        for each in judgement.comparisons
        if each.metric == OUTPUTS
        and each.outcome == "equal"
        and RUNGS.index(worst_rung(each.leaves)) > RUNGS.index(beyond)
    ]
    return tuple(found)


def fails_alike(evidence: Sequence[Evidence]) -> str:
    """Return how a program fails on both sides, if it fails alike there; else ""."""
    observations = [each.observation for each in evidence]
    said = {_failure(each).removeprefix(f"{each.side}: ") for each in observations}
    failures = [each.failure for each in observations]
    if len(said) > 1 or failures[0] is None:
        return ""
    return f"{failures[0].type} in {failures[0].stage}: {failures[0].message.strip()}"


def tolerances_of(symptom: Symptom, dtypes: Iterable[str]) -> dict[str, float]:
    """Return how far outputs of these dtypes must differ to show a symptom; nothing for bits.

    A tolerance is relative, and absolute as `tolerance_ladder` scales it. Keys are equal or not.
    """
    if symptom.metric != OUTPUTS or symptom.kind == "drift":
        return {}
    return tolerances(dtypes)


def tolerances(dtypes: Iterable[str]) -> dict[str, float]:
    """Return how far outputs of these dtypes may differ; random keys must be equal.

    Example::

        tolerances(["key<fry>"]) == {"key<fry>": 0.0}
    """
    return {
        each: 0.0 if each.startswith("key<") else tolerance_ladder.tolerance(dtype_named(each))
        for each in sorted(set(dtypes))
    }


def _kind(comparison: Comparison) -> str:
    left, right = comparison.left_value, comparison.right_value
    if comparison.metric == OUTPUTS:
        lost = any(leaf.is_lost for leaf in comparison.leaves)
        return f"{comparison.outcome}: {'one is not finite' if lost else 'beyond tolerance'}"
    if comparison.metric in _SAYS_ALL or {left, right} <= {"holds", "fails", "not measured"}:
        return f"{comparison.outcome}: {left} against {right}"
    if left.isdecimal() and right.isdecimal():
        larger = comparison.left if int(left) > int(right) else comparison.right
        return f"{comparison.outcome}: larger on {larger}"
    return comparison.outcome


def _detail(comparison: Comparison) -> str:
    if comparison.metric == OUTPUTS:
        return comparison.detail
    values = f"{comparison.left_value} against {comparison.right_value}"
    return f"{values} ({comparison.detail})" if comparison.detail else values


def _failure(observation: Observation) -> str:
    failure = observation.failure
    if failure is None:
        return f"{observation.side}: works"
    return (
        f"{observation.side}: {failure.kind} in {failure.stage}: {failure.type}: "
        f"{_wording(failure.message)}"
    )


def _raised(observation: Observation) -> str:
    failure = observation.failure
    assert failure is not None
    return failure.type.rpartition(".")[2] if failure.kind == "exception" else ""


def _wording(message: str) -> str:
    """Return the first sentence of a message without the numbers and names of its program."""
    first = next(iter(message.strip().splitlines()), "").partition(". ")[0]
    without = re.sub(r"'[^']*'|\"[^\"]*\"|`[^`]*`|\[[^\]]*\]|\([^)]*\)", "…", first)
    return re.sub(r"\S*\d\S*", "#", without)[:160]
