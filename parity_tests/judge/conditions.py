"""The conditions in `reports.rows.metric_rules`, and the one function that applies a rule."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from parity_tests.judge.sides import Pair
from reports.rows.metric_rules import (
    CLEARLY_MORE,
    FEW_OPERATIONS,
    MANY_TIMES,
    Condition,
    Rule,
    Ruling,
)
from reports.views.texts import counted

# A condition is asked of a pair of observations, and of the two values that differ.
Holds = Callable[[Pair, Any, Any], bool]


def ruling_on(rule: Rule, pair: Pair, left: Any, right: Any) -> Ruling:
    """Return the first ruling of a rule whose conditions hold, its reason filled in.

    `left` and `right` are the two values, which differ. Raises `LookupError` where no ruling
    applies: a rule has to end with one that always does.

    Example::

        ruling_on(rules.SAME_PROGRAM, pair, 3, 4).outcome == "different"
    """
    for ruling in rule:
        if all(CONDITIONS[each](pair, left, right) for each in ruling.when):
            proof = pair.right.proof
            unique = counted(proof.unique_captured if proof else 0, "unique array")
            why = ruling.why.format(left=left, right=right, unique_arrays=unique)
            return Ruling(ruling.outcome, why, ruling.when)
    raise LookupError("no ruling of the rule applies")


def _stock_keeps_keys(pair: Pair, left: object, right: object) -> bool:
    """Say whether stock JAX kept typed PRNG keys as constvars, which its proof allows it alone."""
    proof = pair.right.proof
    return pair.right.side == "jax-simplified" and proof is not None and proof.constvars > 0


def _legacy_has_constvars(pair: Pair, left: object, right: object) -> bool:
    return pair.left.proof is not None and pair.left.proof.constvars > 0


def _captured_counts(pair: Pair) -> tuple[int, int]:
    if pair.left.jaxpr and pair.right.jaxpr:
        return pair.left.jaxpr.captured_arrays, pair.right.jaxpr.captured_arrays
    return 0, 0


def _captured_counts_differ(pair: Pair, left: object, right: object) -> bool:
    of_left, of_right = _captured_counts(pair)
    return of_left != of_right


def _left_captures_more(pair: Pair, left: object, right: object) -> bool:
    of_left, of_right = _captured_counts(pair)
    return of_left > of_right


def _arguments_stand_alike(pair: Pair, left: str, right: str) -> bool:
    of_left, of_right = (
        [kind for kind in each.split(", ") if kind not in ("", "const")] for each in (left, right)
    )
    return of_left == of_right


def _stock_loses_marks(pair: Pair, left: int, right: int) -> bool:
    return pair.left.side == "jax-legacy" or (not left and pair.right.side == "jax-simplified")


def _sharded_across_modes(pair: Pair, left: object, right: object) -> bool:
    jaxprs = [each.jaxpr for each in (pair.left, pair.right) if each.jaxpr]
    return pair.across_modes and any(each.sharded_arrays for each in jaxprs)


def _stock_inlines_sharded_keys(pair: Pair, left: object, right: object) -> bool:
    """Say whether stock simplified inlines PRNG keys of a mesh, which ours hoists as they lie."""
    is_sharded = bool(pair.left.jaxpr and pair.left.jaxpr.sharded_arrays)
    keys = [each for each in pair.left.ledger if each.dtype.startswith("key<")]
    of_mesh = any(" over " in each.sharding for each in keys)
    return is_sharded and of_mesh and _stock_keeps_keys(pair, left, right)


def _committed_in_stock_simplified(pair: Pair, left: object, right: object) -> bool:
    jaxprs = [each.jaxpr for each in (pair.left, pair.right) if each.jaxpr]
    return pair.right.side == "jax-simplified" and any(each.committed_arrays for each in jaxprs)


def _bytes_once(pair: Pair) -> int:
    """Return the bytes of all captured arrays, each once on every device of the executable.

    An array at or below the embed threshold is none of the captured bytes. It may be one that the
    program computed while it was traced, and then it is on the device all the same.
    """
    jaxpr, executable = pair.left.jaxpr, pair.left.executable
    if jaxpr is None:
        return 0
    embedded = sum(array.bytes for array in pair.left.ledger if array.fate == "embedded")
    return (jaxpr.captured_bytes + embedded) * (executable.devices if executable else 1)


def _committed_held_twice(pair: Pair, left: int, right: int) -> bool:
    jaxpr = pair.left.jaxpr
    return bool(jaxpr and jaxpr.committed_arrays) and left <= 2 * _bytes_once(pair)


def _clearly_more(count: int, other: int) -> bool:
    return count > CLEARLY_MORE * other and count - other > 1


def _many_times(pair: Pair, left: int, right: int) -> bool:
    """Say whether the left side computes many times as much, and `vmap` does not explain it.

    In legacy it repeats captured arrays, which are operands of a branch there, for each element.
    """
    jaxprs = (pair.left.jaxpr, pair.right.jaxpr)
    of_left, of_right = (each.captured_repeated or 0 if each else 0 for each in jaxprs)
    return left > MANY_TIMES * right and of_left <= of_right


def _donated_held_twice(pair: Pair, left: int, right: int) -> bool:
    jaxpr = pair.left.jaxpr
    return bool(jaxpr and jaxpr.donated_types) and left <= 2 * _bytes_once(pair)


CONDITIONS: dict[Condition, Holds] = {
    "left has more": lambda pair, left, right: left > right,
    "right has more": lambda pair, left, right: left < right,
    "a value is missing": lambda pair, left, right: left is None or right is None,
    "legacy has constvars": _legacy_has_constvars,
    "stock keeps PRNG keys": _stock_keeps_keys,
    "captured arrays differ in number": _captured_counts_differ,
    "left captures more arrays": _left_captures_more,
    "left has clearly more equations": lambda pair, left, right: _clearly_more(left, right),
    "right has clearly more equations": lambda pair, left, right: _clearly_more(right, left),
    "right has clearly more": lambda pair, left, right: (
        right > CLEARLY_MORE * left and right - left > FEW_OPERATIONS
    ),
    "left has many times as much": _many_times,
    "arguments of the user stand alike": _arguments_stand_alike,
    "stock loses marks": _stock_loses_marks,
    "sharded arrays across modes": _sharded_across_modes,
    "stock inlines sharded keys": _stock_inlines_sharded_keys,
    "committed arrays in stock simplified": _committed_in_stock_simplified,
    "each array is held once at most": lambda pair, left, right: left <= _bytes_once(pair),
    "committed arrays are held twice at most": _committed_held_twice,
    "arrays of donated types are held twice at most": _donated_held_twice,
}
