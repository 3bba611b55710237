"""The judge of times on samples whose truth is known, because they were drawn from it."""

import math

import built_grids
import numpy as np
import pytest
from built_campaigns import timed

from parity_tests.judge.timing import (
    SMALLEST_MARGIN,
    PairedRatio,
    Ratio,
    calibrate,
    growth_of,
    judge_times,
    one_sided,
)
from reports.rows import TimeSamples

PAIR = ("jax-legacy", "jax-simplified")


def samples(rng, factor=1.0, *, noise=0.1, n=10, side="jax-legacy", base=0.01):
    """Times as machines make them: log-normal, and now and then something much slower."""
    seconds = base * factor * np.exp(noise * rng.standard_normal(n))
    seconds[rng.random(n) < 0.05] *= 3
    return TimeSamples(side=side, metric="compile", seconds=tuple(seconds.tolist()))


def programs(factors, *, seed=0, **options):
    rng = np.random.default_rng(seed)
    return {
        f"p{number}": (
            samples(rng, **options),
            samples(rng, factor, side="jax-simplified", **options),
        )
        for number, factor in enumerate(factors)
    }


def verdicts(measured):
    return [
        row.verdict for rows in judge_times(measured, measured, [PAIR]).values() for row in rows
    ]


def test_a_side_against_itself_raises_at_most_one_alarm_in_a_hundred():
    for noise in (0.01, 0.05, 0.2):
        found = verdicts(programs([1.0] * 200, noise=noise))
        alarms = found.count("slower") + found.count("faster")
        assert alarms <= 2


def test_what_is_twice_as_slow_is_slower_and_what_is_half_is_faster():
    found = verdicts(programs([2.0] * 20 + [0.5] * 20 + [1.0] * 60, noise=0.05))
    assert found[:20].count("slower") >= 17  # three of ten samples may be outliers by chance
    assert found[20:40].count("faster") >= 17
    assert "faster" not in found[:20]
    assert "slower" not in found[20:40]
    assert not {"slower", "faster"} & set(found[40:])


def test_quiet_times_are_equivalent_and_loud_ones_inconclusive():
    quiet = verdicts(programs([1.0] * 50, noise=0.005))
    assert quiet.count("equivalent") >= 40
    loud = verdicts(programs([1.1] * 10, noise=0.5))
    assert set(loud) == {"inconclusive", "equivalent"} or set(loud) == {"inconclusive"}


def test_too_few_samples_are_not_measured():
    measured = programs([2.0], n=7)
    [row] = judge_times(measured, measured, [PAIR])["p0"]
    assert row.verdict == "not measured"
    assert (row.low, row.p_value, row.samples) == (None, None, (7, 7))
    assert judge_times(measured, measured, [("legacy", "simplified")]) == {"p0": ()}


def test_a_side_that_one_run_alone_has_timed_is_not_compared_with_its_own_times():
    timed = programs([1.0])
    nothing = dict.fromkeys(timed, ())
    side = ("jax-legacy", "jax-legacy")
    assert set(judge_times(timed, nothing, [side]).values()) == {()}
    assert set(judge_times(nothing, timed, [side]).values()) == {()}


def test_a_noisy_machine_widens_the_margin():
    assert calibrate(programs([1.0] * 30, noise=0.001))["compile"] == SMALLEST_MARGIN
    assert calibrate(programs([1.0] * 30, noise=0.5))["compile"] > 0.3


def test_a_difference_within_the_margin_is_no_alarm():
    """The interval excludes 1 and the test is sure; 2 percent are still not worth a word."""
    measured = programs([1.02], noise=0.0005)
    [row] = judge_times(measured, measured, [PAIR])["p0"]
    assert row.low > 1
    assert row.verdict == "equivalent"


def test_equal_samples_get_equal_verdicts():
    measured = programs([1.3] * 5)
    assert judge_times(measured, measured, [PAIR]) == judge_times(measured, measured, [PAIR])


def test_a_clock_that_is_too_coarse_is_no_error():
    flat = TimeSamples(side="jax-legacy", metric="call", seconds=(1e-6,) * 10)
    measured = {"p": (flat, flat.model_copy(update={"side": PAIR[1]}))}
    [row] = judge_times(measured, measured, [PAIR])["p"]
    assert row.verdict == "equivalent"


@pytest.mark.parametrize(
    ("slower", "faster", "alarm"), [(10, 0, True), (0, 10, True), (6, 5, False), (2, 0, False)]
)
def test_alarms_that_all_point_one_way_are_distrusted(slower, faster, alarm):
    rows = [timed("slower")] * slower + [timed("faster")] * faster
    assert one_sided(rows) is alarm


def test_what_slows_both_of_a_pair_is_not_in_their_ratio():
    speeds, noise = np.geomspace(1, 30, 12), np.tile([0.99, 1.01], 6)
    paired = PairedRatio(speeds, speeds * 1.2 * noise)
    assert 1.18 < paired.low <= paired.ratio <= paired.high < 1.22
    apart = Ratio(speeds, speeds[::-1] * 1.2)
    assert apart.high / apart.low > 2


@pytest.mark.parametrize("pairs", [1, 7, 8])
def test_an_interval_of_pairs_needs_as_many_as_that_of_samples(pairs):
    paired = PairedRatio(np.arange(1.0, pairs + 1), np.arange(1.0, pairs + 1) * 3)
    assert paired.ratio == pytest.approx(3)
    assert math.isnan(paired.low) == math.isnan(paired.high) == (pairs < 8)


# -- growth ----------------------------------------------------------------------------------------


def sized(power, *, noise=0.05, sizes=(500, 2000, 8000), n=10, drift=0.0, seed=0):
    """Programs of some sizes whose times grow with a power; `drift` slows whole processes."""
    rng = np.random.default_rng(seed)
    of_process = np.exp(drift * rng.standard_normal(n))
    return [
        built_grids.program(f"loop.n{size}").model_copy(
            update={
                "tags": (f"n={size}",),
                "time_samples": (samples_of_process(rng, size**power, noise, of_process),),
            }
        )
        for size in sizes
    ]


def samples_of_process(rng, seconds, noise, of_process):
    times = 1e-9 * seconds * of_process * np.exp(noise * rng.standard_normal(len(of_process)))
    return TimeSamples(side="jax-legacy", metric="call", seconds=tuple(times.tolist()))


@pytest.mark.parametrize("power", [0.0, 1.0, 1.5, 2.0])
def test_the_power_is_found_with_its_interval(power):
    for seed in range(20):
        [found] = growth_of(sized(power, seed=seed))
        assert (found.program, found.sizes, found.samples) == ("loop", (2000, 8000), 10)
        assert found.is_known
        assert found.exponent == pytest.approx(power, abs=0.1)
        assert found.low <= found.exponent <= found.high


def test_what_slows_a_whole_process_is_not_in_the_power():
    [found] = growth_of(sized(2.0, noise=0.01, drift=2.0))
    assert found.high - found.low < 0.1


def test_noise_decides_no_power():
    found = [growth_of(sized(2.0, noise=3.0, seed=seed))[0] for seed in range(20)]
    assert not any(each.is_known for each in found)


def test_few_samples_and_pairs_that_do_not_match_decide_no_power():
    [found] = growth_of(sized(2.0, n=4))
    assert (found.low, found.high, found.is_known) == (None, None, False)
    small, large = sized(2.0, sizes=(10, 40))
    [samples] = large.time_samples
    fewer = samples.model_copy(update={"seconds": samples.seconds[1:]})
    assert growth_of([small, large.model_copy(update={"time_samples": (fewer,)})]) == ()
    assert growth_of([small]) == ()
    unsized = [each.model_copy(update={"tags": ()}) for each in (small, large)]
    assert growth_of(unsized) == ()
