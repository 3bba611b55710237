"""Which captured arrays two sides do not share, in words: their digests tell a reader nothing."""

from __future__ import annotations

from collections import Counter

from parity_tests.judge.sides import Pair
from reports.rows import CapturedArray, Observation
from reports.views.ledger import listed, place
from reports.views.texts import counted

CAPTURED_VALUES = "captured values"


def told_apart(pair: Pair) -> tuple[str, str]:
    """Return, for each side, the arrays whose values the other one does not have.

    Example::

        told_apart(pair)[0] == "float32[3] at model.py:12"
    """
    return _alone(pair.left, pair.right), _alone(pair.right, pair.left)


def _alone(of: Observation, other: Observation) -> str:
    left = Counter(map(_content, other.ledger))
    arrays = []
    for array in of.ledger:
        if left[_content(array)] > 0:
            left[_content(array)] -= 1
        else:
            arrays.append(array)
    if arrays:
        return listed([_in_words(each) for each in arrays])
    # Large arrays have no digests of their own, and arrays that are alike may be captured twice.
    captured = of.jaxpr.captured_arrays if of.jaxpr else len(of.ledger)
    return counted(captured, "captured array")


def _content(array: CapturedArray) -> tuple[object, ...]:
    return array.shape, array.dtype, array.sha256


def _in_words(array: CapturedArray) -> str:
    type_ = f"{array.dtype}[{','.join(map(str, array.shape))}]"
    return f"{type_} at {place(array.file, array.line)}" if array.file else type_
