"""Lines of the report from samples that are written by hand."""

import pytest

from parity_tests.bench.pool import Pool, outcome
from reports.rows.bench import Sample, Target

WITHIN = Target(bound="at most", value=1.05)


def pool_of(**seconds):
    """A pool with a quantity on each contestant, one sample for each of its processes."""
    pool = Pool(1)
    for contestant, values in seconds.items():
        for value in values:
            sample = Sample(row=1, case="call", what="seconds", unit="seconds", value=value)
            pool.add(contestant.replace("_", "-"), [sample])
    return pool


def ratio(target, **seconds):
    ours, stock = (name.replace("_", "-") for name in seconds)
    return pool_of(**seconds).ratio("call", "seconds", ours, stock, target)


@pytest.mark.parametrize(
    ("bound", "value", "low", "high", "expected"),
    [
        ("at most", 1.05, 0.9, 1.05, "met"),
        ("at most", 1.05, 1.06, 1.2, "missed"),
        ("at most", 1.05, 1.0, 1.1, "inconclusive"),
        ("below", 1.0, 0.9, 0.99, "met"),
        ("below", 1.0, 1.0, 1.1, "missed"),
        ("below", 1.0, 0.9, 1.0, "inconclusive"),
        ("at least", 20, 20, 30, "met"),
        ("at least", 20, 10, 19, "missed"),
        ("at least", 20, 10, 30, "inconclusive"),
        ("exactly", 1, 1, 1, "met"),
        ("exactly", 1, 2, 2, "missed"),
        ("exactly", 1, 1, 2, "missed"),
        ("at most", 1.05, float("nan"), float("nan"), "inconclusive"),
    ],
)
def test_an_interval_is_held_against_a_target(bound, value, low, high, expected):
    assert outcome(Target(bound=bound, value=value), low, high) == expected


def test_a_figure_without_a_target_has_no_outcome():
    assert outcome(None, 1, 2) is None


def test_a_ratio_is_ours_to_the_other():
    line = ratio(WITHIN, legacy=[3.0] * 8, jax_legacy=[2.0] * 8)
    assert (line.value, line.low, line.high) == (pytest.approx(1.5),) * 3
    assert (line.outcome, line.medians) == ("missed", (3.0, 2.0))


def test_a_ratio_that_is_to_be_large_says_how_many_times_as_fast():
    target = Target(bound="at least", value=20)
    line = ratio(target, simplified=[1.0] * 8, jax_legacy=[30.0] * 8)
    assert (line.value, line.outcome) == (pytest.approx(30), "met")
    assert ratio(target, simplified=[1.0] * 8, jax_legacy=[3.0] * 8).outcome == "missed"


def test_noise_over_the_target_is_inconclusive():
    line = ratio(WITHIN, legacy=[1.0, 1.3] * 4, jax_legacy=[1.3, 1.0] * 4)
    assert line.low < 1 < 1.05 < line.high
    assert line.outcome == "inconclusive"


def test_what_slows_all_of_a_turn_is_in_no_ratio():
    speeds = [1.0, 2.0, 5.0, 1.1, 3.0, 8.0, 1.3, 4.0]
    line = ratio(WITHIN, legacy=[1.02 * speed for speed in speeds], jax_legacy=speeds)
    assert line.outcome == "met"
    assert line.value == pytest.approx(1.02)


def test_too_few_processes_have_no_interval_and_meet_nothing():
    line = ratio(WITHIN, legacy=[1.0] * 7, jax_legacy=[2.0] * 7)
    assert (line.value, line.low, line.high, line.outcome) == (0.5, None, None, "inconclusive")


@pytest.mark.parametrize(("power", "expected"), [(1.0, "met"), (2.0, "missed")])
def test_growth_is_the_exponent(power, expected):
    pool = Pool(2)
    for size in (100, 1000):
        sample = Sample(row=2, case=str(size), what="s", unit="seconds", value=size**power)
        for _ in range(8):
            pool.add("legacy", [sample])
    sizes = (("100", 100), ("1000", 1000))
    line = pool.growth(sizes, "growth", "s", "legacy", Target(bound="at most", value=1.1))
    assert line.value == pytest.approx(power)
    assert line.outcome == expected


def test_a_count_that_differs_between_processes_is_said_and_not_met():
    pool = Pool(3)
    for value in (1, 1, 2):
        sample = Sample(row=3, case="f", what="const args", unit="count", value=value)
        pool.add("simplified", [sample])
    line = pool.count("f", "const args", "simplified", Target(bound="exactly", value=1))
    assert (line.value, line.outcome) == (2, "missed")
    assert line.note == "1 to 2 over the processes"


def test_samples_of_other_rows_are_left_out():
    pool, sample = pool_of(legacy=[1.0, 3.0]), {"case": "call", "what": "seconds", "value": 9.0}
    pool.add("legacy", [Sample(row=2, unit="seconds", **sample)])
    assert list(pool.of("call", "seconds", "legacy")) == [1.0, 3.0]


def test_a_contestant_that_was_not_measured_is_an_error():
    with pytest.raises(KeyError):
        pool_of(legacy=[1.0]).ratio("call", "seconds", "legacy", "jax-legacy")


def test_cases_of_one_process_are_compared_with_each_other():
    pool = Pool(8)
    for speed in (1.0, 2.0, 5.0, 1.1, 3.0, 8.0, 1.3, 4.0):
        for case, seconds in (("off", speed), ("auto", speed * 1.01)):
            sample = Sample(row=8, case=case, what="call", unit="seconds", value=seconds)
            pool.add("simplified", [sample])
    line = pool.between(("off", "auto"), "call", "simplified", WITHIN)
    assert (line.case, line.outcome) == ("auto / off", "met")
    assert line.value == pytest.approx(1.01)
