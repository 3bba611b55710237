"""What a program gains by a flip: the same limits as those of its costs, the other way round."""

from __future__ import annotations

from collections.abc import Iterator

from parity_tests.judge import beyond_doubt
from parity_tests.judge.across_flip import AcrossFlip
from reports.rows import FlipReason, Observation, TimeMetric, metrics
from reports.rows.metric_records import Metric
from reports.views.figures import humanise_bytes, humanise_ratio, humanise_seconds


def gains(flip: AcrossFlip, before: Observation, after: Observation) -> Iterator[FlipReason]:
    """Yield what is faster or smaller after the flip, as `safe` reasons.

    Example::

        [each.what for each in gains(flip, before, after)] == ["compile 60.0 s to 670 ms"]
    """
    for time in flip.times:
        if time.verdict == "faster":
            said = f"{time.metric} takes {humanise_ratio(time.ratio)} as long"
            yield _gain(time.metric, said, time.ratio, None)
    if before.times and after.times and all(t.verdict == "not measured" for t in flip.times):
        for stage in beyond_doubt.slower_stages(after.times, before.times):
            old, new = (getattr(each, stage) for each in (before.times, after.times))
            yield _faster(stage, old, new)
    for metric in metrics.METRICS:
        yield from _smaller(metric, before, after)


def _faster(stage: TimeMetric, old: float, new: float) -> FlipReason:
    said = f"{stage} {humanise_seconds(old)} to {humanise_seconds(new)}"
    return _gain(stage, said, new / old, new - old)


def _smaller(metric: Metric, before: Observation, after: Observation) -> Iterator[FlipReason]:
    limit = metric.larger
    if limit is None or not (limit.only_where(before) and limit.only_where(after)):
        return
    old, new = metric.read(before), metric.read(after)
    if old is not None and new is not None and limit.is_exceeded(new, old):
        said = f"{limit.what} {humanise_bytes(old)} to {humanise_bytes(new)}"
        yield _gain(metric.name, said, new / old, new - old)


def _gain(subject: str, what: str, ratio: float, more: float | None) -> FlipReason:
    return FlipReason(
        outcome="safe", kind="gain", subject=subject, what=what, ratio=ratio, more=more
    )
