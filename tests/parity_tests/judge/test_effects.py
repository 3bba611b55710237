"""Effects written by hand: what is a difference, what is rounding, and what is the program's."""

import numpy as np
import pytest

from parity_tests.evidence.values import keep_in_report
from parity_tests.judge import effects, later_calls
from parity_tests.judge.sides import Pair
from reports.rows import Check, Observation, OutputLeaf
from reports.rows.calls import CallResults, Effect, Effects, Growth, OtherResult


def effect(*values, kind="io_callback", ordered=False, dtype=np.float32, **changes):
    array = np.asarray(values, dtype)
    fields = {
        "kind": kind,
        "function": "log",
        "place": "model.py:3",
        "ordered": ordered,
        "types": (f"{array.dtype}[]",),
        "calls": len(values),
        "calls_of_compiled": len(values),
        "sha256": str(values),
        "sha256_of_compiled": str(values),
        "arguments": (keep_in_report(array),),
    }
    return Effect(**(fields | changes))


def found(left, right):
    return [
        (each.metric, each.outcome)
        for each in effects.findings(Effects(found=left), Effects(found=right))
    ]


ROUNDED = np.nextafter(np.float32(1), np.float32(2))


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        (effect(1, 2), effect(1, 2), []),
        (effect(1, 2), effect(1, 3), [(effects.VALUES, "different")]),
        (effect(1, 2), effect(1), [(effects.CALLS, "different")]),
        (effect(1), effect(ROUNDED), [(effects.VALUES, "expected difference")]),
        (effect(1, dtype=int), effect(2, dtype=int), [(effects.VALUES, "different")]),
        # Rounding may sort calls without an order otherwise.
        (effect(1, 2), effect(2, ROUNDED), [(effects.VALUES, "expected difference")]),
        (
            effect(1, 2, ordered=True),
            effect(2, ROUNDED, ordered=True),
            [(effects.VALUES, "different")],
        ),
        # What is kept agrees, and what is not does not.
        (
            effect(1, calls=9),
            effect(1, calls=9, sha256=""),
            [(effects.VALUES, "expected difference")],
        ),
        (
            effect(1, calls=9, dtype=int),
            effect(1, calls=9, dtype=int, sha256=""),
            [(effects.VALUES, "different")],
        ),
        # A side may have made more timed calls than the other.
        (effect(1, later=(1, 1)), effect(1, later=(1, 1, 0)), []),
        (effect(1, later=(1, 1)), effect(1, later=(1, 0)), [(effects.CALLS, "different")]),
    ],
)
def test_effects_are_compared_by_what_they_do(left, right, expected):
    assert found((left,), (right,)) == expected


def test_a_lost_effect_is_a_difference():
    assert found((effect(1),), ()) == [(effects.CALLS, "different")]


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        ((1, 2), (1, 2, 2), [(effects.PURE, "expected difference")]),
        ((1,), (), [(effects.PURE, "expected difference")]),
        ((1, 2), (1, 3), [(effects.VALUES, "different")]),
        (
            (1, 2),
            (1, 3, 3),
            [(effects.PURE, "expected difference"), (effects.VALUES, "different")],
        ),
        ((1,), (ROUNDED,), [(effects.VALUES, "expected difference")]),
    ],
)
def test_a_pure_function_may_be_called_more_often(left, right, expected):
    of_left, of_right = (effect(*values, kind="pure_callback") for values in (left, right))
    assert found((of_left,), (of_right,)) == expected


def test_the_order_of_ordered_effects_counts():
    one, two = Effects(io_order="a, b"), Effects(io_order="b, a")
    [order] = effects.findings(one, two)
    assert order.what == "ordered effects are a, b against b, a"


# -- later calls and growth ------------------------------------------------------------------------


def calls(pattern, *values):
    others = tuple(
        OtherResult(apart="in value", sha256=str(v), leaves=(keep_in_report(np.float32([v])),))
        for v in values
    )
    return CallResults(pattern=pattern, others=others)


def agreement(left, right, outputs=("same", "same")):
    observed = [
        Observation(
            program="p",
            side=side,
            calls=results,
            outputs=(OutputLeaf(path="", shape=(), dtype="f", weak_type=False, sha256=sha),),
        )
        for side, results, sha in zip(("legacy", "simplified"), (left, right), outputs, strict=True)
    ]
    return later_calls.compare("calls agree", Pair(*observed))


STEADY = calls((0, 0, 0, 0))


@pytest.mark.parametrize(
    ("left", "right", "outcome"),
    [
        (STEADY, calls((0, 0, 0, 0, 0, 0)), "equal"),
        (STEADY, calls((0, 0, 0, 1), 2), "different"),
        (STEADY, calls((0, 0, 0, 0, 1), 2), "not compared"),  # legacy was not called as often
        (calls((0, 0, 1, 1), 2), calls((0, 0, 0, 1), 2), "different"),
        (calls((0, 0, 1, 1), 2), calls((0, 0, 1, 1, 1), 2), "equal"),
        (calls((0, 0, 1), 2), calls((0, 0, 1), 3), "different"),
    ],
)
def test_sides_are_compared_call_by_call(left, right, outcome):
    assert agreement(left, right).outcome == outcome


def test_values_of_later_calls_are_compared_only_where_the_first_ones_are_equal():
    left, right = calls((0, 0, 1), 2), calls((0, 0, 1), 3)
    assert agreement(left, right, outputs=("one", "two")).outcome == "equal"


@pytest.mark.parametrize(
    ("left", "right", "outcome"),
    [
        ((0, 0), (0, 0), "equal"),
        ((1, 0), (2, 0), "equal"),
        ((0, 0), (1, 0), "different"),
        ((0, 0), (0, 2**21), "different"),
        ((0, None), (0, 2**21), "equal"),  # too few calls on the left
        (None, (1, 0), "not compared"),
    ],
)
def test_what_calls_leave_counts_where_one_side_alone_leaves_it(left, right, outcome):
    observed = [
        Observation(
            program="p",
            side=side,
            growth=grown and Growth(calls=9, arrays=grown[0], bytes=0, resident=grown[1]),
            checks=(Check(name="calls leave nothing", holds=True, statement="said"),),
        )
        for side, grown in (("legacy", left), ("simplified", right))
    ]
    assert later_calls.compare("calls leave nothing", Pair(*observed)).outcome == outcome
