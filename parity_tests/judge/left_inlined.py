"""Captured arrays that simplified should hoist, and that its module holds as constants."""

from __future__ import annotations

from collections.abc import Sequence

from reports.rows import CapturedArray, Observation
from reports.views.ledger import listed, place

LEFT_INLINED = "arrays that stay inlined"


def left_inlined(legacy: Observation, simplified: Observation) -> list[CapturedArray]:
    """Return the captured arrays above the embed threshold that are inlined on both sides.

    The ledger of simplified names those that it captured. An array that simplified did not capture
    at all, because it became a parameter of an operation, is in the ledger of legacy alone, and its
    bytes are among the constants of both. Typed PRNG keys stay inlined in stock JAX.

    Example::

        left_inlined(before, after) == []
    """
    known = {each.sha256 for each in simplified.ledger}
    constants = simplified.stablehlo.inlined if simplified.stablehlo else ()
    return [
        *(each for each in simplified.ledger if _is_inlined(each)),
        *(
            each
            for each in legacy.ledger
            if _is_inlined(each) and each.sha256 not in known and each.sha256 in constants
        ),
    ]


def named(arrays: Sequence[CapturedArray]) -> str:
    """Return the lines of arrays with their types."""
    return listed(
        [
            f"{place(each.file, each.line)} ({each.dtype}[{','.join(map(str, each.shape))}])"
            for each in arrays
        ]
    )


def _is_inlined(array: CapturedArray) -> bool:
    # An array that is told by its type alone may be another one.
    is_sure = array.sha256 != "" and not array.note
    return array.fate in ("inlined", "folded") and is_sure and not array.dtype.startswith("key<")
