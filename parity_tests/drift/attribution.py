"""Drift: why the outputs of two sides are not bitwise equal, by running both sides again.

Both sides run again, first unchanged: a program that does not repeat its own bits cannot be
attributed. Then XLA's passes are switched off set by set, and the first set with which the sides
agree names the cause. Without constant folding the left side alone may have the bits of the right
one, to which most arrays are arguments. Both sides also run with the results of equations as
outputs, and the first one that differs, of those that the worst output depends on, names the line.
Of a program that differs by constant folding, the equations that constants go into come first: they
are few.

Where ours and stock JAX's side of each mode have the same bits, each mode has repeated itself
already, in two processes. What is left to see is that the sides differ in these processes, too. An
equation that constants go into and that differs shows it; without one both sides run unchanged
after all, so a bug is never named before.

Most runs without constant folding compile in no time, and what XLA folds may take it long. A
program that compiles for long runs without first. The bits of the other side in a process of their
own name the cause then, and neither does it run unchanged, nor is an equation named.

Programs share the process of a side, as in a campaign. One that does not repeat its bits there is
tried once more in processes of its own.

Runs decide whether the sides agree, not the optimised HLO: no text tells what XLA folded, and two
texts may differ without a difference in a bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import NamedTuple, TypeAlias

from parity_tests.drift.rerun import (
    FirstDifference,
    NotAttributedError,
    NotRepeatedError,
    OutOfTimeError,
    Reruns,
    WarmSides,
    compared,
    named,
)
from parity_tests.drift.xla_passes_off import (
    AS_IT_WAS,
    ON_ONE_SIDE,
    PASSES_OFF,
    PassesOff,
)
from parity_tests.evidence import tolerance_ladder
from parity_tests.evidence.folder_layout import CampaignFiles
from parity_tests.evidence.records import Evidence
from parity_tests.evidence.tolerance_ladder import RUNGS, worst_leaf, worst_rung
from parity_tests.evidence.values import Value
from parity_tests.judge.proofs import part
from parity_tests.judge.sides import FLIPS, mode_of
from parity_tests.judge.unrepeated import called_otherwise
from parity_tests.processes.kept_files import keep, kept
from parity_tests.processes.protocol import Job, to_json
from parity_tests.processes.worker_process import KILLED
from reports.rows import Comparison, DriftAttribution, DriftCause, LeafComparison, Side

_TOLERANCE = RUNGS.index("tolerance")


@dataclass(frozen=True)
class Drift:
    """Two sides whose outputs are not bitwise equal, and the campaign's evidence of both.

    `has_repeated` says that another side of each mode had the same bits. `output` is the path of
    the output that is furthest apart, and `rung` is its rung.
    """

    job: Job
    left: Evidence
    right: Evidence
    rung: str
    truth: Sequence[Value] = ()
    has_repeated: bool = False
    output: str = ""

    @property
    def sides(self) -> tuple[Side, Side]:
        """The two sides, left and right."""
        return self.left.observation.side, self.right.observation.side

    @property
    def arbiter_is_as_precise(self) -> bool:
        """Whether the sides compute in double precision too, so that it shows neither wrong."""
        found = self.left.observation
        dtypes = {each.dtype for each in found.arguments} | {each.dtype for each in found.outputs}
        dtypes |= {each.dtype for each in found.ledger}
        return not dtypes.isdisjoint(tolerance_ladder.AS_PRECISE)

    @cached_property
    def long_staging(self) -> float:
        """The seconds of tracing, lowering and compiling as before; 0 unless that takes long."""
        times = (each.observation.times for each in (self.left, self.right))
        return max((each.staging for each in times if each and each.is_long), default=0.0)


def drifting_pairs(comparisons: Sequence[Comparison]) -> dict[tuple[Side, Side], LeafComparison]:
    """Return the pairs to attribute: the first across the flip, and a mismatch.

    Each comes with its worst output.

    Example::

        drifting_pairs(row.comparisons)["jax-legacy", "jax-simplified"].rung == "ulp"
    """
    worst = {
        (each.left, each.right): worst_leaf(each.leaves)
        for each in comparisons
        if each.metric == "outputs" and worst_rung(each.leaves) != "bitwise"
    }
    found = [pair for pair in FLIPS if pair in worst][:1]
    if not any(worst[pair].rung == "mismatch" for pair in found):
        found += [pair for pair, leaf in worst.items() if leaf.rung == "mismatch"][:1]
    return {pair: worst[pair] for pair in found}


def has_repeated(comparisons: Sequence[Comparison], pair: tuple[Side, Side]) -> bool:
    """Say whether each side of a pair has the bits of the other side of its mode."""
    alike = [
        {each.left, each.right}
        for each in comparisons
        if each.metric == "outputs"
        and each.outcome == "equal"
        and worst_rung(each.leaves) == "bitwise"
    ]
    return all(
        any(side in both and len({mode_of(each) for each in both}) == 1 for both in alike)
        for side in pair
    )


def attribute(drift: Drift, folder: Path, warm: WarmSides) -> DriftAttribution:
    """Find the cause of a difference; "not attributed", with the reason, where it cannot be found.

    `folder` keeps the answer: a campaign that goes on after an interruption does not look for it
    again, unless the time was over.
    """
    left, right = drift.sides
    if otherwise := called_otherwise(drift.left.observation, drift.right.observation):
        return DriftAttribution(left=left, right=right, cause="not attributed", evidence=otherwise)
    file = CampaignFiles(folder).drift(drift.job.number, left, right)
    if (text := kept(file)) is not None:
        return DriftAttribution.model_validate_json(text)
    rerun = warm.runs_of(drift.job, drift.sides, drift.long_staging, drift.output)
    found = _Attribution(drift, rerun).find()
    # What something outside killed, or what took too long, may work another time.
    if not rerun.is_out_of_time and not found.out_of_time and KILLED not in found.evidence:
        keep(file, to_json(found))
    return found


class _Found(NamedTuple):
    """A cause, and what the sides agree without, where that is the cause."""

    cause: DriftCause
    evidence: str
    off: PassesOff | None = None


class _Wrong(NamedTuple):
    """The side that double precision contradicts alone, and the output that shows it."""

    side: Side
    where: str


_Outputs: TypeAlias = tuple[Sequence[Value], Sequence[Value]]


class _Attempt(NamedTuple):
    """What is switched off, a function that gives the outputs of both sides then, and where."""

    off: PassesOff
    outputs: Callable[[], _Outputs]
    where: str = ""


@dataclass(frozen=True)
class _Attribution:
    drift: Drift
    rerun: Reruns

    def find(self) -> DriftAttribution:
        try:
            long = self.drift.long_staging
            if not self.drift.has_repeated and not long:
                self._repeat()
            found = self._cause_or_none()
            if long and found.off:
                said = f"no equation is named, for to compile as before takes {long:.0f} s"
                return self._attribution(found.cause, f"{found.evidence}; {said}")
            first = self._first_with_constant(found.off)
            if first is None:
                if self.drift.has_repeated:
                    found = self._repeated(found)
                elif long:
                    self._repeat()
                first = self._first
        except NotRepeatedError as error:
            unrepeated = self._attribution("not attributed", str(error))
            return unrepeated.model_copy(update={"unrepeated": True, "unrepeated_side": error.side})
        except NotAttributedError as error:
            return self._attribution("not attributed", str(error))
        except OutOfTimeError as error:
            late = self._attribution("not attributed", str(error))
            return late.model_copy(update={"out_of_time": True})
        cause, evidence, _ = found
        if cause == "a bug":
            # What XLA folds on one side alone may differ before the bug, and is not the bug.
            unfolded = self.rerun.first_equation(unfolded=True)
            first = unfolded if unfolded.equation else first
            if first.written:
                cause, evidence = "another program", f"{_not_one(first)}; {evidence}"
            elif part(self.drift.left.observation, self.drift.right.observation):
                cause, evidence = "another program", f"the two forms part; {evidence}"
        elif first.misfit:
            # The modes may write other equations around their bodies, so none is named.
            first = FirstDifference(first.said)
        return self._attribution(cause, f"{evidence}; {first.said}", first)

    def _attribution(
        self, cause: DriftCause, evidence: str, first: FirstDifference | None = None
    ) -> DriftAttribution:
        left, right = self.drift.sides
        equation = first.equation if first else None
        # A rounding that the program magnifies makes no side wrong.
        wrong = self._wrong() if first and first.beyond_rounding else None
        return DriftAttribution(
            left=left,
            right=right,
            cause=cause,
            evidence=evidence,
            equation=named(equation) if equation else "",
            file=equation.file if equation else "",
            line=equation.line if equation else 0,
            wrong=wrong.side if wrong else None,
        )

    def _repeated(self, found: _Found) -> _Found:
        """Run both sides unchanged after the cause was found; look again in other processes.

        Where the time is over, the cause stands: each mode has repeated itself before.
        """
        try:
            are_others = self._repeat()
        except OutOfTimeError as error:
            return found._replace(evidence=f"{found.evidence}; not run unchanged: {error}")
        if not are_others:
            return found
        vars(self).pop("_first", None)  # that of the processes before
        return self._cause_or_none()

    def _first_with_constant(self, off: PassesOff | None) -> FirstDifference | None:
        """Return the first equation that differs of those that constants go into, or None.

        `off` is what the sides agree without: only constant folding makes it worth a look.
        """
        if off is None or off.cause != "constant folding":
            return None
        found = self.rerun.first_with_constant()
        return found if found.is_seen else None

    @cached_property
    def _first(self) -> FirstDifference:
        """The first equation that differs: looked for once, and after the cause where that does."""
        return self.rerun.first_equation()

    def _repeat(self) -> bool:
        """Make sure that both sides repeat the bits that the campaign has of them.

        Returns whether that took other processes than those of before.
        """
        try:
            self._repeat_once()
        except NotAttributedError:
            if not self.rerun.start_afresh():
                raise
            self._repeat_once()
            return True
        return False

    def _repeat_once(self) -> None:
        again = self.rerun.outputs(AS_IT_WAS)
        for evidence, outputs in zip((self.drift.left, self.drift.right), again, strict=True):
            if worst_rung(compared(evidence.outputs, outputs)) != "bitwise":
                raise NotRepeatedError(
                    evidence.observation.side,
                    f"{evidence.observation.side} gave other bits when it was run again, so no "
                    "other run says anything of the difference",
                )

    def _cause_or_none(self) -> _Found:
        """Find the cause, or say why there is none. Raises `OutOfTimeError`."""
        try:
            return self._cause()
        except NotAttributedError as error:
            return _Found("not attributed", str(error))

    def _cause(self) -> _Found:
        failed: list[str] = []
        for off, outputs, where in self._attempts():
            try:
                left, right = outputs()
            except NotAttributedError as error:
                failed.append(str(error))
                continue
            if worst_rung(compared(left, right)) == "bitwise":
                remarks = [*failed, f"bitwise equal with {off.said}{where}"]
                if wrong := self._wrong():
                    remarks.append(
                        f"{wrong.side} is wrong at {wrong.where}, and the other agrees with double "
                        "precision"
                    )
                return _Found(off.cause, "; ".join(remarks), off)
        said = "the outputs differ in every run with passes of XLA off"
        if failed:
            said = f"{said} that ended ({'; '.join(failed)})"
        if self._first.written:
            evidence = f"{_not_one(self._first)}; {said}{self._nearer()}"
            return _Found("another program", evidence)
        if self.drift.rung == "mismatch" and not failed:
            return _Found("a bug", f"{said}, by more than rounding{self._nearer()}")
        if failed:
            return _Found("not attributed", said)
        said = f"{said}, within rounding ({self.drift.rung})"
        if part(self.drift.left.observation, self.drift.right.observation):
            return _Found("another program", f"the two forms part; {said}")
        return _Found("not attributed", said)

    def _attempts(self) -> Iterator[_Attempt]:
        """Give what may make the sides agree: on the left side alone first, which is one run."""
        left_side, right_side = self.drift.sides
        lefts: dict[str, Sequence[Value]] = {}

        def left_alone(off: PassesOff) -> _Outputs:
            [lefts[off.what]] = self.rerun.outputs(off, [left_side])
            return lefts[off.what], self.drift.right.outputs

        def both(off: PassesOff) -> _Outputs:
            if off.what in lefts:
                [right] = self.rerun.outputs(off, [right_side])
                return lefts[off.what], right
            left, right = self.rerun.outputs(off)
            return left, right

        for off in ON_ONE_SIDE:
            yield _Attempt(off, partial(left_alone, off), f" on {left_side} alone")
        for off in PASSES_OFF:
            if off.what in lefts or off not in ON_ONE_SIDE:  # or the left side did not run with it
                yield _Attempt(off, partial(both, off))

    def _wrong(self) -> _Wrong | None:
        """Return the side that is wrong, where the arbiter bears out the other one alone."""
        if self.drift.rung != "mismatch" or self.drift.arbiter_is_as_precise:
            return None
        for path, left, right, truth in self._arbitrated():
            true = truth.array.astype(left.array.dtype)
            holds = [
                RUNGS.index(tolerance_ladder.compare(path, each.array, true).rung) <= _TOLERANCE
                for each in (left, right)
            ]
            if holds[0] != holds[1]:
                side = self.drift.sides[holds.index(False)]
                return _Wrong(side, path or "the only output")
        return None

    def _nearer(self) -> str:
        if self.drift.arbiter_is_as_precise:
            return "; no arbiter is more precise than they are, to say which side is right"
        for path, left, right, truth in self._arbitrated():
            said = tolerance_ladder.arbitrated(left.array, right.array, truth.array)
            if said.nearer:
                side = self.drift.sides[("first", "second").index(said.nearer)]
                where = path or "the only output"
                errors = said.note.partition(":")[0]
                return f"; {side} is nearer to the truth at {where} ({errors})"
        return "" if self.drift.truth else "; there is no arbiter to say which side is right"

    def _arbitrated(self) -> list[tuple[str, Value, Value, Value]]:
        """Return the output leaves that differ beyond rounding, with the truth of each."""
        true = {each.path: each for each in self.drift.truth}
        pairs = zip(self.drift.left.outputs, self.drift.right.outputs, strict=True)
        return [
            (a.path, a, b, true[a.path])
            for a, b in pairs
            if a.path in true
            and true[a.path].array.shape == a.array.shape
            and tolerance_ladder.compare(a.path, a.array, b.array).rung == "mismatch"
        ]


def _not_one(first: FirstDifference) -> str:
    return f"the two programs are not one: {first.written}"
