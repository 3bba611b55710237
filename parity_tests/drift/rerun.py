"""Run both sides of a program again, with options of XLA, to the first equation that differs.

Each side has a warm process. A process for each run would cost a start of JAX each time, which
takes longer than the run.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from parity_tests.drift.xla_passes_off import UNFOLDED, PassesOff
from parity_tests.evidence import tolerance_ladder, values
from parity_tests.evidence.folder_layout import ProcessFiles, rerun_files
from parity_tests.evidence.tolerance_ladder import worst_rung
from parity_tests.evidence.values import Value
from parity_tests.processes.options import ATTRIBUTION_TIMEOUT, Limits
from parity_tests.processes.protocol import (
    EquationValue,
    EquationValues,
    Job,
    Rerun,
    ServeReruns,
)
from parity_tests.processes.warm_workers import WarmWorker, done_by
from reports.rows import LeafComparison, Side


class NotAttributedError(Exception):
    """A run gave no answer; the message says why."""


class NotRepeatedError(NotAttributedError):
    """A side gave other bits when it was run again."""

    def __init__(self, side: Side, message: str) -> None:
        super().__init__(message)
        self.side = side


class OutOfTimeError(Exception):
    """The time for the attribution of the program is over; the message says how long it was."""


@dataclass
class WarmSides:
    """The warm process of each side, which the programs of a campaign share.

    `limits` are for one run of a program, and `timeout` is in seconds for all runs of one.
    """

    folder: Path
    limits: Limits
    timeout: float = ATTRIBUTION_TIMEOUT
    # Told each run of a program that compiles for long.
    on_long: Callable[[str], object] = lambda text: None
    _workers: dict[Side, WarmWorker] = field(default_factory=dict)
    _runs: int = 0

    def runs_of(
        self, job: Job, sides: tuple[Side, Side], staging: float = 0.0, output: str = ""
    ) -> Reruns:
        """Return how to run a program; the time for its runs begins.

        `staging` are the seconds that it takes at least to trace, lower and compile it as before,
        and `output` is the path of the output that equations are looked for.
        """
        deadline = time.monotonic() + self.timeout
        return Reruns(self, job, sides, deadline, self._runs, staging, output)

    def worker(self, side: Side) -> WarmWorker:
        """Return the worker of a side."""
        if side not in self._workers:
            request = ServeReruns(side=side)
            self._workers[side] = WarmWorker(side, self.folder, self.limits, request)
        return self._workers[side]

    def next_run(self) -> int:
        """Return the number of a new run."""
        self._runs += 1
        return self._runs - 1

    def kill(self) -> None:
        """End the processes."""
        for each in self._workers.values():
            each.kill()


@contextmanager
def warm_sides(folder: Path, limits: Limits, timeout: float) -> Iterator[WarmSides]:
    """Hold processes for runs on any side: they start when asked, and end with the block."""
    sides = WarmSides(folder, limits, timeout)
    try:
        yield sides
    finally:
        sides.kill()


class _Left(NamedTuple):
    """What one run left."""

    outputs: tuple[Value, ...]
    results: tuple[Value, ...]  # of the equations, where they were asked for
    equations: EquationValues | None


@dataclass
class Reruns:
    """How the two sides of one program run again, until the `deadline`.

    `begun` is the number of runs before: those of other programs, in the same processes. A run that
    compiles as before takes `staging` seconds at least, and is not begun without them. Only
    equations that the `output` depends on are named.
    """

    by: WarmSides
    job: Job
    sides: tuple[Side, Side]
    deadline: float
    begun: int
    staging: float = 0.0
    output: str = ""

    @property
    def is_out_of_time(self) -> bool:
        """Whether the time for the runs of this program is over."""
        return time.monotonic() > self.deadline

    def start_afresh(self) -> bool:
        """End processes that other programs ran in; False where this program had them alone."""
        if not self.begun:
            return False
        self.by.kill()
        self.begun = 0
        return True

    def outputs(self, off: PassesOff, sides: Sequence[Side] = ()) -> list[Sequence[Value]]:
        """Return the outputs of sides, by default both, with something switched off."""
        order = self._order(xla=off.xla, barriers=off.barriers, as_arguments=off.as_arguments)
        return [each.outputs for each in self._run(order, off.what, sides or self.sides)]

    def _order(self, **how: Any) -> Rerun:
        return Rerun(number=self.by.next_run(), target=self.job.target, **how)

    def _run(self, order: Rerun, what: str, sides: Sequence[Side]) -> list[_Left]:
        """Run sides at once. Raises `NotAttributedError` and `OutOfTimeError`."""
        found = []
        is_long = self.staging and not order.xla and not order.as_arguments
        if is_long and time.monotonic() + self.staging > self.deadline:
            raise OutOfTimeError(
                f"attribution would take longer than {self.by.timeout:g} seconds "
                f"(--attribution-timeout), for to compile as before takes {self.staging:.0f} of "
                "them"
            )
        if self.staging:
            self.by.on_long(f"{what}, on {' and '.join(sides)}")
        done = done_by([self.by.worker(each) for each in sides], order, self.deadline)
        if any(each.lost for each in done) and self.is_out_of_time:
            raise OutOfTimeError(
                f"attribution took longer than {self.by.timeout:g} seconds (--attribution-timeout)"
            )
        for side, each in zip(sides, done, strict=True):
            if each.lost is not None:
                last = _last_line(each.lost.last_words)
                raise NotAttributedError(
                    f"{side} did not run with {what}: {each.lost.ending}{last and f': {last}'}"
                )
            found.append(_taken(rerun_files(each.folder, order.number)))
        return found

    def first_equation(self, *, unfolded: bool = False) -> FirstDifference:
        """Return the first equation whose results differ when every result is an output.

        `unfolded` switches off what XLA computes of constants.
        """
        xla = UNFOLDED if unfolded else {}
        order = self._order(xla=xla, barriers=unfolded, equations="all", output=self.output)
        what = "every result an output"
        return self._first(order, what, f"with {what}")

    def first_with_constant(self) -> FirstDifference:
        """Return the first equation whose results differ, of those that constants go into."""
        what = "the results of equations that constants go into"
        order = self._order(equations="constants", output=self.output)
        return self._first(order, f"{what} as outputs", f"of {what}")

    def _first(self, order: Rerun, what: str, among: str) -> FirstDifference:
        try:
            left, right = self._run(order, what, self.sides)
        except (NotAttributedError, OutOfTimeError) as error:
            return FirstDifference(f"no equation is named: {error}")
        assert left.equations is not None
        assert right.equations is not None
        found = first_difference(
            left.equations, right.equations, left.results, right.results, among, self.output
        )
        leaves = compared(left.outputs, right.outputs)
        own = [each for each in leaves if each.path == self.output]
        if found.equation is None and not found.misfit and worst_rung(own or leaves) == "bitwise":
            nothing = f"nothing{_needed_by(self.output)} differs"
            return FirstDifference(
                f"{among} {nothing}, since XLA then optimises another program, so no equation is "
                "named"
            )
        return found


def _taken(files: ProcessFiles) -> _Left:
    """Read the files of a run, and delete them: the results of equations may be large."""
    outputs = values.load(files.outputs)
    results: tuple[Value, ...] = ()
    equations = None
    if files.answer.exists():
        results = values.load(files.equations)
        equations = EquationValues.model_validate_json(files.answer.read_text("utf-8"))
    shutil.rmtree(files.folder)
    return _Left(outputs, results, equations)


def compared(left: Sequence[Value], right: Sequence[Value]) -> list[LeafComparison]:
    """Compare outputs leaf by leaf. Raises `NotAttributedError` where their types differ."""
    if [(v.path, v.array.shape, v.array.dtype) for v in left] != [
        (v.path, v.array.shape, v.array.dtype) for v in right
    ]:
        raise NotAttributedError("the outputs have other types when they are computed again")
    return [
        tolerance_ladder.compare(a.path, a.array, b.array) for a, b in zip(left, right, strict=True)
    ]


def _last_line(log: str) -> str:
    """Return the telling line of a log: the last one of XLA, or an exception."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    fatal = [line for line in lines if line.startswith("F") and "] " in line]
    return (fatal or lines or [""])[-1][:300]


# -- the first equation that differs ---------------------------------------------------------------


@dataclass(frozen=True)
class FirstDifference:
    """The first equation whose results differ on two sides; `said` describes it in words."""

    said: str
    equation: EquationValue | None = None
    written: str = ""  # how the two sides write that equation, where they write it differently
    misfit: bool = False  # the other side has another equation in its place, or none
    beyond_rounding: bool = False

    @property
    def is_seen(self) -> bool:
        """Whether an equation that both sides have gives them other bits."""
        return self.equation is not None and not self.misfit


def first_difference(
    left: EquationValues,
    right: EquationValues,
    left_arrays: Sequence[Value],
    right_arrays: Sequence[Value],
    among: str = "with every result an output",
    output: str = "",
) -> FirstDifference:
    """Return the first equation whose results are not bitwise equal on two sides, in order.

    Only equations that are needed are compared and named: those that the `output` depends on.
    `among` says in words which results these are. One side may write more equations than the other,
    for operands that the other lacks. Equations are compared as long as they correspond in
    primitive, line and types.
    """
    for a, b in zip(left.equations, right.equations, strict=False):
        if _kind(a) != _kind(b):
            return FirstDifference(
                f"the two sides have the same equations only up to {named(a)} on the one and "
                f"{named(b)} on the other",
                b if a.is_needed or b.is_needed else None,
                misfit=True,
            )
        if not (a.is_needed or b.is_needed):
            continue
        for i, j in zip(a.saved, b.saved, strict=True):
            one, two = left_arrays[i].array, right_arrays[j].array
            if (one.shape, one.dtype) != (two.shape, two.dtype):
                return FirstDifference(
                    f"the results of {named(a)} have other types on the other side", b, misfit=True
                )
            leaf = tolerance_ladder.compare("", one, two)
            if leaf.rung != "bitwise":
                apart = f"max rel {leaf.max_rel:.2g}"
                if leaf.max_ulp is not None:
                    apart += f", {leaf.max_ulp} ULP"
                written = f"{a.written} against {b.written}" if a.written != b.written else ""
                which = f"the first that differs{_needed_by(output, ' and')}"
                return FirstDifference(
                    f"{among}, {which} is that of {named(a)} ({apart})",
                    a,
                    written,
                    beyond_rounding=leaf.rung == "mismatch",
                )
    longer, shorter = sorted((left.equations, right.equations), key=len, reverse=True)
    if len(longer) > len(shorter):
        extra = longer[len(shorter)]
        return FirstDifference(
            f"one side alone has {named(extra)}", extra if extra.is_needed else None, misfit=True
        )
    left_out = left.left_out + right.left_out
    more = f" ({left_out} results were too large to be kept)" if left_out else ""
    no_result = f"no result of an equation{_needed_by(output)} does"
    return FirstDifference(f"the outputs differ, and {no_result}{more}")


def _needed_by(output: str, joined: str = "") -> str:
    """Say that the output depends on a result, where the program has several."""
    return f"{joined} that {output} depends on" if output else ""


def _kind(equation: EquationValue) -> tuple[str, str, int, int]:
    return equation.primitive, equation.file, equation.line, len(equation.saved)


def named(equation: EquationValue) -> str:
    """Name an equation by its primitive and its position: "dot_general, equation 3"."""
    position = ".".join(map(str, equation.position))
    return f"{equation.primitive}, equation {position}"
