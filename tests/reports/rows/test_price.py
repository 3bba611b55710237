"""The largest price comes first: calls, then memory, then one-off stages, then drift."""

import pytest

from reports.rows import DriftAttribution, FlipReason, FlipVerdict, ProgramRow, worst_first
from reports.rows.flip import price_of
from reports.rows.headline import headline

COSTS, DRIFTS = "safe but slower or larger", "numerics drift, explained"


def reason(kind, subject="", ratio=None, more=None, outcome=COSTS):
    return FlipReason(
        outcome=outcome, kind=kind, subject=subject, ratio=ratio, more=more,
        what=f"{subject} is so", where="model.py:7", action="do this",
    )  # fmt: skip


# From the largest price to the smallest.
REASONS = (
    reason("time", "call", 407.0, 0.03),
    reason("time", "dispatch", 3.0, 9.0),
    reason("hazard", "folded by legacy alone"),
    reason("size", "temporary bytes", None, 2e6),
    reason("size", "StableHLO bytes", 99.0, 1e6),
    reason("time", "compile", 5.0, 20.0),
    reason("time", "trace", 50.0, 2.0),
    reason("structure or count", "recompiles"),
    reason("outputs", outcome=DRIFTS),
    reason("hazard", "hoisted more than once", outcome="safe"),
)


def program(name, first, verdict="parity"):
    flip = FlipVerdict(
        left="jax-legacy", right="jax-simplified", outcome=first.outcome, reasons=(first,)
    )
    return ProgramRow(
        name=name, source=f"{name}.py:1", summary="", verdict=verdict, reasons=(), observations=(),
        comparisons=(), flip=flip,
    )  # fmt: skip


def test_calls_cost_most_and_drift_least():
    assert sorted(reversed(REASONS), key=price_of, reverse=True) == list(REASONS)


def test_programs_of_one_answer_are_sorted_by_their_price():
    rows = [program(str(number), each) for number, each in enumerate(REASONS)]
    broken = program("broken", reason("failure", outcome="different"))
    assert worst_first([*reversed(rows), broken]) == [broken, *rows]


def test_the_first_line_says_what_costs_most_and_then_what_to_do():
    rows = [program("drifts", REASONS[-2]), program("slow", REASONS[0])]
    assert headline(rows).question == (
        "flip: yes, at a price. It costs 2 of 2 programs something (slow, drifts). "
        "First: slow: model.py:7: call is so → do this"
    )


def test_results_that_drift_cost_nothing_and_a_cause_is_known_where_one_was_looked_for():
    row = program("drifts", REASONS[-2])
    cause = DriftAttribution(
        left="jax-legacy", right="jax-simplified", cause="constant folding", evidence="folded"
    )
    for drift, why in (
        ((), "within their rounding"),
        ((cause,), "and why is known"),
        ((cause.model_copy(update={"out_of_time": True}),), "within their rounding"),
    ):
        drifts = row.model_copy(update={"drift": drift})
        assert headline([drifts]).question.startswith(
            f"flip: yes, at a price. Results drift in 1 of 1 programs, {why} (drifts). "
        )


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("fails: ValueError: no\nmore", "fails: ValueError: no"),
        ("differs: max rel 1; 3 of 4", "differs: max rel 1"),
        ("x" * 171, "x" * 169 + "…"),
    ],
)
def test_of_a_long_reason_the_first_line_has_the_first_statement(what, said):
    row = program("p", REASONS[0].model_copy(update={"what": what, "where": ""}))
    assert headline([row]).first == f"p: {said} → do this"
