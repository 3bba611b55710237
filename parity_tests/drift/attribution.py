"""Drift: why the outputs of two sides are not bitwise equal, by running both sides again.

Both are run in fresh processes, first as they are: a program that does not give its own bits again
cannot be attributed. Then XLA's passes are switched off step by step, and the first step with which
the sides agree names the cause. Beside that both sides run with every equation's result an output,
and the first that differs names the line.

Whether the sides agree is found out and not read off the optimised HLO: what XLA folded there is
known from no text, and two texts may differ without a difference in a bit.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from parity_tests.evidence import ladder, values
from parity_tests.evidence.ladder import RUNGS, worst_rung
from parity_tests.evidence.records import Evidence
from parity_tests.evidence.values import Value
from parity_tests.judge.sides import FLIPS
from parity_tests.processes.protocol import (
    EquationValue,
    EquationValues,
    Job,
    Request,
    to_json,
    write,
)
from parity_tests.processes.side_runs import NoAnswer, ask_all
from reports.rows import Comparison, DriftAttribution, DriftCause, LeafComparison, Side


class Step(NamedTuple):
    """Flags with which both sides are run again, and what it says where they agree."""

    cause: DriftCause
    what: str
    flags: str
    barriers: bool = False  # captured arrays behind optimization barriers


# The flags and passes of jaxlib 0.10.2. XLA ends a process over a flag that it does not know, and
# ignores a pass that it does not: the passes of the GPU are among them.
_UNFUSED = (
    "constant_folding,algsimp,fusion,priority-fusion,multi_output_fusion,fusion_merger,"
    "horizontal_loop_fusion,simplify-fp-conversions"
)
_UNFOLDED = "--xla_disable_hlo_passes=constant_folding,algsimp"
_OPTIMISES_LESS = "--xla_backend_optimization_level=0 --xla_allow_excess_precision=false"
STEPS = (
    Step(
        "constant folding",
        "constant folding off",
        "--xla_disable_hlo_passes=constant_folding",
    ),
    # With a value that it knows, `algsimp` multiplies by the reciprocal and joins factors.
    Step(
        "constant folding",
        "constant folding and the algebraic simplification with constants that are known off",
        _UNFOLDED,
    ),
    Step(
        "layout or fusion",
        "constant folding, algebraic simplification, fusion and the backend's optimisation off",
        f"{_OPTIMISES_LESS} --xla_disable_hlo_passes={_UNFUSED}",
    ),
    # The last, since XLA asserts layouts later on: not every program compiles without them.
    Step(
        "layout or fusion",
        "the assignment of layouts off, too",
        f"{_OPTIMISES_LESS} --xla_disable_hlo_passes={_UNFUSED},layout-assignment",
    ),
    # Some elementwise equations are folded already in the HLO that the first pass gets (its dump,
    # "before_optimizations", has none of them), and no flag for that is known. It comes last
    # because a barrier hides from layouts, too, what is constant.
    Step(
        "constant folding",
        "constant folding off and captured arrays behind optimization barriers, for they are "
        "folded before XLA's passes as well",
        "--xla_disable_hlo_passes=constant_folding",
        barriers=True,
    ),
)


class _NotAttributedError(Exception):
    """There is no answer; the message says why."""


@dataclass(frozen=True)
class Drift:
    """A pair of sides whose outputs are not bitwise equal, with what a campaign knows of it."""

    job: Job
    left: Evidence
    right: Evidence
    rung: str
    truth: Sequence[Value] = ()

    @property
    def sides(self) -> tuple[Side, Side]:
        """The two sides, left and right."""
        return self.left.observation.side, self.right.observation.side


def drifting_pairs(comparisons: Sequence[Comparison]) -> dict[tuple[Side, Side], str]:
    """Return the pairs to attribute, with their rungs: the first across the flip, and a mismatch.

    Example::

        drifting_pairs(row.comparisons) == {("jax-legacy", "jax-simplified"): "ulp"}
    """
    rungs = {
        (each.left, each.right): worst_rung(each.leaves)
        for each in comparisons
        if each.metric == "outputs" and worst_rung(each.leaves) != "bitwise"
    }
    found = [pair for pair in FLIPS if pair in rungs][:1]
    if not any(rungs[pair] == "mismatch" for pair in found):
        found += [pair for pair, rung in rungs.items() if rung == "mismatch"][:1]
    return {pair: rungs[pair] for pair in found}


def attribute(drift: Drift, folder: Path, *, timeout: float) -> DriftAttribution:
    """Find the cause of a difference; "not attributed", with the reason, where it cannot be found.

    `timeout` is in seconds for one run of the program. `folder` keeps the answer: of a campaign
    that was interrupted, it is not looked for again.

        attribute(Drift(job, left, right, "ulp"), folder, timeout=60).cause
    """
    left, right = drift.sides
    kept = folder / f"drift-{drift.job.number}-{left}-{right}.json"
    if kept.exists():
        return DriftAttribution.model_validate_json(kept.read_text("utf-8"))
    own = Path(tempfile.mkdtemp(prefix=f"drift-{drift.job.number}-", dir=folder))
    found = _Attribution(drift, own, timeout).find()
    write(kept, to_json(found))
    return found


@dataclass(frozen=True)
class _Attribution:
    drift: Drift
    folder: Path
    timeout: float

    def find(self) -> DriftAttribution:
        try:
            self._repeat()
        except _NotAttributedError as error:
            return self._row("not attributed", str(error))
        first = self._first_equation()
        try:
            cause, evidence = self._cause(first)
        except _NotAttributedError as error:
            cause, evidence = "not attributed", str(error)
        if cause == "a bug":
            # What XLA folds on one side alone may differ before the bug, and is not the bug.
            unfolded = self._first_equation(_UNFOLDED, barriers=True)
            first = unfolded if unfolded.equation else first
        elif first.misfit:
            first = _First(first.said)  # the modes may write other equations around their bodies
        return self._row(cause, f"{evidence}; {first.said}", first)

    def _row(
        self, cause: DriftCause, evidence: str, first: _First | None = None
    ) -> DriftAttribution:
        left, right = self.drift.sides
        equation = first.equation if first else None
        return DriftAttribution(
            left=left,
            right=right,
            cause=cause,
            evidence=evidence,
            equation=_named(equation) if equation else "",
            file=equation.file if equation else "",
            line=equation.line if equation else 0,
        )

    def _repeat(self) -> None:
        """Make sure that both sides give again what the campaign has of them."""
        again = self._outputs("", "as it was")
        for evidence, outputs in zip((self.drift.left, self.drift.right), again, strict=True):
            if worst_rung(_compared(evidence.outputs, outputs)) != "bitwise":
                raise _NotAttributedError(
                    f"{evidence.observation.side} gave other bits when it was run again, so no "
                    "other run says anything of the difference"
                )

    def _cause(self, first: _First) -> tuple[DriftCause, str]:
        wrong = self._wrong()
        failed = []
        for step in STEPS:
            try:
                outputs = self._outputs(step.flags, step.what, barriers=step.barriers)
            except _NotAttributedError as error:
                failed.append(str(error))
                continue
            if worst_rung(_compared(*outputs)) == "bitwise":
                said = "; ".join(
                    [*failed, f"bitwise equal with {step.what} (XLA_FLAGS={step.flags})"]
                )
                return ("a bug", f"{wrong}; {said}") if wrong else (step.cause, said)
        said = "the outputs differ in every run with passes of XLA off"
        if failed:
            said = f"{said} that ended ({'; '.join(failed)})"
        if first.written:
            return "a bug", f"the two programs are not one: {first.written}; {said}{self._nearer()}"
        if self.drift.rung == "mismatch" and not failed:
            return "a bug", f"{said}, by more than rounding{self._nearer()}"
        if failed:
            return "not attributed", said
        return "not attributed", f"{said}, within rounding ({self.drift.rung})"

    def _outputs(
        self, flags: str, what: str, *, barriers: bool = False
    ) -> tuple[Sequence[Value], Sequence[Value]]:
        left, right = self._ask("outputs", flags, what, barriers=barriers)
        return values.load(left / "outputs.npz"), values.load(right / "outputs.npz")

    def _ask(self, action: str, flags: str, what: str, *, barriers: bool = False) -> list[Path]:
        """Run both sides in processes of their own, and return the folders of what they left."""
        questions = []
        for side in self.drift.sides:
            own = Path(tempfile.mkdtemp(prefix=f"{side}-", dir=self.folder))
            request = Request(
                action=action,  # type: ignore[arg-type]
                folder=own,
                sys_path=tuple(sys.path),
                side=side,
                jobs=(self.drift.job,),
                barriers=barriers,
            )
            questions.append((request, side))
        try:
            answers = ask_all(questions, timeout=self.timeout, xla_flags=flags)
        except OSError as error:
            raise _NotAttributedError(f"the file that XLA_FLAGS names: {error}") from error
        for side, answer in zip(self.drift.sides, answers, strict=True):
            if isinstance(answer, NoAnswer):
                last = _last_line(answer.log)
                raise _NotAttributedError(
                    f"{side} did not run with {what}: {answer.ending}{last and f': {last}'}"
                )
        return [request.folder for request, _ in questions]

    def _first_equation(self, flags: str = "", *, barriers: bool = False) -> _First:
        what = "every result an output"
        try:
            left, right = self._ask("equations", flags, what, barriers=barriers)
        except _NotAttributedError as error:
            return _First(f"no equation is named: {error}")
        answers = [
            EquationValues.model_validate_json((each / "answer.json").read_text("utf-8"))
            for each in (left, right)
        ]
        arrays = [values.load(each / "equations.npz") for each in (left, right)]
        found = first_difference(answers[0], answers[1], arrays[0], arrays[1])
        ends = (values.load(each / "outputs.npz") for each in (left, right))
        if found.equation is None and worst_rung(_compared(*ends)) == "bitwise":
            return _First(
                "with every result an output nothing differs, since XLA then optimises another "
                "program, so no equation is named"
            )
        return found

    def _wrong(self) -> str:
        """Say which side is wrong, where the arbiter bears out the other one alone."""
        if self.drift.rung != "mismatch":
            return ""
        for path, left, right, truth in self._arbitrated():
            true = truth.array.astype(left.array.dtype)
            holds = [
                RUNGS.index(ladder.compare(path, each.array, true).rung) <= _TOLERANCE
                for each in (left, right)
            ]
            if holds[0] != holds[1]:
                side = self.drift.sides[holds.index(False)]
                where = path or "the only output"
                return f"{side} is wrong at {where}, and the other agrees with double precision"
        return ""

    def _nearer(self) -> str:
        for path, left, right, truth in self._arbitrated():
            said = ladder.arbitrated(left.array, right.array, truth.array)
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
            and ladder.compare(a.path, a.array, b.array).rung == "mismatch"
        ]


@dataclass(frozen=True)
class _First:
    """What there is to say of the equations, and the first whose results differ."""

    said: str
    equation: EquationValue | None = None
    written: str = ""  # what the two sides have otherwise in that equation
    misfit: bool = False  # where one side has that equation and the other has another, or none


def first_difference(
    left: EquationValues,
    right: EquationValues,
    left_arrays: Sequence[Value],
    right_arrays: Sequence[Value],
) -> _First:
    """Return the first equation whose results are not bitwise equal on two sides, in order.

    The sides may write a different number of equations where one of them has operands that the
    other has not: they are compared as far as they correspond in primitive, line and types.
    """
    for a, b in zip(left.equations, right.equations, strict=False):
        if _kind(a) != _kind(b):
            return _First(
                f"the two sides have the same equations only up to {_named(a)} on the one and "
                f"{_named(b)} on the other",
                b,
                misfit=True,
            )
        for i, j in zip(a.saved, b.saved, strict=True):
            one, two = left_arrays[i].array, right_arrays[j].array
            if (one.shape, one.dtype) != (two.shape, two.dtype):
                return _First(
                    f"the results of {_named(a)} have other types on the other side", b, misfit=True
                )
            leaf = ladder.compare("", one, two)
            if leaf.rung != "bitwise":
                apart = f"max rel {leaf.max_rel:.2g}"
                if leaf.max_ulp is not None:
                    apart += f", {leaf.max_ulp} ULP"
                written = f"{a.written} against {b.written}" if a.written != b.written else ""
                return _First(
                    f"with every result an output, the first that differs is that of {_named(a)} "
                    f"({apart})",
                    a,
                    written,
                )
    longer, shorter = sorted((left.equations, right.equations), key=len, reverse=True)
    if len(longer) > len(shorter):
        extra = longer[len(shorter)]
        return _First(f"one side alone has {_named(extra)}", extra, misfit=True)
    left_out = left.left_out + right.left_out
    more = f" ({left_out} results were too large to be kept)" if left_out else ""
    return _First(f"the outputs differ, and no result of an equation does{more}")


def _compared(left: Sequence[Value], right: Sequence[Value]) -> list[LeafComparison]:
    if [(v.path, v.array.shape, v.array.dtype) for v in left] != [
        (v.path, v.array.shape, v.array.dtype) for v in right
    ]:
        raise _NotAttributedError("the outputs have other types when they are computed again")
    return [ladder.compare(a.path, a.array, b.array) for a, b in zip(left, right, strict=True)]


def _kind(equation: EquationValue) -> tuple[str, str, int, int]:
    return equation.primitive, equation.file, equation.line, len(equation.saved)


def _named(equation: EquationValue) -> str:
    position = ".".join(map(str, equation.position))
    return f"{equation.primitive}, equation {position}"


def _last_line(log: str) -> str:
    """Return the line of a log that says most: XLA's own last words, or an exception."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    fatal = [line for line in lines if line.startswith("F") and "] " in line]
    return (fatal or lines or [""])[-1][:300]


_TOLERANCE = RUNGS.index("tolerance")
