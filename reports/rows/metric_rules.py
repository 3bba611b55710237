"""The judge's rules, as plain values: what a difference in a metric counts as, and why.

A rule is a sequence of rulings, and the first whose conditions all hold decides. The rows only name
the conditions; `parity_tests.judge.conditions` has the code that finds out whether they hold.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from reports.rows.comparison import ComparisonOutcome

Condition = Literal[
    "left has more",
    "right has more",
    "a value is missing",
    "legacy has constvars",
    "stock keeps PRNG keys",
    "captured arrays differ in number",
    "left captures more arrays",
    "left has clearly more equations",
    "right has clearly more equations",
    "right has clearly more",
    "left has many times as much",
    "arguments of the user stand alike",
    "stock loses marks",
    "sharded arrays across modes",
    "stock inlines sharded keys",
    "committed arrays in stock simplified",
    "each array is held once at most",
    "committed arrays are held twice at most",
    "arrays of donated types are held twice at most",
]


@dataclass(frozen=True)
class Ruling:
    """What a difference counts as where all conditions of `when` hold.

    `why` may name the two values as `{left}` and `{right}`, and the number of unique captured
    arrays as `{unique_arrays}`.
    """

    outcome: ComparisonOutcome
    why: str = ""
    when: tuple[Condition, ...] = ()


# Equations that vmap and autodiff write for operands of bodies are more in legacy alone: 1,100
# generated programs had at most 0.3 % more operations in simplified, and up to 2.3 times as many in
# legacy.
CLEARLY_MORE = 1.10
FEW_OPERATIONS = 10
MANY_TIMES = 5.0

Rule = tuple[Ruling, ...]


def expected(why: str, *when: Condition) -> Ruling:
    """Rule on a difference that the migration makes on purpose, or that is known of stock JAX."""
    return Ruling("expected difference", why, when)


def different(why: str = "", *when: Condition) -> Ruling:
    """Rule on a difference that nothing explains."""
    return Ruling("different", why, when)


# What differs on purpose, across modes.
HOISTED: Rule = (expected("simplified hoists captured arrays as const args, legacy inlines them"),)
REPRESENTED: Rule = (expected("legacy binds captured arrays to constvars, simplified to Literals"),)
FOLDED: Rule = (
    expected("XLA sees inlined constants and may fold them, and sees const args as data"),
)
COMPILED_IN: Rule = (expected("legacy compiles the values of captured arrays into the executable"),)

# What must not differ, and what says nothing.
ANY_DIFFERENCE: Rule = (different(),)
SAME_COUNT: Rule = (different("one side gave two counts, and counts do not depend on the machine"),)
SAME_PROGRAM: Rule = (different("one function was traced to two different programs"),)
ARGUMENTS: Rule = (different("the modules take or donate other arguments of the user"),)
CALLBACKS: Rule = (different("an effect was lost or repeated"),)
OTHER_WORDS: Rule = (
    Ruling("not judged", "two lowerings may write one computation in different words"),
)
VARYING: Rule = (
    Ruling("not judged", "XLA does not serialize one program to the same bytes twice"),
)
WITH_PLACES: Rule = (
    Ruling("not judged", "the bytes name the lines, ours too, that the program was traced from"),
)
WHERE_IT_LIES: Rule = (
    Ruling("not judged", "a NumPy array is used where it lies, or copied, as its address happens"),
)
ONE_SAMPLE: Rule = (Ruling("not judged", "one process and few samples"),)

# Known differences of legacy and simplified, and of stock JAX and the engine.
_OPERANDS = (
    "captured arrays are operands of bodies in legacy alone, and vmap and autodiff write "
    "equations for operands"
)
EQUATIONS: Rule = (expected(_OPERANDS, "legacy has constvars"), *SAME_PROGRAM)
_MORE_WORK = "simplified computes more, which no captured array explains"
EQUATIONS_AT_WORK: Rule = (
    different(_MORE_WORK, "right has clearly more equations"),
    *EQUATIONS,
)
OPERATIONS: Rule = (
    different(_MORE_WORK, "right has clearly more"),
    different(
        "legacy computes many times as much, which operands of bodies do not explain",
        "left has many times as much",
    ),
    *EQUATIONS,
)
_DROPPED_BODIES = (
    "legacy keeps the constvars of bodies that were traced and dropped, and a Literal goes with "
    "its equation"
)
LOWERED_WORK: Rule = (
    different("ours computes more than stock JAX", "left has clearly more equations"),
    *OTHER_WORDS,
)
LOWERED_WORK_ACROSS: Rule = (
    different(_MORE_WORK, "right has clearly more equations"),
    *OTHER_WORDS,
)
CAPTURED: Rule = (expected(_DROPPED_BODIES, "left has more"), *SAME_PROGRAM)
VALUES: Rule = (
    different(
        "one function was traced to two different programs", "captured arrays differ in number"
    ),
    different("the captured arrays do not hold the same bits"),
)
VALUES_ACROSS: Rule = (expected(_DROPPED_BODIES, "left captures more arrays"), *VALUES)
CONSTVARS: Rule = (
    expected(
        "stock JAX keeps typed PRNG keys as constvars", "stock keeps PRNG keys", "right has more"
    ),
    *SAME_PROGRAM,
)
LITERALS: Rule = (
    expected(
        "typed PRNG keys are Literals of ours, constvars of stock's",
        "stock keeps PRNG keys",
        "left has more",
    ),
    *SAME_PROGRAM,
)
CONST_ARGS: Rule = (
    expected("stock passes {right} for {unique_arrays}", "right has more"),
    expected("ours passes typed PRNG keys, stock inlines them", "stock keeps PRNG keys"),
    different("ours passes more const args than stock JAX"),
)
INLINED: Rule = (
    expected("stock JAX inlines an array once per function, or a PRNG key", "right has more"),
    different("ours inlines more than stock JAX in the same mode"),
)
_OTHER_ORDER = different("tokens, const args and arguments stand in another order")
_CONST_ARGS_ALONE = "one side passes const args where the other does not"
ORDER: Rule = (
    expected(_CONST_ARGS_ALONE, "stock keeps PRNG keys", "arguments of the user stand alike"),
    _OTHER_ORDER,
)
ORDER_ACROSS: Rule = (
    expected(_CONST_ARGS_ALONE, "arguments of the user stand alike"),
    _OTHER_ORDER,
)
MARKS: Rule = (
    expected("stock JAX does not mark all const args of inner functions", "stock loses marks"),
    different("const args of inner functions are not marked as main's are"),
)
_SHARDED_KEYS = expected(
    "ours keeps the shardings of typed PRNG keys, stock inlines them", "stock inlines sharded keys"
)
DEVICES: Rule = (_SHARDED_KEYS, *SAME_PROGRAM)
PLACEMENT: Rule = (
    Ruling("not compared", "not measured", ("a value is missing",)),
    expected(
        "simplified keeps the shardings of arrays, legacy inlines", "sharded arrays across modes"
    ),
    _SHARDED_KEYS,
    expected(
        "captured arrays decide placement in stock simplified alone",
        "committed arrays in stock simplified",
    ),
    different(),
)
BUFFERS: Rule = (
    expected("stock JAX takes an array to the device more than once", "right has more"),
    expected(
        "stock JAX takes some arrays to the device at every call", "each array is held once at most"
    ),
    expected(
        "ours keeps what it moved to the device of the arguments",
        "committed arrays are held twice at most",
    ),
    expected(
        "ours keeps a copy of a captured array that could be passed as a donated argument",
        "arrays of donated types are held twice at most",
    ),
    different("ours holds more of the captured arrays on the device than stock JAX"),
)
RECOMPILES: Rule = (
    expected("stock JAX inlines typed PRNG keys, and so their values", "right has more"),
    different("ours compiles for other values, and stock JAX does not"),
)
