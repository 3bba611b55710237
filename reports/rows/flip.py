"""The rows of a flip of the default: why outputs drift, what a user gets, and its price."""

from __future__ import annotations

from typing import Literal, get_args

from reports.rows.claims import Claim
from reports.rows.row import Row, Side

# "another program": an equation has other constants or types on the two sides.
DriftCause = Literal[
    "constant folding", "layout or fusion", "another program", "a bug", "not attributed"
]


class DriftAttribution(Row):
    """Why the outputs of two sides are not bitwise equal, found by running both sides again.

    `equation` is the first whose result differs when every result is an output of the program, and
    `file` and `line` are the user's line that made it; "" where there is none, or none was found.
    """

    left: Side
    right: Side
    cause: DriftCause
    evidence: str
    equation: str = ""  # the primitive, and the number of the equation: "dot_general, equation 3"
    file: str = ""
    line: int = 0
    unrepeated: bool = False  # a side gave other bits when it ran again, so nothing was attributed
    unrepeated_side: Side | None = None  # that side
    out_of_time: bool = False  # the cause was not found in time
    # The side whose outputs double precision contradicts, it alone; and not for a rounding.
    wrong: Side | None = None


FlipOutcome = Literal[
    "safe",
    "numerics drift, explained",
    "safe but slower or larger",
    "placed otherwise",  # equal values and types, on other devices, sharded otherwise or committed
    "not repeatable",
    "could not compare",
    "different",
]
FLIP_OUTCOMES: tuple[FlipOutcome, ...] = get_args(FlipOutcome)  # from the best to the worst


class TooLate(Row):
    """What a module sets at import, too late for JAX, which had started; and what helps."""

    what: str
    action: str


# What a reason rests on: the rules of `--fail-on` go by it.
ReasonKind = Literal[
    "failure",
    "outputs",
    "placement",
    "structure or count",
    "time",
    "size",
    "hazard",
    "proof",
    "note",
    "gain",
]


class FlipReason(Row):
    """One thing that was seen across the flip; alone it would come to `outcome`."""

    outcome: FlipOutcome
    what: str
    kind: ReasonKind
    ratio: float | None = None  # of a time or a size, after the flip to before it
    more: float | None = None  # seconds or bytes that the flip adds
    subject: str = ""  # the kind of a hazard, the metric of a time or a size
    where: str = ""  # the lines that the captured arrays are first used on, "model.py:12"
    action: str = ""  # the smallest that helps; "" where nothing needs to be done


class FlipVerdict(Row):
    """What a flip of the default comes to for one program, the worst reason and price first.

    "safe" says that no measured metric is worse. The reasons name parts that were not measured, or
    may differ in another run. `claims` say whether both forms are one computation.
    """

    left: Side
    right: Side
    outcome: FlipOutcome
    reasons: tuple[FlipReason, ...]
    claims: tuple[Claim, ...] = ()  # empty in reports older than this field, too


# -- the price ------------------------------------------------------------------------------------

# Slower calls come first, by their ratio: they are paid as long as the program is used. Then comes
# memory by its bytes, then a stage that a process takes once by its seconds, then any other price.
# Drift that is explained comes last.
Price = tuple[int, float]

_NO_PRICE: Price = (0, 0.0)
_DRIFT, _OTHER, _ONCE, _MEMORY, _CALLS = range(1, 6)


def price_of(reason: FlipReason) -> Price:
    """Return what a reason costs; the larger of two is the larger price."""
    if reason.outcome == "numerics drift, explained":
        return _DRIFT, 0.0
    if reason.outcome != "safe but slower or larger":
        return _NO_PRICE
    if reason.kind == "time" and reason.subject in ("call", "dispatch"):
        return _CALLS, reason.ratio or 0.0
    if reason.kind == "hazard" or reason.subject == "operations":
        # Work that each call adds, where no call was measured.
        return _CALLS, 0.0
    if reason.kind == "size":
        return _MEMORY, reason.more or 0.0
    if reason.kind == "time":
        return _ONCE, reason.more or 0.0
    return _OTHER, 0.0


def largest_price(flip: FlipVerdict | None) -> Price:
    """Return the price of the reason that costs most."""
    return max(map(price_of, flip.reasons), default=_NO_PRICE) if flip else _NO_PRICE
