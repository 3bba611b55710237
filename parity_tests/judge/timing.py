"""Judge times: samples of several processes to one of five verdicts for each program and pair.

Times differ for reasons that have nothing to do with the sides, so one slower sample never makes a
verdict:

1. The margin of a metric comes from comparing every side with itself, its odd samples with its even
   ones: 95 of 100 such comparisons stay within the margin. It is at least `SMALLEST_MARGIN`.
2. The ratio of medians gets a bootstrap interval, and the two samples a Mann-Whitney test, whose
   p-values are corrected over the programs after Benjamini and Hochberg.
3. "slower" and "faster" need three things: a p-value below `ALPHA`, a ratio beyond the margin and
   an interval without 1. An interval within the margin is "equivalent". Too few samples are "not
   measured", and all other cases "inconclusive".

SciPy takes longer to import than all else in the parent, and most campaigns judge no times, so the
functions that use it import it.

Source: the comparison of the statistics of asv, pyperf and criterion.rs; `scipy.stats`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from parity_tests.judge.sides import Sides
from reports.rows import (
    Growth,
    ProgramRow,
    Side,
    TimeComparison,
    TimeMetric,
    TimeSamples,
    TimeVerdict,
)

ALPHA = 0.05
CONFIDENCE = 0.95
FEWEST_SAMPLES = 8  # of a side; below 7 the exact Mann-Whitney test cannot reach 0.002 at all
RESAMPLES = 999
SMALLEST_MARGIN = 0.05  # a ratio of 1.05

SamplesByProgram = Mapping[str, Sequence[TimeSamples]]


def judge_times(
    left: SamplesByProgram, right: SamplesByProgram, pairs: Sequence[Sides]
) -> dict[str, tuple[TimeComparison, ...]]:
    """Compare the times of programs on pairs of sides; the ratio is the right side's to the left's.

    `left` and `right` have the samples of each program by its name, in the order of the runs. A
    campaign passes its samples twice, a comparison of two campaigns passes both. If `left` lacks
    the left side of a pair, `right` may have it, and the other way around, unless both are one.

    Example::

        judge_times(samples, samples, [("jax-legacy", "jax-simplified")])["step"][0].verdict
    """
    margins = calibrate(left)
    for metric, margin in calibrate(right).items():
        margins[metric] = max(margin, margins.get(metric, 0))
    found: dict[str, list[TimeComparison]] = {name: [] for name in left if name in right}
    for metric, margin in margins.items():
        for pair in pairs:
            ratios = {
                name: Ratio(*both)
                for name in found
                if (both := _both(left[name], right[name], metric, pair))
            }
            comparisons = _corrected(list(ratios.values()), metric, pair, margin)
            for name, comparison in zip(ratios, comparisons, strict=True):
                found[name].append(comparison)
    return {name: tuple(comparisons) for name, comparisons in found.items()}


def calibrate(measured: SamplesByProgram) -> dict[TimeMetric, float]:
    """Return the margin of each metric: how far a side is from itself, as a ratio less 1."""
    spreads: dict[TimeMetric, list[float]] = {}
    for samples in (each for program in measured.values() for each in program):
        odd, even = samples.seconds[::2], samples.seconds[1::2]
        spread = spreads.setdefault(samples.metric, [])
        if len(odd) + len(even) >= FEWEST_SAMPLES:
            spread.append(abs(math.log(np.median(odd) / np.median(even))))
    return {
        metric: max(SMALLEST_MARGIN, math.expm1(np.quantile(spread, CONFIDENCE)) if spread else 0)
        for metric, spread in spreads.items()
    }


def growth_of(rows: Iterable[ProgramRow]) -> tuple[Growth, ...]:
    """Return how the times of programs with sizes grow from the last size but one to the last.

    Both sizes of a pair of samples ran in one process, so what slows a process is not in it.

    Example::

        growth_of(campaign.programs)[0].exponent
    """
    found: dict[tuple[str, Side, TimeMetric], dict[int, np.ndarray]] = {}
    for row in rows:
        for each in row.time_samples if row.size else ():
            name, n = row.size or ("", 0)
            by_size = found.setdefault((name, each.side, each.metric), {})
            by_size[n] = np.array(each.seconds)
    growths = []
    for (name, side, metric), by_size in found.items():
        small, large = [0, *sorted(by_size)][-2:]
        if not small or len(by_size[small]) != len(by_size[large]):
            continue
        ratio = PairedRatio(by_size[small], by_size[large])
        power, low, high = (
            math.log(each) / math.log(large / small)
            for each in (ratio.ratio, ratio.low, ratio.high)
        )
        growths.append(
            Growth(
                program=name,
                side=side,
                metric=metric,
                sizes=(small, large),
                exponent=power,
                low=None if math.isnan(low) else low,
                high=None if math.isnan(high) else high,
                samples=len(by_size[small]),
            )
        )
    return tuple(growths)


def _both(
    left: Sequence[TimeSamples], right: Sequence[TimeSamples], metric: TimeMetric, pair: Sides
) -> tuple[np.ndarray, np.ndarray] | None:
    of_left, of_right = (
        {each.side: np.array(each.seconds) for each in samples if each.metric == metric}
        for samples in (left, right)
    )
    if pair[0] == pair[1]:  # one measurement twice is no comparison
        a, b = of_left.get(pair[0]), of_right.get(pair[1])
    else:
        a = of_left.get(pair[0], of_right.get(pair[0]))
        b = of_right.get(pair[1], of_left.get(pair[1]))
    return None if a is None or b is None else (a, b)


class Ratio:
    """The ratio of the medians of two samples, its interval, and the p-value of a difference.

    The ratio is the right one's to the left one's. `low`, `high` and `p_value` are NaN where either
    has fewer than `FEWEST_SAMPLES`.

    Example::

        Ratio(np.full(8, 2.0), np.full(8, 3.0)).ratio == 1.5
    """

    def __init__(self, left: np.ndarray, right: np.ndarray) -> None:
        self.left, self.right = left, right
        self.ratio = float(np.median(right) / np.median(left))
        self.low, self.high, self.p_value = math.nan, math.nan, math.nan
        if min(len(left), len(right)) < FEWEST_SAMPLES:
            return
        from scipy import stats

        # All values alike are no sign of a difference; SciPy 1.18 has no p-value for them.
        alike = left.min() == left.max() == right.min() == right.max()
        self.p_value = 1.0 if alike else float(stats.mannwhitneyu(left, right).pvalue)
        if left.std() == right.std() == 0:  # a clock that is too coarse; nothing to resample
            self.low = self.high = self.ratio
            return
        self.low, self.high = _interval(
            (np.log(left), np.log(right)),
            lambda a, b, axis: np.median(b, axis=axis) - np.median(a, axis=axis),
        )

    def verdict(self, p_value: float, margin: float) -> TimeVerdict:
        """Judge the ratio by a p-value that may have been corrected, and a margin less 1."""
        if math.isnan(p_value):
            return "not measured"
        if 1 / (1 + margin) <= self.low and self.high <= 1 + margin:
            return "equivalent"
        if p_value < ALPHA and self.low > 1 and self.ratio > 1 + margin:
            return "slower"
        if p_value < ALPHA and self.high < 1 and self.ratio < 1 / (1 + margin):
            return "faster"
        return "inconclusive"


class PairedRatio:
    """The ratio of two samples whose values belong together in pairs, as of one process each.

    `ratio` is the median of the ratios of pairs, the right one's to the left one's, so what slows
    both of a pair is not in it. `low` and `high` are NaN for fewer than `FEWEST_SAMPLES` pairs.
    Raises `ValueError` for samples of two lengths.

    Example::

        PairedRatio(np.arange(1.0, 9), np.arange(2.0, 18, 2)).ratio == 2
    """

    def __init__(self, left: np.ndarray, right: np.ndarray) -> None:
        if len(left) != len(right):
            raise ValueError(
                f"no pairs: {len(left)} samples on the left, {len(right)} on the right"
            )
        logs = np.log(right) - np.log(left)
        self.ratio = math.exp(np.median(logs))
        self.low, self.high = math.nan, math.nan
        if len(logs) >= FEWEST_SAMPLES:
            self.low, self.high = self.ratio, self.ratio
            if logs.std() > 0:
                self.low, self.high = _interval((logs,), np.median)


def _interval(samples: tuple[np.ndarray, ...], statistic: Callable[..., Any]) -> list[float]:
    """Return the bootstrap interval of a statistic of logarithms, as ratios."""
    from scipy import stats

    interval = stats.bootstrap(
        samples,
        statistic,
        n_resamples=RESAMPLES,
        confidence_level=CONFIDENCE,
        method="percentile",
        rng=np.random.default_rng(0),  # the same samples always get the same verdict
    ).confidence_interval
    return [math.exp(interval.low), math.exp(interval.high)]


def _corrected(
    ratios: Sequence[Ratio], metric: TimeMetric, pair: Sides, margin: float
) -> list[TimeComparison]:
    p_values = np.array([each.p_value for each in ratios])
    known = ~np.isnan(p_values)
    if known.any():
        from scipy import stats

        p_values[known] = stats.false_discovery_control(p_values[known], method="bh")
    return [
        TimeComparison(
            metric=metric,
            left=pair[0],
            right=pair[1],
            verdict=each.verdict(float(p_value), margin),
            ratio=each.ratio,
            low=None if math.isnan(each.low) else each.low,
            high=None if math.isnan(each.high) else each.high,
            p_value=None if math.isnan(p_value) else float(p_value),
            margin=margin,
            samples=(len(each.left), len(each.right)),
        )
        for each, p_value in zip(ratios, p_values, strict=True)
    ]


def one_sided(comparisons: Sequence[TimeComparison]) -> bool:
    """Say whether alarms point one way more often than chance lets them: distrust the measurement.

    It is asked of a side compared with itself, where slower and faster are equally likely.
    """
    slower = sum(each.verdict == "slower" for each in comparisons)
    alarms = slower + sum(each.verdict == "faster" for each in comparisons)
    if alarms < 6:
        return False
    from scipy import stats

    return bool(stats.binomtest(slower, alarms).pvalue < ALPHA)
