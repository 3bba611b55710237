"""A reason that many programs share is told once."""

from parity_tests.cli.reasons_once import told_once
from reports.rows import FlipReason, FlipVerdict

PAIRS = (
    "legacy and jax-legacy",
    "simplified and jax-simplified",
    "legacy and simplified",
    "jax-legacy and jax-simplified",
)


def flip(*what):
    reasons = tuple(FlipReason(outcome="different", kind="outputs", what=each) for each in what)
    return FlipVerdict(
        left="jax-legacy", right="jax-simplified", outcome="different", reasons=reasons
    )


def outputs(pair, figure):
    return f"{pair}: outputs differ: mismatch at [3]: max rel {figure}, max abs 1, 7 ULP"


def test_one_finding_of_four_pairs_is_told_once_with_the_figures_that_differ():
    reasons = [outputs(pair, figure) for pair, figure in zip(PAIRS, "2325", strict=True)]
    assert list(told_once(reasons, None)) == [
        f"{reasons[0]}; likewise {PAIRS[1]} (max rel 3), {PAIRS[2]}, {PAIRS[3]} (max rel 5)"
    ]


def test_what_the_flip_verdict_said_is_not_said_again():
    reasons = [outputs(pair, "2") for pair in PAIRS]
    said = flip("outputs are not bitwise equal: mismatch at [3]: max rel 2, max abs 1, 7 ULP")
    assert list(told_once(reasons, said)) == [f"outputs differ: likewise {', '.join(PAIRS[:3])}"]
    assert list(told_once(reasons[3:], said)) == []


def test_what_does_not_repeat_itself_is_said_once():
    what = "jax-legacy does not repeat itself: in a second run the traced program is another"
    reason = FlipReason(
        outcome="not repeatable", kind="outputs", what=what, where="m.py:7", action="seed it"
    )
    said = flip().model_copy(update={"reasons": (reason,)})
    assert list(told_once([f"{what} (m.py:7): seed it"], said)) == []


def test_two_findings_stay_two():
    reasons = [
        outputs(PAIRS[0], "2"),
        f"{PAIRS[0]}: output dtypes: float32 against bfloat16 (at)",
    ]
    assert list(told_once(reasons, None)) == reasons
    said = flip("output shapes: [3] against [2] (at the only output)")
    assert list(told_once(reasons, said)) == reasons


def test_a_failure_of_all_sides_is_told_once():
    sides = ("legacy", "simplified", "jax-legacy", "jax-simplified")
    reasons = [f"{side}: exception in trace: LookupError: no table" for side in sides]
    said = flip("jax-legacy fails today, alike: exception in trace: LookupError: no table")
    assert list(told_once(reasons, said)) == ["exception in trace: likewise legacy, simplified"]
    assert list(told_once(reasons, None)) == [
        f"{reasons[0]}; likewise simplified, jax-legacy, jax-simplified"
    ]


def test_failures_that_name_an_object_are_one_whatever_its_address():
    sides = ("legacy", "simplified", "jax-legacy", "jax-simplified")
    reasons = [
        f"{side}: exception in trace: OSError: no <A at 0x7f3a1{n}> of 14072319871{n}00 (m.py:3)"
        for n, side in enumerate(sides)
    ]
    for in_full in (False, True):
        assert list(told_once(reasons, None, in_full=in_full)) == [
            f"{reasons[0]}; likewise simplified, jax-legacy, jax-simplified"
        ]
    said = flip(
        "jax-legacy fails today, alike: exception in trace: OSError: no <A at 0x7fb2c8> of "
        "14072319871900"
    )
    assert list(told_once(reasons, said)) == ["exception in trace: likewise legacy, simplified"]


def test_a_call_as_written_that_the_flip_verdict_tells_is_not_told_again():
    differs = "call 2 gives other values at the only output: 1 of 2 elements"
    reasons = [f"{PAIRS[3]}: calls as written: {differs}"]
    assert list(told_once(reasons, flip(f"as it is written, {differs}"))) == []
    assert list(told_once(reasons, flip("outputs are different"))) == reasons


def test_printed_jaxprs_are_printed_for_the_first_pair_unless_all_is_asked_for():
    reasons = [f"{pair}: printed jaxpr: 1 line against 1 line ({pair})" for pair in PAIRS[:2]]
    assert list(told_once(reasons, None)) == [f"{reasons[0]}; likewise {PAIRS[1]}"]
    assert list(told_once(reasons, None, in_full=True)) == reasons


def test_a_reason_that_names_no_sides_is_left_as_it_is():
    reasons = ["there is no arbiter: it raised", "the run stopped after f"]
    assert list(told_once(reasons, None)) == reasons
