"""How large the price of a flip is: the order of reasons and programs that come to one answer.

Slower calls come first, by their ratio: they are paid as long as the program is used. Then comes
memory by its bytes, then a stage that a process takes once by its seconds, then any other price.
Drift that is explained comes last.
"""

from __future__ import annotations

from reports.rows.flip import FlipReason, FlipVerdict

Price = tuple[int, float]

_NO_PRICE: Price = (0, 0.0)
_DRIFT, _OTHER, _ONCE, _MEMORY, _CALLS = range(1, 6)
# Work that each call adds, where no call was measured.
_WORK = ("operations", "folded by legacy alone")


def price_of(reason: FlipReason) -> Price:
    """Return what a reason costs; the larger of two is the larger price.

    Example::

        price_of(slower_call) > price_of(more_memory) > price_of(drift)
    """
    if reason.outcome == "numerics drift, explained":
        return _DRIFT, 0.0
    if reason.outcome != "safe but slower or larger":
        return _NO_PRICE
    if reason.kind == "time" and reason.subject in ("call", "dispatch"):
        return _CALLS, reason.ratio or 0.0
    if reason.subject in _WORK:
        return _CALLS, 0.0
    if reason.kind == "size":
        return _MEMORY, reason.more or 0.0
    if reason.kind == "time":
        return _ONCE, reason.more or 0.0
    return _OTHER, 0.0


def largest_price(flip: FlipVerdict | None) -> Price:
    """Return the price of the reason that costs most.

    Example::

        sorted(rows, key=lambda row: largest_price(row.flip))
    """
    return max(map(price_of, flip.reasons), default=_NO_PRICE) if flip else _NO_PRICE
