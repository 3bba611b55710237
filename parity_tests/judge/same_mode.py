"""A difference across the flip that sides of one mode show as well."""

from __future__ import annotations

from parity_tests.advice import advice
from parity_tests.evidence.tolerance_ladder import REACH
from parity_tests.judge.across_flip import AcrossFlip
from parity_tests.judge.sides import Sides, mode_of
from reports.rows import Comparison


def pair_before_flip(flip: AcrossFlip, comparison: Comparison) -> Sides | None:
    """Return two sides of the mode before the flip that differ in the same metric, and as much.

    None where there are none. Two sides of the mode after it say nothing: stock JAX alone reads its
    flag, so `simplified` differs from `jax-simplified` where a program does.

    Example::

        pair_before_flip(flip, outputs) == ("legacy", "jax-legacy")
    """
    for each in flip.findings.comparisons:
        is_alike = each.metric == comparison.metric and each.outcome == "different"
        as_much = _distance(each) * REACH >= _distance(comparison)
        if is_alike and as_much and mode_of(each.left) == mode_of(each.right) == mode_of(flip.left):
            return each.left, each.right
    return None


def what_differs_too(pair: Sides) -> str:
    """Say of two sides of one mode that they differ."""
    left, right = pair
    return f"{left} and {right} of one mode differ as much, so the flip alone is not the cause"


def what_helps(pair: Sides) -> str:
    """Return what to do where two sides of one mode differ."""
    left, right = pair
    return advice("one mode", left=left, right=right)


def _distance(comparison: Comparison) -> float:
    return max((leaf.max_abs for leaf in comparison.leaves), default=0.0)
