"""How the times of programs that declare sizes grow with them, in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from reports.rows.campaign import Campaign
from reports.rows.comparison import Growth, TimeMetric
from reports.rows.row import Side

_STAGES: tuple[TimeMetric, ...] = ("trace", "lower", "compile", "call")
_GROWS = 0.5  # the least exponent at which stages before the call are told
_POWERS = ("hardly", "with n", "with n squared", "with n cubed")
_NEAR, _WITHIN = 0.15, 0.5  # of a whole power: the exponent, and its interval


def lines(campaigns: Sequence[tuple[str, Campaign]]) -> Iterator[str]:
    """Say how the times of each program grow on each side, in each of some labelled campaigns.

    Example::

        [*lines([("0.11.0", before), ("0.11.1", after)])] == [
            "loop: jax-legacy: call grows from n=2,000 to n=8,000 with n (n^1.02, 0.98 to 1.05) on "
            "0.11.0; with n squared (n^2.01, 1.97 to 2.04) on 0.11.1"
        ]
    """
    found: dict[tuple[str, Side, TimeMetric, tuple[int, int]], list[tuple[str, Growth]]] = {}
    unknown: dict[str, None] = {}
    for label, campaign in campaigns:
        for each in campaign.growth:
            if each.metric in _STAGES:
                of_stage = found.setdefault((each.program, each.side, each.metric, each.sizes), [])
                of_stage.append((label, each))
        sized = (row.size for row in campaign.programs if row.size and not row.time_samples)
        unknown |= dict.fromkeys(name for name, _ in sized)
    for (program, side, metric, (small, large)), of_stage in found.items():
        if metric == "call" or any((each.low or 0) > _GROWS for _, each in of_stage):
            told = "; ".join(
                f"{in_words(each)}{f' on {label}' if label else ''}" for label, each in of_stage
            )
            yield f"{program}: {side}: {metric} grows from n={small:,} to n={large:,} {told}"
    for program in unknown:
        yield f"{program}: how its times grow is not known: that takes two sizes and --rounds 5"


def in_words(growth: Growth) -> str:
    """Say with which power of its size a time grows, or that the samples do not decide it.

    Example::

        in_words(growth) == "with n squared (n^2.01, 1.97 to 2.04)"
    """
    exponent, low, high = growth.exponent, growth.low, growth.high
    if low is None or high is None:
        return f"in a way that is not known ({growth.samples} samples of each size)"
    figures = f"n^{exponent:.2f}, {low:.2f} to {high:.2f}"
    if not growth.is_known:
        return f"in a way that its samples do not decide ({figures})"
    whole = round(exponent)
    is_whole = 0 <= whole < len(_POWERS) and abs(exponent - whole) <= _NEAR
    if is_whole and whole - _WITHIN <= low and high <= whole + _WITHIN:
        return f"{_POWERS[whole]} ({figures})"
    return f"with n^{exponent:.1f} ({figures})"
