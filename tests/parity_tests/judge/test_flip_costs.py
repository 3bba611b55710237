"""The costs of a flip as reasons: what one process of each side tells, and what it leaves open."""

import pytest

from parity_tests.judge.findings import Findings
from parity_tests.judge.flip_verdict import decide
from parity_tests.judge.sides import FLIPS
from reports.rows import Comparison, Hazard, Observation, StageTimes

BEFORE, AFTER = FLIPS[0]
NOT_JUDGED = "times were not judged"
SMALL, LARGE = (8.7e-6,) * 20, (3856e-6,) * 20


def observed(side, calls=SMALL, compiling=0.1):
    times = StageTimes(
        trace=0.1, lower=0.1, compile=compiling, first_call=0.1, call=calls[0],
        call_samples=len(calls), call_seconds=calls,
    )  # fmt: skip
    return Observation(program="p", side=side, times=times)


def folding(operations):
    return Hazard(
        kind="folded by legacy alone", file="model.py", line=7, array="4 MiB of results",
        what="3 equations on captured arrays alone", fix="compute them before",
        operations=operations, gist="`cumsum` and 2 more",
    )  # fmt: skip


def reasons(before, after, again=(), hazards=()):
    equal = Comparison(
        metric="StableHLO bytes", left=BEFORE, right=AFTER, outcome="equal", left_value="1",
        right_value="1",
    )  # fmt: skip
    findings = Findings((before, after), (equal,), measured_again=again, hazards=hazards)
    return decide(findings, (), FLIPS).reasons


def test_a_call_that_is_slower_beyond_doubt_needs_no_rounds():
    pair = observed(BEFORE), observed(AFTER, LARGE)
    [reason] = reasons(*pair, again=pair)
    assert reason.outcome == "safe but slower or larger"
    once = "3.86 ms after 8.70 µs (443x to 443x, 20 calls each)"
    assert reason.what == f"each call takes 443x as long; {once}; measured again {once}"
    assert (reason.ratio, reason.more) == pytest.approx((443.2, 3847.3e-6), rel=1e-3)
    [reason] = reasons(*pair, again=pair * 2)
    assert reason.what.endswith(f"; measured again {once} and {once}")


def test_its_hazard_says_why_and_what_helps():
    pair = observed(BEFORE), observed(AFTER, LARGE)
    reason = reasons(*pair, again=pair, hazards=[folding(None)])[0]
    assert reason.what.startswith(
        "each call takes 443x as long: XLA no longer folds `cumsum` and 2 more; 3.86 ms after"
    )
    assert (reason.where, reason.action) == ("model.py:7 (4 MiB of results)", "compute them before")


@pytest.mark.parametrize("again", [(), (observed(BEFORE), observed(AFTER))])
def test_a_process_that_is_slow_as_a_whole_is_no_cost(again):
    [reason] = reasons(observed(BEFORE), observed(AFTER, LARGE), again=again)
    assert reason.outcome == "safe"
    assert reason.what == f"{NOT_JUDGED}: each call seemed to take 443x as long"


# Other work on the machine takes a quarter of the time: five calls wait for ten milliseconds.
BUSY = (SMALL[0],) * 15 + (10e-3,) * 5, (LARGE[0],) * 15 + (14e-3,) * 5


def test_a_busy_machine_hides_no_price_that_exceeds_the_limits_threefold_in_every_process():
    pair = observed(BEFORE, BUSY[0]), observed(AFTER, BUSY[1])
    [reason] = reasons(*pair, again=pair * 2)
    assert reason.outcome == "safe but slower or larger"
    once = "3.86 ms after 8.70 µs (0.39x to 1,609x, 20 calls each)"
    again = f"measured again {once} and {once}"
    assert reason.what == f"each call takes 443x as long; {once}; {again}"


def test_what_is_not_judged_says_how_much_slower_calls_seemed():
    pair = observed(BEFORE, BUSY[0]), observed(AFTER, BUSY[1])
    for again in ((), (observed(BEFORE), observed(AFTER))):
        [reason] = reasons(*pair, again=again)
        assert reason.outcome == "safe"
        assert reason.what == f"{NOT_JUDGED}: each call seemed to take 443x as long"


def test_a_program_that_compiles_for_long_is_judged_by_one_process_of_each_side():
    long = observed(BEFORE, compiling=29.0)
    [price, gain] = reasons(long, observed(AFTER, LARGE))
    assert price.what == (
        "each call takes 443x as long; 3.86 ms after 8.70 µs (443x to 443x, 20 calls each); "
        "measured once, because a run takes 29.2 s to compile"
    )
    assert (gain.kind, gain.what) == ("gain", "compile 29.0 s to 100 ms")


def test_rounds_are_offered_where_the_calls_leave_it_open():
    few = (0.1,) * 3
    for calls in (few, tuple(3856e-6 * each for each in range(1, 21))):
        [reason] = reasons(observed(BEFORE, LARGE), observed(AFTER, calls))
        assert reason.outcome == "safe"
        assert reason.what.startswith(NOT_JUDGED)
        assert "--rounds" in reason.action
    assert reasons(observed(BEFORE, LARGE), observed(AFTER, LARGE)) == ()


def test_a_call_that_is_faster_is_said_and_safe():
    [reason] = reasons(observed(BEFORE, LARGE), observed(AFTER, SMALL))
    assert (reason.outcome, reason.kind, reason.action) == ("safe", "gain", "")
    assert reason.what == "call 3.86 ms to 8.70 µs"


def test_a_compilation_of_one_sample_is_slower_where_both_processes_say_so():
    pair = observed(BEFORE), observed(AFTER, compiling=1.0)
    [reason] = reasons(*pair, again=pair)
    assert reason.outcome == "safe but slower or larger"
    once = "1.00 s after 100 ms"
    assert reason.what == f"compiling takes 10.0x as long; {once}; measured again {once}"
    assert reasons(*pair) == ()


def test_a_compilation_that_is_faster_is_a_gain():
    [reason] = reasons(observed(BEFORE, compiling=60.0), observed(AFTER, compiling=0.67))
    assert (reason.kind, reason.what) == ("gain", "compile 60.0 s to 670 ms")
    assert reasons(observed(BEFORE, compiling=0.6), observed(AFTER, compiling=0.2)) == ()


BARE = Observation(program="p", side=BEFORE), Observation(program="p", side=AFTER)
FEW = observed(BEFORE, (0.1,) * 3), observed(AFTER, (0.1,) * 3)
ALIKE = observed(BEFORE, LARGE), observed(AFTER, LARGE)


@pytest.mark.parametrize(
    ("pair", "operations", "is_price"),
    [
        (BARE, 2e7, True),
        (BARE, 2e6, False),
        (BARE, None, False),
        (FEW, 2e7, True),
        (ALIKE, 2e7, False),  # XLA did not fold it
    ],
)
def test_work_that_is_folded_is_a_price_unless_the_calls_say_otherwise(pair, operations, is_price):
    [found] = [
        each
        for each in reasons(*pair, hazards=[folding(operations)])
        if each.what.startswith("folded by legacy alone")
    ]
    assert found.outcome == ("safe but slower or larger" if is_price else "safe")
