"""Compare two runs of a store: what became of each program from the one to the other.

The arrays of a run are not kept, so nothing is judged again: each run has its own verdict on the
flip, and these are compared. Where outputs have other bits, nobody knows by how much they differ.
Figures of one side are compared where one machine measured them with the same versions, sizes by
the limits of the flip and times by the samples of rounds. Everything else that differs is noted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from parity_tests.judge.timing import judge_times
from parity_tests.run.provenance import Alike, provenance_of_runs
from reports.rows import SIDES, Side, TimeComparison, metrics
from reports.rows.history import (
    KEY_METRICS,
    ComparedRun,
    ProgramChange,
    ProgramChangeOutcome,
    RunComparison,
    StoredProgram,
    StoredRun,
    StoredSide,
)
from reports.rows.metric_records import Larger
from reports.views.figures import humanise_bytes, humanise_ratio
from reports.views.texts import counted

# Runs of older versions have placements among the differences.
_DIFFERENT = frozenset({"different", "placed otherwise"})
_UNKNOWN = frozenset({"not repeatable", "could not compare"})
# Counts of the program itself: another number is worth a note, and no better or worse by itself.
_COUNTS = ("const args", "jaxpr equations")
_NEEDS_FRESH = frozenset({"peak host memory of compiling"})
_SIZE_NOT_KNOWN = "by how much is not known: output arrays are not kept (run --save keeps those)"


@dataclass(frozen=True)
class ReadRun:
    """A run, and its programs as columns have them."""

    run: StoredRun
    programs: Sequence[StoredProgram]


def compare_runs(left: ReadRun, right: ReadRun) -> RunComparison:
    """Say what became of each program from the left run to the right one.

    Example::

        compare_runs(before, after).programs[0].outcome == "newly fixed"
    """
    alike, provenance = provenance_of_runs(left.run, right.run)
    of_left = {each.name: each for each in left.programs}
    of_right = {each.name: each for each in right.programs}
    sides = [side for side in SIDES if side in left.run.sides and side in right.run.sides]
    times = _times(of_left, of_right, sides) if alike.times else {}
    both = of_left.keys() & of_right.keys()
    if alike.times and len(times) < len(both):
        without = counted(len(both) - len(times), "program")
        provenance.append(f"times of {without} were not judged: run both times with --rounds 5")
    changes, limits = [], _limits()
    for name in dict.fromkeys([*of_left, *of_right]):
        if name not in of_right:
            changes.append(_gone(of_left[name], right.run))
        elif name not in of_left:
            changes.append(_new(of_right[name], left.run))
        else:
            pair = _Pair(of_left[name], of_right[name], sides, alike, limits, times.get(name, ()))
            changes.append(pair.change())
    return RunComparison(
        left=_told(left.run),
        right=_told(right.run),
        provenance=tuple(provenance),
        programs=tuple(changes),
    )


def _gone(program: StoredProgram, run: StoredRun) -> ProgramChange:
    """Return the change of a program that the later run lacks."""
    return _of_one_run(program, run, "gone" if run.is_complete else "not comparable")


def _new(program: StoredProgram, run: StoredRun) -> ProgramChange:
    """Return the change of a program that the earlier run lacks."""
    if _is_different(program):
        return _of_one_run(program, run, "newly different")
    is_known = run.is_complete and not _is_unknown(program)
    return _of_one_run(program, run, "new" if is_known else "not comparable")


def _of_one_run(
    program: StoredProgram, lacks: StoredRun, outcome: ProgramChangeOutcome
) -> ProgramChange:
    """Return the change of a program that a run lacks, and may not have come to."""
    came_to = f"{lacks.label} ran {lacks.programs} of {lacks.planned} programs"
    reasons = [] if lacks.is_complete else [came_to]
    notes = [_state(program)]
    if outcome == "newly different":
        reasons.insert(0, f"{notes.pop()} now; {lacks.label} does not have it")
    return ProgramChange(
        name=program.name, outcome=outcome, reasons=tuple(reasons), notes=tuple(notes)
    )


def _told(run: StoredRun) -> ComparedRun:
    return ComparedRun(
        label=run.label,
        created=run.started,
        machine=run.machine,
        commit=str(run.commit or ""),
        environment=run.environment,
        programs=run.programs,
    )


def _times(
    left: Mapping[str, StoredProgram], right: Mapping[str, StoredProgram], sides: Sequence[Side]
) -> dict[str, tuple[TimeComparison, ...]]:
    found = judge_times(
        {name: each.samples for name, each in left.items() if each.samples},
        {name: each.samples for name, each in right.items() if each.samples},
        [(side, side) for side in sides],
    )
    return {name: each for name, each in found.items() if each}


# -- one program -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Pair:
    """One program in two runs."""

    left: StoredProgram
    right: StoredProgram
    sides: Sequence[Side]
    alike: Alike
    limits: Mapping[str, Larger]
    times: tuple[TimeComparison, ...]

    def change(self) -> ProgramChange:
        """Say what became of the program."""
        worse, better, notes = self._figures()
        bits = self._other_bits()
        outcome, reasons = self._outcome(worse, better, bits)
        notes = [*(each for each in bits if each not in reasons), *notes]
        return ProgramChange(
            name=self.right.name,
            outcome=outcome,
            reasons=tuple(reasons),
            notes=tuple(notes),
        )

    def _outcome(
        self, worse: list[str], better: list[str], bits: list[str]
    ) -> tuple[ProgramChangeOutcome, list[str]]:
        before, now = _state(self.left), _state(self.right)
        moved = f"{before} before, {now} now" if before != now else f"{now}, in both runs"
        if not self.alike.flip:
            return "not comparable", [moved]
        if _is_different(self.right) and not _is_different(self.left):
            return "newly different", [moved]
        if _is_unknown(self.left) or _is_unknown(self.right):
            return "not comparable", [moved]
        if _is_different(self.left) and not _is_different(self.right):
            return "newly fixed", [moved]
        if others := self._other_types():
            return "not comparable", others
        if worse:
            return "worse", worse + better
        if bits:
            return "not comparable", [*bits, _SIZE_NOT_KNOWN, *better]
        return ("better", better) if better else ("within noise", [])

    def _other_types(self) -> list[str]:
        """Say on which sides the outputs have other types: it is another program, then."""
        return [
            f"{side}: the outputs have other types than before"
            for side, a, b in self._with_outputs()
            if a.output_types != b.output_types
        ]

    def _other_bits(self) -> list[str]:
        """Say on which sides the outputs have other bits."""
        source = "the same" if self.left.digest == self.right.digest else "another"
        return [
            f"{side}: the outputs have other bits than before (the file is {source})"
            for side, a, b in self._with_outputs()
            if a.outputs != b.outputs
        ]

    def _with_outputs(self) -> Iterator[tuple[Side, StoredSide, StoredSide]]:
        """Yield each side that works in both runs; of a program without outputs these are ""."""
        for side in self.sides:
            a, b = self.left.sides.get(side), self.right.sides.get(side)
            if a and b and not a.failure and not b.failure:
                yield side, a, b

    def _figures(self) -> tuple[list[str], list[str], list[str]]:
        """Return what is worse, what is better, and what is not judged."""
        worse, better, notes = self._reasons()
        for side in self.sides:
            a, b = self.left.sides.get(side), self.right.sides.get(side)
            if a is None or b is None:
                continue
            notes += _notes(side, a, b)
            for is_worse, text in _sizes(side, a, b, self.limits):
                if not self.alike.figures:
                    notes.append(f"{text} (not judged)")
                else:
                    (worse if is_worse else better).append(text)
        for time in self.times:
            if time.verdict in ("slower", "faster"):
                ratio = f"{humanise_ratio(time.ratio)} ({time.low:.2f} to {time.high:.2f})"
                text = f"{time.metric} of {time.left} takes {ratio} of what it took"
                (worse if time.verdict == "slower" else better).append(text)
        return worse, better, notes

    def _reasons(self) -> tuple[list[str], list[str], list[str]]:
        """Compare the reasons that the runs themselves give for their verdicts."""
        worse: list[str] = []
        better: list[str] = []
        notes: list[str] = []
        for program, other, found, ending in (
            (self.right, self.left, worse, ""),
            (self.left, self.right, better, ", no longer"),
        ):
            known = {(outcome in _DIFFERENT or outcome, what) for outcome, what in other.reasons}
            for outcome, what in program.reasons:
                if (outcome in _DIFFERENT or outcome, what) in known:
                    continue
                of_ours = outcome == "difference"
                text = f"{'our pipelines' if of_ours else 'the flip'}{ending}: {outcome}: {what}"
                if self.alike.machine or of_ours or outcome in _DIFFERENT:
                    found.append(text)
                else:
                    notes.append(f"{text} (not judged)")
        return worse, better, notes


def _is_different(program: StoredProgram) -> bool:
    return program.flip in _DIFFERENT or program.verdict == "difference"


def _is_unknown(program: StoredProgram) -> bool:
    """Say whether a program was not compared on all sides; one that a flip breaks is judged."""
    of_sides = program.verdict in _UNKNOWN and program.flip not in _DIFFERENT
    return program.flip in _UNKNOWN or of_sides


def _state(program: StoredProgram) -> str:
    """Say what a run found of a program, with the first reason where it is not well."""
    state: str = program.flip or program.verdict
    if program.flip not in (None, *_DIFFERENT) and program.verdict == "difference":
        state = "our pipelines differ from stock JAX"
    elif program.flip is not None and program.flip not in _UNKNOWN and _is_unknown(program):
        state = f"{program.flip}, and over all sides {program.verdict}"
    return state if program.flip == "safe" or not program.reason else f"{state} ({program.reason})"


def _notes(side: Side, left: StoredSide, right: StoredSide) -> Iterator[str]:
    if left.failure != right.failure:
        yield f"{side}: {right.failure or 'works'}, before: {left.failure or 'worked'}"
        return
    for name in _COUNTS:
        a, b = left.figures.get(name), right.figures.get(name)
        if a is not None and b is not None and a != b:
            yield f"{side}: {name} {a:,.0f} before, {b:,.0f} now"


def _limits() -> dict[str, Larger]:
    """Return the limits beyond which a size is worse, as a flip has them."""
    declared = {name: metrics.metric(name).larger for name in KEY_METRICS.values()}
    # Peaks of host memory depend on the programs before, which may be others.
    return {name: each for name, each in declared.items() if each and name not in _NEEDS_FRESH}


def _sizes(
    side: Side, left: StoredSide, right: StoredSide, limits: Mapping[str, Larger]
) -> Iterator[tuple[bool, str]]:
    """Yield whether a size is worse, and how: beyond the limit that the metric has in a flip."""
    for name, limit in limits.items():
        a, b = left.figures.get(name), right.figures.get(name)
        if a is None or b is None:
            continue
        if limit.is_exceeded(min(a, b), max(a, b)):
            text = f"{limit.what} of {side}: {humanise_bytes(int(a))} before, "
            yield b > a, f"{text}{humanise_bytes(int(b))} now"
