"""Times of one process: the chance that a rule errs is counted out, and A/A stays silent."""

import itertools

import numpy as np
import pytest

from parity_tests.judge import beyond_doubt
from parity_tests.judge.beyond_doubt import is_beyond_doubt
from reports.rows import Failure, HostMemory, Observation, StageTimes


def times(*calls, **stages):
    known = {"trace": 0.01, "lower": 0.01, "compile": 0.1, "first_call": 0.1, "call": None}
    return StageTimes(**known | stages, call_samples=len(calls), call_seconds=calls)


@pytest.mark.parametrize("sizes", [(3, 3), (5, 2), (4, 5)])
@pytest.mark.parametrize("skipped", [(0, 0), (1, 0), (1, 1)])
def test_the_chance_that_samples_stand_apart_is_counted_over_all_orders(sizes, skipped):
    n, m = sizes
    orders = list(itertools.combinations(range(n + m), n))
    apart = 0
    for left in orders:
        right = [each for each in range(n + m) if each not in left]
        apart += right[skipped[1]] > left[-1 - skipped[0]]
    assert beyond_doubt.chance_apart(sizes, skipped) == pytest.approx(apart / len(orders))


@pytest.mark.parametrize(
    ("before", "after", "known"),
    [(20, 20, True), (20, 3, True), (7, 7, True), (6, 6, False), (3, 3, False), (0, 20, False)],
)
def test_few_calls_have_no_interval(before, after, known):
    found = beyond_doubt.calls(times(*[1.0] * before), times(*[1.0] * after))
    assert (found is not None) is known


def test_one_call_in_ten_may_wait_for_the_machine():
    before, after = [1.0] * 18 + [99.0] * 2, [3.0] * 18 + [0.1] * 2
    found = beyond_doubt.calls(times(*before), times(*after))
    assert (found.ratio, found.low, found.samples) == (3.0, 3.0, (20, 20))
    assert found.is_slower
    before[0] = 99.0
    assert not beyond_doubt.calls(times(*before), times(*after)).is_slower


@pytest.mark.parametrize(
    ("before", "after", "slower", "faster", "is_open"),
    [
        ((8.7e-6,), (3856e-6,), True, False, False),
        ((3856e-6,), (8.7e-6,), False, True, False),
        ((10e-6,), (60e-6,), False, False, False),  # a thread that wakes up
        ((1.0,), (1.9,), False, False, False),
        ((1.0,), (1.7, 2.3), False, False, True),
        ((1.0, 1.3), (2.2,), False, False, True),
    ],
)
def test_slower_is_more_than_twice_and_a_tenth_of_a_millisecond(
    before, after, slower, faster, is_open
):
    found = beyond_doubt.calls(times(*before * 20), times(*after * 20))
    assert (found.is_slower, found.is_faster, found.is_open) == (slower, faster, is_open)


@pytest.mark.parametrize(("before", "after", "slower"), [(1.0, 4.0, True), (0.1, 0.55, False)])
@pytest.mark.parametrize("stage", ["trace", "lower", "compile"])
def test_a_stage_that_is_taken_once_is_slower_by_a_factor_and_half_a_second(
    stage, before, after, slower
):
    found = beyond_doubt.slower_stages(times(**{stage: before}), times(**{stage: after}))
    assert found == ((stage,) if slower else ())
    assert not beyond_doubt.slower_stages(times(**{stage: after}), times(**{stage: before}))


@pytest.mark.parametrize(
    ("compiling", "slower"),
    [
        ([(0.1, 1.0), (0.1, 0.9), (0.12, 1.1)], ("compile",)),
        # Other work slows the processes after the flip twice, or one of those before it.
        ([(0.1, 1.0), (0.1, 0.9), (0.1, 0.2)], ()),
        ([(0.1, 1.0), (0.1, 0.9), (0.5, 1.1)], ()),
    ],
)
def test_a_stage_is_slower_where_each_process_is_slower_than_each_before_the_flip(
    compiling, slower
):
    pairs = [(times(compile=old), times(compile=new)) for old, new in compiling]
    assert beyond_doubt.slower_in_all(pairs) == slower


@pytest.mark.parametrize(
    ("before", "after", "settled"),
    [
        ({"compile": 11.0}, {"calls": 7.0}, True),
        ({"compile": 9.0}, {"calls": 7.0}, False),  # it does not take long to measure it again
        ({"compile": 11.0, "processor": 9.0}, {"calls": 7.0}, False),
        ({"compile": 11.0}, {"calls": 5.0}, False),  # by more than the limit, not threefold
        ({"compile": 11.0}, {"calls": 7.0, "lower": 1.0}, False),
        ({"compile": 1.0}, {"compile": 11.0}, True),
    ],
)
def test_what_takes_long_is_measured_once_where_its_price_exceeds_the_limits_threefold(
    before, after, settled
):
    def of(calls=1.0, **stages):
        return times(*[calls] * 20, **stages)

    assert beyond_doubt.is_settled(of(**before), of(**after)) is settled


@pytest.mark.parametrize(("processor", "is_busy"), [(2.0, False), (1.2, True), (None, False)])
def test_a_busy_machine_is_said(processor, is_busy):
    found = beyond_doubt.waiting([times(trace=1.0, lower=0.5, compile=0.5, processor=processor)])
    said = "tracing, lowering and compiling took 2.0 s of the clock and 1.2 s of its processors"
    assert (said in found) is is_busy
    assert is_busy or not found


def test_a_moment_says_nothing_of_a_machine():
    assert not beyond_doubt.waiting([times(trace=0.1, compile=0.1, processor=0.01)])


@pytest.mark.parametrize(
    ("before", "after", "far"),
    [
        ((1.0, 1.0, 99.0), (7.0, 7.0, 7.0), True),
        ((1.0, 1.0, 1.0), (5.0, 7.0, 5.0), False),
        ((1e-5, 1e-5, 1e-5), (3e-4, 3e-4, 3e-4), False),  # a third of a millisecond or less
        ((1.0, 1.0), (7.0, 7.0), False),  # too few for a median
    ],
)
def test_calls_that_seem_slower_by_far_are_measured_again(before, after, far):
    assert beyond_doubt.may_be_slower(times(*before), times(*after)) is far


def test_medians_confirm_nothing_in_one_process_of_each_side():
    busy = times(*[1e-3] * 20), times(*[1e-3] * 9, *[1e-2] * 11)
    assert beyond_doubt.slower_in_all([busy]) == ()
    assert beyond_doubt.slower_in_all([busy, busy]) == ("call",)


def test_a_side_measured_twice_is_never_slower():
    """Calls as a busy machine has them: skewed, with pauses, and 30 % apart as a whole."""
    random = np.random.default_rng(0)
    for _ in range(2000):
        sides = [
            times(*(random.lognormal(0, 0.3, 20) * random.uniform(1, 1.3)
                    * np.where(random.random(20) < 0.05, 30, 1)).tolist())
            for _ in range(2)
        ]  # fmt: skip
        assert not beyond_doubt.may_be_slower(*sides)


BEFORE = Observation(
    program="p",
    side="jax-legacy",
    times=StageTimes(trace=1, lower=1, compile=2, first_call=1, call=None, call_samples=0),
    host_memory=HostMemory(trace_and_lower=50, compile=70, fresh=True),
)


@pytest.mark.parametrize(
    ("kind", "limit", "expected"),
    [
        ("timeout", 51.0, True),
        ("timeout", 49.0, False),
        ("memory", 701.0, True),
        ("memory", 699.0, False),
        ("timeout", None, False),  # a report that is older than the field
        ("crash", 1e9, False),
    ],
)
def test_ten_times_is_far(kind, limit, expected):
    failure = Failure(kind=kind, stage="trace", type="a type", message="", limit=limit)
    assert is_beyond_doubt(failure, BEFORE) == expected
    assert not is_beyond_doubt(failure, Observation(program="p", side="jax-legacy"))
