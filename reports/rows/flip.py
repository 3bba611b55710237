"""The rows of a flip of the default: why outputs drift, what a user gets, its price, and hazards.

A kind of hazard has a name in `HazardKind`, and traits in `TRAITS` by which the flip verdict goes.
docs/use/how_to.md has what else a new kind needs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from reports.rows.claims import Claim
from reports.rows.row import Row, Side

# "another program": an equation has other constants or types on the two sides.
DriftCause = Literal[
    "constant folding", "layout or fusion", "another program", "a bug", "not attributed"
]


class DriftAttribution(Row):
    """Why the outputs of two sides are not bitwise equal, found by running both sides again.

    `equation` is the first whose result differs when every result is an output of the program, of
    those that the worst output depends on. `file` and `line` are the user's line that made it; ""
    where there is none, or none was found.
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
    "agrees here, not proved",  # the two forms part, or one has no rule: other arguments may differ
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


# -- hazards: what may change for a program --------------------------------------------------------

HazardKind = Literal[
    "writeable NumPy array",
    "captured and donated",
    "incompatible devices",
    "implicit transfer",
    "placement of outputs",
    "hoisted more than once",
    "folded by legacy alone",
    "reads jaxpr constants",
    "reads the flag",
    "reads lowered modules",
    "hands on the environment",
]


@dataclass(frozen=True)
class Traits:
    """What the rules of the flip verdict have to know of a kind of hazard."""

    reads: str = ""  # what its code reads; "" where it is about captured arrays
    only_costs: bool = False  # it breaks no program
    # The failures after the flip that are laid to it.
    explains: Literal["", "forbidden transfers", "other failures"] = ""


TRAITS: Mapping[HazardKind, Traits] = {
    "writeable NumPy array": Traits(),
    "captured and donated": Traits(explains="other failures"),
    "incompatible devices": Traits(explains="other failures"),
    "implicit transfer": Traits(explains="forbidden transfers"),
    "placement of outputs": Traits(),
    "hoisted more than once": Traits(only_costs=True),
    "folded by legacy alone": Traits(only_costs=True),
    "reads jaxpr constants": Traits(reads="a jaxpr"),
    "reads the flag": Traits(reads="the flag"),
    "reads lowered modules": Traits(reads="a lowered module"),
    "hands on the environment": Traits(reads="the environment"),
}
READS: tuple[HazardKind, ...] = tuple(kind for kind, each in TRAITS.items() if each.reads)


class Hazard(Row):
    """Something that may change for a program when JAX's default flips, and the smallest fix."""

    kind: HazardKind
    # The line that the captured array is first used on, or that reads; "" where it is not known.
    file: str
    line: int
    array: str  # its type in words; of a read, the name of what is read
    what: str
    fix: str
    # Of a read: the traced program is another one because of it, or cannot be traced.
    changes_program: bool = False
    commits_outputs: bool = False  # of a placement: all outputs, whatever the program computes
    operations: float | None = None  # scalar operations that each call adds, estimated
    gist: str = ""  # of work: "`cumsum` and 5 more"; "" in reports older than this field
    code: str = ""  # the text of the line; "" where it is not known
