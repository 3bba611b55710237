"""Judge the evidence of a program alone: comparisons and a verdict, without times and drift."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from parity_tests.evidence.records import Evidence
from parity_tests.evidence.values import Value
from parity_tests.judge.comparison import compare_pairs
from parity_tests.judge.findings import Findings
from parity_tests.judge.verdict import conclude
from reports.rows import Comparison, Observation, Verdict


@dataclass(frozen=True)
class Judgement:
    """What a program's observations come to."""

    verdict: Verdict
    reasons: tuple[str, ...]
    comparisons: tuple[Comparison, ...]


def judge(
    pairs: Sequence[tuple[Evidence, Evidence]],
    alone: Sequence[Evidence] = (),
    truth: Sequence[Value] = (),
) -> Judgement:
    """Compare pairs of sides, and say what they make of the program.

    `alone` are sides whose failures count, in a pair or not, and `truth` has the output arrays of
    the arbiter, if it has run. A pair may be one side measured twice.

    Example::

        judge([(of_legacy, of_simplified)]).verdict == "parity"
    """
    comparisons = compare_pairs(pairs, truth)
    observed = tuple(each.observation for each in (*alone, *itertools.chain(*pairs)))
    found = conclude(Findings(observed, comparisons))
    return Judgement(found.verdict, found.reasons, comparisons)


def has_floats(observation: Observation) -> bool:
    """Say whether a program has an output that an arbiter can judge."""
    kinds = ("float", "bfloat", "complex")
    return any(leaf.dtype.startswith(kinds) for leaf in observation.outputs)
