"""What became of each test on one side and on both: a word, the line that tells why, the phases."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from parity_tests.judge.reasons_as_written import what_helps
from parity_tests.processes.worker_process import supervise
from parity_tests.suites.stock_runs.heard import Phase
from parity_tests.suites.stock_runs.side_run import Asked, SideRun, SuitePython
from reports.rows.suite_runs import (
    STOCK_SIDES,
    VARIABLES,
    StockSide,
    SuiteComparison,
    SuiteOutcome,
    SuiteSide,
)
from reports.views.texts import counted

COLLECTED = "collected"  # a file, class or folder, without tests to run
NOT_COLLECTED = "not collected"
NOT_RUN = "not run"
# What a test of pytest's own may end with and be no failure.
GOOD = ("passed", "skipped", "xfailed", "xpassed", COLLECTED)


# Addresses, names of temporary files, and numbers: these are others in each process.
_PASSING = re.compile(r"0x[0-9a-fA-F]+|\btmp[a-z0-9_]{8}\b|[-+]?\d+(?:\.\d*)?(?:e[+-]?\d+)?")
# JAX's own tests also say it in words: "only with simplified Jaxpr consts".
_NAME_OF_FLAG = re.compile(r"simplified[_ ]jaxpr[_ ]const", re.IGNORECASE)
_OF_SUBTESTS = re.compile(r"^[\d,]+ subtests? ")
# The line that pytest writes below the source of each frame; the last one raised.
_RAISED = re.compile(r"^([^\s:]+\.py:\d+): ", re.MULTILINE)
# Lines that pytest marks as those of the exception; the others show the source.
_OF_EXCEPTION = re.compile(r"^E  +(.*)$", re.MULTILINE)


def phases_of(run: SideRun, test: str) -> Sequence[Phase]:
    """Return the phases of a test that ran, or none."""
    return run.heard.phases.get(test, ()) if test in run.heard.finished else ()


def outcome_of(run: SideRun, test: str) -> SuiteOutcome:
    """Say what became of a test.

    Example::

        outcome_of(run, "test_it.py::test_one").outcome == "passed"
    """
    heard = run.heard
    if phases := phases_of(run, test):
        outcome = _outcome_of_phases(phases)
        return outcome.model_copy(update={"subtests": heard.subtests.get(test, 0)})
    if test in heard.collected:
        return SuiteOutcome(outcome=NOT_RUN, summary=run.ending or "its session ended before")
    found = (heard.uncollected[each] for each in _above(test) if each in heard.uncollected)
    above = next(found, None)
    if above is not None and above.outcome == "skipped":
        return SuiteOutcome(outcome="skipped", summary=above.summary, text=above.text)
    if above is not None:
        return SuiteOutcome(outcome=NOT_COLLECTED, summary=above.summary, text=above.text)
    text = run.log_tail() if run.ending and not heard.collected else ""
    return SuiteOutcome(outcome=NOT_COLLECTED, summary=run.ending, text=text)


def _outcome_of_phases(phases: Sequence[Phase]) -> SuiteOutcome:
    telling = [each for each in phases if each.word]
    is_own = [each.outcome == "failed" or not each.is_part for each in telling]
    words = list(dict.fromkeys(each.word for each in itertools.compress(telling, is_own)))
    parts = Counter(each.word for each, own in zip(telling, is_own, strict=True) if not own)
    words += [f"{counted(count, 'subtest')} {word}" for word, count in sorted(parts.items())]
    if not words:
        return SuiteOutcome(outcome="passed")
    summary = ": ".join(filter(None, (telling[0].wasxfail, telling[0].summary)))
    text = "\n\n".join(each.text for each in telling if each.text)
    return SuiteOutcome(outcome=" and ".join(words), summary=summary, text=text)


def _above(test: str) -> Iterator[str]:
    """Yield a test, and the classes, the file and the folders that it lies in.

    Example::

        >>> list(_above("a[1]/t.py::T::test[x/y]"))
        ['a[1]/t.py::T::test[x/y]', 'a[1]/t.py::T', 'a[1]/t.py', 'a[1]', '.', '']
    """
    yield test
    file, _, name = test.partition("::")
    names = [file, *name.partition("[")[0].split("::")]
    yield from ("::".join(names[:number]) for number in range(len(names) - 1, 0, -1))
    folders = file.split("/")
    yield from ("/".join(folders[:number]) for number in range(len(folders) - 1, 0, -1))
    yield from (".", "")


def is_good(outcome: SuiteOutcome) -> bool:
    """Say whether pytest would call an outcome no failure."""
    return all(_OF_SUBTESTS.sub("", word) in GOOD for word in outcome.outcome.split(" and "))


def names_the_flag(outcome: SuiteOutcome) -> bool:
    """Say whether a test was skipped for the value of JAX's flag.

    Example::

        names_the_flag(SuiteOutcome("skipped", "needs jax_use_simplified_jaxpr_constants"))
    """
    is_skipped = outcome.outcome.endswith("skipped") and is_good(outcome)
    return is_skipped and _NAME_OF_FLAG.search(outcome.summary) is not None


def side_record(run: SideRun, python: SuitePython) -> SuiteSide:
    """Return the record of a side: versions, flag and counts."""
    heard = run.heard
    last = heard.versions[-1] if heard.versions else {}
    flags = [each["flag"] for each in heard.versions if each["flag"] is not None]
    own = VARIABLES[run.side]
    variables = (each["variable"] for each in (heard.begin, *heard.versions) if each)
    counts = Counter(outcome_of(run, test).outcome for test in run.selected)
    return SuiteSide(
        side=run.side,
        interpreter=python.name,
        executable=heard.begin.get("executable", str(python.python)),
        python=heard.begin.get("python", ""),
        pytest=heard.begin.get("pytest", ""),
        jax=last.get("jax", ""),
        jaxlib=last.get("jaxlib", ""),
        variable=next((each for each in variables if each != own), own),
        flag_at_start=flags[0] if flags else None,
        flag_at_end=flags[-1] if flags else None,
        counts=dict(sorted(counts.items())),
        seconds=run.seconds,
        starts=run.starts,
        ending=run.ending,
    )


def without_numbers(text: str) -> str:
    """Return a text with each number, address and name of a temporary file as "#", on one line.

    Example::

        >>> without_numbers("off by 4.5e-3 at 0x7f00")
        'off by # at #'
    """
    return " ".join(_PASSING.sub("#", text).split())


def why_of(legacy: SuiteOutcome, simplified: SuiteOutcome) -> tuple[str, str]:
    """Return the line that raised where simplified fails alone, and what helps; "" where unknown.

    Example::

        why_of(passed, failed) == ("test_model.py:7", "capture a copy made before tracing, ...")
    """
    if not simplified.summary or legacy.summary:
        return "", ""
    raised = [each for each in _RAISED.findall(simplified.text) if "site-packages" not in each]
    said = "\n".join((simplified.summary, *_OF_EXCEPTION.findall(simplified.text)))
    return next(reversed(raised), ""), what_helps(said)


def have_one_reason(one: SuiteOutcome, other: SuiteOutcome) -> bool:
    """Say whether two outcomes give the same exception with the same message."""
    return _reason(one) == _reason(other)


def _reason(outcome: SuiteOutcome) -> tuple[str, str]:
    # The summary is the first line of a message. --tb=native and a doctest mark no lines.
    marked = "\n".join(_OF_EXCEPTION.findall(outcome.text))
    said = marked or outcome.text.rpartition('\n  File "')[2]
    return without_numbers(outcome.summary), without_numbers(said)


# -- both sides, one after the other, and what differs run once more -------------------------------


@dataclass
class Again:
    """Both sides of tests that differed, run once more."""

    tests: frozenset[str]
    runs: dict[StockSide, SideRun] = field(default_factory=dict)


@dataclass
class Pair:
    """An interpreter and its two sides, as far as they have run."""

    python: SuitePython
    first: dict[StockSide, SideRun] = field(default_factory=dict)
    again: list[Again] = field(default_factory=list)

    def has_run(self) -> bool:
        """Say whether both sides have finished."""
        return len(self.first) == 2 and all(run.finished for run in self.first.values())

    def knows(self, test: str) -> bool:
        """Say whether both outcomes of a test are known, as all are at the end."""
        ran = [test in run.heard.finished for run in self.first.values()]
        return self.has_run() or (len(ran) == 2 and all(ran))

    def has_begun(self) -> bool:
        """Say whether a side came as far as its tests: pytest itself had no internal error."""
        return any(run.has_begun for run in self.first.values())

    def tests(self) -> list[str]:
        """Return the tests of both sides, those of legacy first, then what one cannot collect."""
        runs = (self.first[side].selected for side in STOCK_SIDES if side in self.first)
        tests = dict.fromkeys(test for selected in runs for test in selected)
        above = {each for test in tests for each in _above(test)}
        return [*tests, *sorted(self._uncollected() - above)]

    def _uncollected(self) -> set[str]:
        """Return the files, classes and folders that one side alone cannot collect."""
        if not self.has_run():
            return set()
        legacy, simplified = (self.first[side].uncollected() for side in STOCK_SIDES)
        return legacy ^ simplified

    def compared(self, test: str) -> SuiteComparison:
        """Return what both sides made of a test."""
        legacy, simplified = self._outcomes(self.first, test)
        where, action = why_of(legacy, simplified)
        is_one_side = any(self._has_flag_of_other(side, test) for side in STOCK_SIDES)
        return SuiteComparison(
            test=test,
            interpreter=self.python.name,
            legacy=legacy,
            simplified=simplified,
            again=self._again(test),
            where=where,
            action=action,
            sets_flag=is_one_side,
        )

    def _has_flag_of_other(self, side: StockSide, test: str) -> bool:
        seen = {flag for phase in phases_of(self.first[side], test) for flag in phase.flags}
        return (side == "jax-legacy") in seen

    def _again(self, test: str) -> tuple[str, str] | None:
        runs = [each.runs for each in self.again if test in each.tests and len(each.runs) == 2]
        if not runs:
            return None
        legacy, simplified = self._outcomes(runs[-1], test)
        return told(legacy), told(simplified)

    def _outcomes(self, runs: Mapping[StockSide, SideRun], test: str) -> list[SuiteOutcome]:
        found = [outcome_of(runs[side], test) for side in STOCK_SIDES]
        if test in self._uncollected():
            return [each if each.summary else SuiteOutcome(outcome=COLLECTED) for each in found]
        return found


def run_pair(pair: Pair, asked: Asked, folder: Path, tell: Callable[[str], None]) -> None:
    """Run both sides into `pair`, then the tests that differ once more, by themselves.

    What does not differ then may differ after other tests alone: those of its file, or of others.
    `pair` is given, so that an interrupt leaves what is known by then. `tell` gets a line of text
    when a side ends, and now and then before.
    """
    python = pair.python
    _run_sides(python, asked, folder / "first", pair.first, tell)
    first = pair.tests()
    differing = [test for test in first if differs(pair.compared(test))]
    ran: frozenset[str] = frozenset()
    for number, (how, chosen) in enumerate(_AGAIN):
        only = frozenset(chosen(differing, first)) if differing else ran
        if only <= ran:
            continue
        tell(f"{counted(len(differing), 'test')} of {python.name} differ: once more {how}")
        pair.again.append(Again(frozenset(differing)))
        again = replace(asked, only=only)
        _run_sides(python, again, folder / f"again{number}", pair.again[-1].runs, tell)
        differing = [test for test in differing if not is_repeatable(pair.compared(test))]
        ran = only


def _of_files(differing: Sequence[str], first: Sequence[str]) -> Iterator[str]:
    files = set(map(_file_of, differing))
    return (test for test in first if _file_of(test) in files)


def _up_to(differing: Sequence[str], first: Sequence[str]) -> Sequence[str]:
    return first[: first.index(differing[-1]) + 1]


# How tests run again that differ: those that still do not differ go on to the next.
_AGAIN: tuple[tuple[str, Callable[[Sequence[str], Sequence[str]], Iterable[str]]], ...] = (
    ("by themselves", lambda differing, _: differing),
    ("with their file", _of_files),
    ("with all tests before them", _up_to),
)


def _file_of(test: str) -> str:
    return test.partition("::")[0]


def _run_sides(
    python: SuitePython,
    asked: Asked,
    folder: Path,
    runs: dict[StockSide, SideRun],
    tell: Callable[[str], None],
) -> None:
    # One after the other: tests that measure time are not disturbed.
    for side in STOCK_SIDES:
        run = runs[side] = SideRun(side, python, asked, folder / side, tell)
        supervise([run], at_once=1)
        tell(f"{side}, {python.name}: {len(run.heard.finished)} tests in {run.seconds:.1f} seconds")


def differs(compared: SuiteComparison) -> bool:
    """Say whether the sides differ; a test that did not run on one is not compared."""
    if NOT_RUN in (compared.legacy.outcome, compared.simplified.outcome):
        return False
    return told(compared.legacy) != told(compared.simplified) and not knows_the_flag(compared)


def told(outcome: SuiteOutcome) -> str:
    """Return what the sides are compared by: of a failure the reason is compared by itself.

    Example::

        told(SuiteOutcome(outcome="skipped", summary="needs 4 TPUs")) == "skipped: needs # TPUs"
    """
    if not is_good(outcome):
        return outcome.outcome
    is_skipped = outcome.outcome.endswith("skipped")
    return f"{outcome.word}: {without_numbers(outcome.summary)}" if is_skipped else outcome.word


def knows_the_flag(compared: SuiteComparison) -> bool:
    """Say whether one side skipped a test, naming JAX's flag, and the other one had no failure."""
    sides = (compared.legacy, compared.simplified)
    others = [each for each in sides if not names_the_flag(each)]
    return len(others) == 1 and is_good(others[0])


def is_repeatable(compared: SuiteComparison) -> bool:
    """Say whether the second run differed as well, and not with the sides swapped."""
    if compared.again is None:
        return True  # it was interrupted: what was seen once stands
    legacy, simplified = compared.again
    swapped = (told(compared.simplified), told(compared.legacy))
    return legacy != simplified and compared.again != swapped
