"""What a flip changes beside captured arrays, as reasons of its verdict: more work, larger modules.

The migration explains more equations in legacy alone, and constants there alone. The comparisons
say where there is more (`reports/rows/metric_rules.py`); the reasons name the operations and the
arrays.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from parity_tests.advice import advice
from parity_tests.judge.across_flip import AcrossFlip, lines_of, read_that_changes
from parity_tests.judge.comparison import LEFT_INLINED, left_inlined, named
from parity_tests.judge.proofs import part
from reports.rows import FlipReason, Observation
from reports.views.figures import humanise_bytes, humanise_count
from reports.views.texts import counted

_OF_WORK = ("working equations", "operations of a call", "working StableHLO operations")
# XLA's own count has to double, by about a tenth of a millisecond, before it is a price.
_MORE_FLOPS = 2.0
_FLOPS_PER_CALL = 1_000_000
_LISTED = 6  # operations in one sentence


def is_told_here(metric: str) -> bool:
    """Say whether a difference in a metric has its reason here, in more words."""
    return metric in _OF_WORK or metric == LEFT_INLINED


def of_work(flip: AcrossFlip, before: Observation, after: Observation) -> Iterator[FlipReason]:
    """Yield one reason where a program computes more than captured arrays explain."""
    differ = (each.metric in _OF_WORK and each.outcome == "different" for each in flip.comparisons)
    if not any(differ):
        return
    old, new = _equations(before), _equations(after)
    if old == new:  # the same equations may be lowered to more
        old, new = _operations(before), _operations(after)
    read = read_that_changes(flip) or flip.deciding_read
    estimates = tuple(each.jaxpr.operations or 0 if each.jaxpr else 0 for each in (before, after))
    # Forms that nothing was seen to make two may be two by JAX's own rules, as those of `vmap`.
    search = "one program" if part(before, after) else "reads the flag somewhere"
    is_more = (estimates[1], sum(new.values())) > (estimates[0], sum(old.values()))
    yield FlipReason(
        outcome="safe but slower or larger" if is_more else "safe",
        kind="structure or count",
        subject="operations",
        what=f"the program computes {'more' if is_more else 'less'} after the flip, which no "
        f"captured array explains: {_changed(old, new) or 'loops of other lengths'}; about "
        f"{humanise_count(estimates[0])} operations before and {humanise_count(estimates[1])} "
        "after",
        where=lines_of(read) if read else "",
        action=read[0].fix if read else advice(search),
    )


def _equations(side: Observation) -> Mapping[str, int]:
    return (side.jaxpr and side.jaxpr.working_equations) or {}


def _operations(side: Observation) -> Mapping[str, int]:
    return (side.stablehlo and side.stablehlo.working_operations) or {}


def _changed(old: Mapping[str, int], new: Mapping[str, int]) -> str:
    """Name what is there more or less often, the largest change first."""
    changes = {name: new.get(name, 0) - old.get(name, 0) for name in {**old, **new}}
    largest = sorted((name for name in changes if changes[name]), key=lambda n: -abs(changes[n]))
    listed = [f"{name} {old.get(name, 0)} before and {new.get(name, 0)} after" for name in largest]
    more = len(listed) - _LISTED
    return ", ".join([*listed[:_LISTED], *([f"and {more} others"] if more > 0 else [])])


def of_flops(flip: AcrossFlip, before: Observation, after: Observation) -> Iterator[FlipReason]:
    """Yield the reason that XLA's count of operations is where it doubles.

    Work on captured arrays alone is left to its hazard and the measured calls.
    """
    old, new = (each.executable.flops if each.executable else None for each in (before, after))
    if old is None or new is None or flip.hazard("folded by legacy alone"):
        return
    if new > _MORE_FLOPS * old and new - old > _FLOPS_PER_CALL:
        repeated = flip.hazard("hoisted more than once")
        yield FlipReason(
            outcome="safe but slower or larger",
            kind="structure or count",
            subject="operations",
            what=f"XLA counts {humanise_count(new)} floating-point operations of a call after the "
            f"flip and {humanise_count(old)} before",
            where=lines_of(repeated) if repeated else flip.largest,
            action=repeated[0].fix if repeated else advice("computes more"),
        )


def of_arrays(before: Observation, after: Observation) -> Iterator[FlipReason]:
    """Yield the reason that captured arrays are which stay inlined after the flip."""
    if arrays := left_inlined(before, after):
        size = humanise_bytes(sum(array.bytes for array in arrays))
        yield FlipReason(
            outcome="safe but slower or larger",
            kind="size",
            subject="inlined arrays",
            what=f"not hoisted and still inlined: {counted(len(arrays), 'captured array')} of "
            f"{size}, so compile time and memory stay as before the flip",
            where=named(arrays),
            action=advice("pass as argument"),
        )
