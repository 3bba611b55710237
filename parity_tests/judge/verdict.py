"""Judge: observations and their outputs to comparisons and a verdict; it runs and prints nothing.

Counters that do not depend on the machine are judged first and exactly. Where a difference is
what the migration is about (const args, StableHLO bytes), it is an "expected difference" with its
reason. Times are listed and not judged: they are few samples of one process each.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from parity_tests.evidence.records import Evidence
from parity_tests.evidence.values import Value
from parity_tests.judge.comparison import Beside, worst_rung
from parity_tests.judge.rulings import Pair, mode_of
from reports.rows import Comparison, Observation, Side, Verdict

PAIRS: tuple[tuple[Side, Side], ...] = (
    ("legacy", "jax-legacy"),
    ("simplified", "jax-simplified"),
    ("legacy", "simplified"),
    ("jax-legacy", "jax-simplified"),
)


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
    the arbiter, where it has run. A pair may be of one side, measured twice.

    "difference" where any pair differs, else "could not compare" where a side failed or there is
    no pair, else "parity". Two sides that raise alike agree, and still nothing was compared.
    """
    comparisons: list[Comparison] = []
    for left, right in pairs:
        beside = Beside(Pair(left.observation, right.observation))
        if beside.fails:
            comparisons.append(beside.failures())
            continue
        comparisons += beside.compare(left.outputs, right.outputs, truth)
        if not beside.pair.across_modes:
            comparisons.append(beside.printed_jaxprs(left.jaxpr, right.jaxpr))
    observed = [each.observation for each in (*alone, *itertools.chain(*pairs))]
    differing = [_reason(each) for each in comparisons if each.outcome == "different"]
    failed = list(dict.fromkeys(_failure_reason(each) for each in observed if each.failure))
    if differing:
        return Judgement("difference", (*differing, *failed), tuple(comparisons))
    lost = [
        each.detail
        for each in comparisons
        if each.metric in ("outputs", "printed jaxpr") and each.outcome == "not compared"
    ]
    if failed or lost or not comparisons:
        reasons = failed or lost or ["there is no pair of sides to compare"]
        return Judgement("could not compare", tuple(reasons), tuple(comparisons))
    return Judgement("parity", _rungs_stood_on(comparisons), tuple(comparisons))


def pairs_of(sides: Collection[Side]) -> list[tuple[Side, Side]]:
    """Return the pairs of sides that a campaign over `sides` compares."""
    return [pair for pair in PAIRS if set(pair) <= set(sides)]


def needs_arbiter(judgement: Judgement) -> bool:
    """Say whether outputs failed the tolerance of their dtype, for which the arbiter is asked."""
    return any(leaf.rung == "mismatch" for each in judgement.comparisons for leaf in each.leaves)


def has_floats(observation: Observation) -> bool:
    """Say whether an output of a program is one of which an arbiter can tell."""
    kinds = ("float", "bfloat", "complex")
    return any(leaf.dtype.startswith(kinds) for leaf in observation.outputs)


def _reason(comparison: Comparison) -> str:
    pair = f"{comparison.left} and {comparison.right}"
    if comparison.metric == "outputs":
        return f"{pair}: outputs differ: {comparison.detail}"
    values = f"{comparison.left_value} against {comparison.right_value}"
    return f"{pair}: {comparison.metric}: {values} ({comparison.detail})"


def _failure_reason(observation: Observation) -> str:
    failure = observation.failure
    assert failure is not None
    lines = failure.message.strip().splitlines()
    # JAX ends a first line with a colon where what matters is in the next.
    said = " ".join(lines[: 2 if lines and lines[0].endswith(":") else 1])
    what = f"{failure.type}: {said}" if said else failure.type
    return f"{observation.side}: {failure.kind} in {failure.stage}: {what}"


def _rungs_stood_on(comparisons: Sequence[Comparison]) -> tuple[str, ...]:
    """Say why outputs that are not bitwise equal count as equal, and what may have moved them."""
    return tuple(
        f"{each.left} and {each.right}: outputs are equal, though not bitwise: {each.detail}; "
        + (_TWO_MODES if mode_of(each.left) != mode_of(each.right) else _ONE_MODE)
        for each in comparisons
        if each.metric == "outputs" and worst_rung(each.leaves) != "bitwise"
    )


# Causes are named, not attributed: telling them apart takes further runs, as `drift` makes them.
_TWO_MODES = (
    "XLA was given two programs, inlined constants against const args, and may fold or fuse one "
    "where it does not the other"
)
_ONE_MODE = "the two lowerings of one mode may be fused differently"
