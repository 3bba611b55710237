"""Flip: what is known of a program to one verdict on what a flip of the default means for it.

It reads rows and measures nothing. Each rule turns one thing that was seen into a reason with the
smallest action that helps, and the worst reason is the verdict. The judge's verdict answers another
question: there a hoisted array, or an output that stock JAX places elsewhere, is an *expected*
difference, and whoever flips the default has to live with it all the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from parity_tests.judge.comparison import OUTPUT_TYPES, worst_rung
from reports.rows import (
    FLIP_OUTCOMES,
    CapturedArray,
    Comparison,
    DriftAttribution,
    DriftCause,
    FlipOutcome,
    FlipReason,
    FlipVerdict,
    Hazard,
    HazardKind,
    Observation,
    ProgramRow,
    Side,
    TimeComparison,
)
from reports.rows.check_names import DISPATCH, RECOMPILES
from reports.views.figures import humanise_bytes, humanise_ratio
from reports.views.ledger import grouped, listed, place
from reports.views.texts import counted

# What people flip is stock JAX; our own two sides stand for it where it was not run.
FLIPS: tuple[tuple[Side, Side], ...] = (
    ("jax-legacy", "jax-simplified"),
    ("legacy", "simplified"),
)
# More than both of these is "larger". Peaks of host memory are no counters: they vary.
LARGER_SHARE = 0.10
LARGER_BYTES = 2**20
LARGER_PEAK_BYTES = 2**26

_PLACEMENT = ("output shardings", "output committed")
# What XLA does to one of two programs that compute the same, and what gives the same bits.
_OF_XLA: dict[DriftCause, str] = {
    "constant folding": "nothing; or for the same bits compute what is folded before tracing, or "
    "keep the array inlined (constant_policy)",
    "layout or fusion": "nothing; or for the same bits keep the array inlined (constant_policy)",
}
_SLOWER = (RECOMPILES, DISPATCH)


def decide(row: ProgramRow, pairs: Sequence[tuple[Side, Side]]) -> FlipVerdict | None:
    """Return the flip verdict of a program, of which `pairs` of sides were to be compared.

    None where none of them is across the flip, as in a comparison of a side with itself.

        decide(row, [("jax-legacy", "jax-simplified")]).outcome
    """
    pair = next((each for each in FLIPS if each in pairs), None)
    if pair is None:
        return None
    seen = tuple(_Flip(row, *pair).reasons())
    reasons = tuple(sorted(seen, key=lambda each: -FLIP_OUTCOMES.index(each.outcome)))
    outcome: FlipOutcome = reasons[0].outcome if reasons else "safe"
    return FlipVerdict(left=pair[0], right=pair[1], outcome=outcome, reasons=reasons)


@dataclass(frozen=True)
class _Flip:
    row: ProgramRow
    left: Side
    right: Side

    def reasons(self) -> Iterator[FlipReason]:
        compared = [e for e in self.row.comparisons if (e.left, e.right) == (self.left, self.right)]
        before, after = self._observation(self.left), self._observation(self.right)
        if not compared or before is None or after is None:
            yield FlipReason(outcome="could not compare", what="; ".join(self.row.reasons))
        elif before.failure or after.failure:
            yield self._failure(before, after)
        else:
            # Outputs of other types are not compared, and that they are of other types says it.
            typed = any(e.metric in OUTPUT_TYPES and e.outcome == "different" for e in compared)
            for comparison in compared:
                if not (typed and comparison.metric == "outputs"):
                    yield from self._of(comparison)
            pair = (self.left, self.right)
            times = [each for each in self.row.times if (each.left, each.right) == pair]
            for time in times:
                yield from self._of_times(time)
            for name, size in _COUNTERS.items():
                yield from self._of_sizes(name, size(before), size(after), LARGER_BYTES)
            for name, size in _PEAKS.items():
                yield from self._of_sizes(name, size(before), size(after), LARGER_PEAK_BYTES)
            if all(time.verdict == "not measured" for time in times):
                yield FlipReason(
                    outcome="safe",
                    what="times were not judged",
                    action="constparity run --rounds 5 judges them",
                )
        for group in grouped(self.row.hazards):
            yield _of_hazard(group)

    def _observation(self, side: Side) -> Observation | None:
        return next((each for each in self.row.observations if each.side == side), None)

    def _failure(self, before: Observation, after: Observation) -> FlipReason:
        failure = after.failure or before.failure
        assert failure is not None
        said = next(iter(failure.message.strip().splitlines()), "")
        what = f"{failure.kind} in {failure.stage}: {failure.type}: {said}"
        if before.failure is not None:
            alike = "alike" if after.failure else f"and {self.right} works"
            return FlipReason(
                outcome="could not compare",
                what=f"{self.left} fails today, {alike}: {what}",
                action="make the program run before the flip, then compare again",
            )
        # A limit is the campaign's, and tells nothing of what the program would have returned.
        broken = failure.kind in ("exception", "crash")
        cause = self._hazard("captured and donated", "incompatible devices") if broken else None
        return FlipReason(
            outcome="different" if broken else "could not compare",
            what=f"works on {self.left} and fails on {self.right}: {what}",
            where=_where(cause) if cause else "",
            action=(
                cause[0].fix
                if cause
                else self._culprit()
                if broken
                else "raise --timeout or --memory-limit, or find out why the side is not there"
            ),
        )

    def _of(self, comparison: Comparison) -> Iterator[FlipReason]:
        outcome, metric = comparison.outcome, comparison.metric
        values = f"{comparison.left_value} against {comparison.right_value}"
        what = f"{metric}: {values}" + (f" ({comparison.detail})" if comparison.detail else "")
        if metric == "outputs":
            yield from self._numerics(comparison)
        elif metric in _PLACEMENT and outcome in ("different", "expected difference"):
            cause = self._hazard("placement of outputs")
            yield FlipReason(
                outcome="different",
                what=what,
                where=_where(cause) if cause else "",
                action=cause[0].fix if cause else "state it: jax.jit(..., out_shardings=...)",
            )
        elif outcome == "different":
            yield FlipReason(
                outcome="safe but slower or larger" if metric in _SLOWER else "different",
                what=what,
                action=self._culprit(),
            )

    def _numerics(self, comparison: Comparison) -> Iterator[FlipReason]:
        if comparison.outcome == "not compared":
            yield FlipReason(outcome="could not compare", what=comparison.detail)
            return
        if worst_rung(comparison.leaves) == "bitwise":
            return
        what = f"outputs are not bitwise equal: {comparison.detail}"
        drift = self._drift()
        if drift and drift.cause in _OF_XLA:
            yield FlipReason(
                outcome="numerics drift, explained",
                what=f"{what}; {_told(drift)}",
                where=_line_of(drift) or self._largest(),
                action=_OF_XLA[drift.cause],
            )
            return
        if drift:
            what = f"{what}; {_told(drift)}"
        # Looked into and not explained is not explained, however small it is.
        if comparison.outcome == "different" or drift:
            yield FlipReason(
                outcome="different",
                what=what,
                where=(_line_of(drift) if drift else "") or self._largest(),
                action=self._culprit(),
            )
            return
        yield FlipReason(
            outcome="numerics drift, explained",
            what=f"{what}; that is within the rounding of the outputs' dtypes",
            where=self._largest(),
            action="nothing, or for the same bits keep the array inlined (constant_policy)",
        )

    def _drift(self) -> DriftAttribution | None:
        pair = (self.left, self.right)
        return next((each for each in self.row.drift if (each.left, each.right) == pair), None)

    def _of_times(self, time: TimeComparison) -> Iterator[FlipReason]:
        if time.verdict != "slower":
            return
        ratio = f"{humanise_ratio(time.ratio)} ({time.low:.2f} to {time.high:.2f})"
        what = f"{time.metric} takes {ratio} of what it took"
        folded = self._hazard("folded by legacy alone")
        if time.metric in ("call", "first call") and folded:
            where, action = _where(folded), folded[0].fix
            what += f": {folded[0].what}"
        elif not self._hoisted():
            where, action = "", "no captured array is hoisted: measure again with more --rounds"
        else:
            arrays = counted(len(self._hoisted()), "captured array")
            where = self._largest()
            action = (
                f"{arrays} are handed over as const args: raise the embed threshold (constparity "
                "sweep recommends one), or keep this array inlined (constant_policy)"
            )
        yield FlipReason(outcome="safe but slower or larger", what=what, where=where, action=action)

    def _of_sizes(
        self, name: str, before: int | None, after: int | None, least: int
    ) -> Iterator[FlipReason]:
        if before is None or after is None:
            return
        more = after - before
        if more > least and more > LARGER_SHARE * before:
            folded = self._hazard("folded by legacy alone")
            yield FlipReason(
                outcome="safe but slower or larger",
                what=f"{name}: {humanise_bytes(before)} against {humanise_bytes(after)}",
                where=_where(folded) if folded else self._largest(),
                action=folded[0].fix
                if folded
                else "keep this array inlined (constant_policy), or pass it as an argument",
            )

    def _hazard(self, *kinds: HazardKind) -> tuple[Hazard, ...] | None:
        groups = grouped(self.row.hazards)
        return next((group for group in groups if group[0].kind in kinds), None)

    def _hoisted(self) -> list[CapturedArray]:
        after = self._observation(self.right)
        assert after is not None
        return [array for array in after.ledger if array.fate == "hoisted"]

    def _culprit(self) -> str:
        """What to do about a difference: nothing of it is due to arrays that are not there."""
        after = self._observation(self.right)
        if after is not None and after.failure is None and not self._hoisted():
            return "no captured array is hoisted: find out what else reads the flag"
        return "constparity culprit names the captured arrays that it takes"

    def _largest(self) -> str:
        largest = max(self._hoisted(), key=lambda array: array.bytes, default=None)
        return place(largest.file, largest.line) if largest and largest.file else ""


def _told(drift: DriftAttribution) -> str:
    at = f", first in {drift.equation}" if drift.equation else ""
    return f"cause: {drift.cause}{at} ({drift.evidence})"


def _line_of(drift: DriftAttribution) -> str:
    return place(drift.file, drift.line) if drift.file else ""


def _of_hazard(group: tuple[Hazard, ...]) -> FlipReason:
    hazard = group[0]
    # The sides run a program without the options of its own `jax.jit`, so no observation shows
    # what comes of donating.
    fails = hazard.kind == "captured and donated"
    return FlipReason(
        outcome="different" if fails else "safe",
        what=f"{hazard.kind}: {hazard.what}",
        where=_where(group),
        action=hazard.fix,
    )


def _where(group: Sequence[Hazard]) -> str:
    return listed([f"{place(each.file, each.line)} ({each.array})" for each in group])


def _of_executable(observation: Observation) -> int | None:
    return observation.executable.serialized_bytes if observation.executable else None


def _of_stablehlo(observation: Observation) -> int | None:
    return observation.stablehlo.text_bytes if observation.stablehlo else None


def _of_constants(observation: Observation) -> int | None:
    if observation.constant_buffers is None or observation.executable is None:
        return None
    return observation.constant_buffers + observation.executable.constant_bytes


def _of_temporaries(observation: Observation) -> int | None:
    return observation.memory.temporaries if observation.memory else None


def _of_lowering(observation: Observation) -> int | None:
    memory = observation.host_memory
    return memory.trace_and_lower if memory and memory.fresh else None


def _of_compiling(observation: Observation) -> int | None:
    memory = observation.host_memory
    return memory.compile if memory and memory.fresh else None


_COUNTERS: dict[str, Callable[[Observation], int | None]] = {
    "StableHLO": _of_stablehlo,
    "serialized executable": _of_executable,
    "device memory of constants": _of_constants,
    "temporaries of a call": _of_temporaries,
}
_PEAKS: dict[str, Callable[[Observation], int | None]] = {
    "peak host memory of tracing and lowering": _of_lowering,
    "peak host memory of compiling": _of_compiling,
}
