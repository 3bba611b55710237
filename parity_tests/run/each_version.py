"""Run the same campaign in several interpreters, one after the other, and make a grid of it.

Each campaign is saved with its arrays, and its programs are judged across the versions of JAX.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path

from packaging.version import InvalidVersion, Version

from parity_tests.evidence.saved import Saved
from parity_tests.evidence.temporary_folders import temporary_folder
from parity_tests.judge.across_versions import OnVersion, changes, why_not_repeatable
from parity_tests.judge.timing import judge_times
from parity_tests.processes.interpreters import versions_of
from parity_tests.processes.protocol import Progress
from parity_tests.run import run as campaign
from parity_tests.run.collection import SidesError
from parity_tests.run.estimates import Announce
from parity_tests.run.folder import campaign_folder
from parity_tests.run.measuring import in_turns, run_once, take_turn, to_time
from parity_tests.run.options import CampaignOptions
from parity_tests.targets import TargetError
from reports.rows import SIDES, Campaign, ProgramRow, TimeComparison, now
from reports.rows.grid import Grid
from reports.rows.grid_row import GridVersion, VersionChange


@dataclass(frozen=True)
class Interpreter:
    """An interpreter that a campaign runs in, its version of JAX, and its label in a grid."""

    path: Path
    jax: str
    label: str


@dataclass(frozen=True)
class EachVersion:
    """A grid, and what went wrong on the way: the grid says the same of the versions concerned."""

    grid: Grid
    was_interrupted: bool = False
    not_saved: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()


def interpreters_at(paths: Sequence[Path]) -> list[Interpreter]:
    """Ask interpreters for their versions, and give each its label.

    Example::

        interpreters_at([Path("a/bin/python")])[0].label == "0.12.0.1"
    """
    versions = [versions_of(path) for path in paths]
    labels = labels_of([(each.jax, each.python) for each in versions])
    return [
        Interpreter(path, version.jax, label)
        for path, version, label in zip(paths, versions, labels, strict=True)
    ]


def run_each(
    targets: Sequence[str],
    options: CampaignOptions,
    interpreters: Sequence[Interpreter],
    *,
    progress: Progress = lambda done, total, text: None,
    announce: Announce = lambda text: None,
    stops_after: Callable[[ProgramRow], bool] | None = None,
) -> EachVersion:
    """Run a campaign in each interpreter, and judge its programs across their versions of JAX.

    The file of `options.save` and the folder of `options.resume` are one for each version, with its
    label in the name. Targets that are wrong in one interpreter, and sides that cannot run there,
    leave its version without a campaign. Where `stops_after` says yes, the versions after it are
    not run. Raises `ResumeError` and `StoreError`.

    Example::

        run_each(["my_model.py"], options, interpreters_at(paths)).grid.headline.question
    """
    with temporary_folder() as folder:
        runs = _Runs(targets, options, folder, progress, announce, stops_after)
        has_turns = options.rounds > 0 and stops_after is None
        if has_turns:
            runs.take_times(interpreters)
        found = [runs.run(each) for each in interpreters]
        return EachVersion(
            grid=grid_of(found, timed_in_turns=has_turns),
            was_interrupted=runs.was_interrupted,
            not_saved=tuple(runs.not_saved),
            refused=tuple(runs.refused),
        )


def file_of(path: Path, label: str) -> Path:
    """Return the file of one version beside a file that was asked for.

    Example::

        file_of(Path("A.json"), "0.12.0.1") == Path("A-0.12.0.1.json")
    """
    return path.with_name(f"{path.stem}-{_in_name(label)}{path.suffix}")


@dataclass
class _Runs:
    """The campaigns of one command; `why_not` says why those that are left are not run."""

    targets: Sequence[str]
    options: CampaignOptions
    folder: Path
    progress: Progress
    announce: Announce
    stops_after: Callable[[ProgramRow], bool] | None
    why_not: str = ""
    was_interrupted: bool = False
    not_saved: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)

    def take_times(self, interpreters: Sequence[Interpreter]) -> None:
        """Run the rounds of all versions in turns, A B B A, where their campaigns find them.

        A machine that grows slower meanwhile then slows all versions alike.
        """
        try:
            with contextlib.ExitStack() as folders:
                contexts = []
                for each in interpreters:
                    self.announce(f"jax {each.label}: {each.path}")
                    options = self._options(each)
                    folder = folders.enter_context(campaign_folder(options.resume))
                    with contextlib.suppress(TargetError, SidesError):  # its campaign will say so
                        context = campaign.prepared(
                            self.targets, options, folder, self.progress, self.announce
                        )
                        contexts.append(run_once(context))
                timed = [(to_time(each), each) for each in contexts]
                for turn in range(2 * self.options.rounds):
                    for jobs, context in in_turns(timed, turn):
                        for side in in_turns(context.options.sides, turn):
                            take_turn(jobs, context, turn, side)
        except KeyboardInterrupt:
            self.was_interrupted, self.why_not = True, "interrupted"

    def run(self, interpreter: Interpreter) -> RanOn:
        """Run the campaign in one interpreter, if nothing has stopped the command before."""
        label, jax = interpreter.label, interpreter.jax
        if self.why_not:
            return RanOn(label, jax, missing=self.why_not)
        self.announce(f"jax {label}: {interpreter.path}")
        try:
            found = self._campaign(interpreter)
        except (TargetError, SidesError) as error:
            self.refused.append(str(error))
            return RanOn(label, jax, missing=str(error))
        except KeyboardInterrupt:
            self.was_interrupted, self.why_not = True, "interrupted"
            return RanOn(label, jax, missing=self.why_not)
        rows = found.campaign.programs if found.campaign else ()
        if self.stops_after is not None and any(map(self.stops_after, rows)):
            self.why_not = f"the campaign on {label} stopped at its first finding (-x)"
        return found

    def _campaign(self, interpreter: Interpreter) -> RanOn:
        label, jax = interpreter.label, interpreter.jax
        options = self._options(interpreter)
        assert options.save is not None
        try:
            campaign.run(
                self.targets,
                options,
                progress=self.progress,
                announce=self.announce,
                stops_after=self.stops_after,
            )
        except campaign.NotSavedError as error:
            self.not_saved.append(str(error))
            if error.has_file:
                return RanOn(label, jax, Saved.read(options.save))
            return RanOn(label, jax, without_arrays=error.campaign)
        return RanOn(label, jax, Saved.read(options.save))

    def _options(self, interpreter: Interpreter) -> CampaignOptions:
        # Its results are saved in any case, to be judged across versions.
        save = file_of(self.options.save or self.folder / "results.json", interpreter.label)
        resume = self.options.resume
        if resume is None and self.options.rounds:
            resume = self.folder
        own = {
            "python": interpreter.path,
            "save": save,
            "resume": resume and resume / _in_name(interpreter.label),
        }
        return self.options.model_copy(update=own)


def _in_name(label: str) -> str:
    return label.replace(" ", "-").replace("(", "").replace(")", "")


# -- the grid --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RanOn:
    """What came of one environment: a campaign, saved with its arrays, or why there is none.

    `label` names the environment, as `labels_of` does. A campaign whose arrays could not be saved
    is not judged across versions.
    """

    label: str
    jax: str  # the version, by which environments are put in order; "" where it is not known
    saved: Saved | None = None
    without_arrays: Campaign | None = None
    missing: str = ""

    @property
    def campaign(self) -> Campaign | None:
        """The campaign, if there is one."""
        return self.saved.campaign if self.saved else self.without_arrays


def labels_of(versions: Sequence[tuple[str, str]]) -> list[str]:
    """Name environments by their versions of JAX and, where those are the same, of Python.

    Example::

        >>> labels_of([("0.10.2", "3.11.7"), ("0.12.0.1", "3.12.1"), ("0.12.0.1", "3.13.0")])
        ['0.10.2', '0.12.0.1 py3.12', '0.12.0.1 py3.13']
    """
    jax = [each[0] or "unknown" for each in versions]
    plain = [
        f"{label} py{'.'.join(python.split('.')[:2])}" if jax.count(label) > 1 else label
        for label, (_, python) in zip(jax, versions, strict=True)
    ]
    labels, seen = [], Counter[str]()
    for label in plain:
        seen[label] += 1
        labels.append(f"{label} ({seen[label]})" if plain.count(label) > 1 else label)
    return labels


def grid_of(found: Sequence[RanOn], *, timed_in_turns: bool = False) -> Grid:
    """Make the grid of campaigns, in the order of their versions of JAX.

    Times are judged from one version to the next where they were taken in turns. Raises
    `SavedError` where arrays cannot be read.

    Example::

        grid_of([RanOn("0.10.2", "0.10.2", Saved.read(Path("A.json")))]).headline.question
    """
    in_order = sorted(found, key=lambda each: _age(each.jax))
    return Grid(
        created=now(),
        versions=tuple(
            GridVersion(label=each.label, campaign=each.campaign, missing=each.missing)
            for each in in_order
        ),
        changes=tuple(_changes(in_order, timed_in_turns=timed_in_turns)),
    )


def _age(version: str) -> tuple[bool, Version]:
    """Return a key that sorts versions; those that are not known come last."""
    try:
        return False, Version(version)
    except InvalidVersion:
        return True, Version("0")


def _changes(found: Sequence[RanOn], *, timed_in_turns: bool) -> Iterator[VersionChange]:
    saved = [(each.label, each.saved) for each in found if each.saved]
    times = _times(saved) if timed_in_turns else {}
    names = dict.fromkeys(row.name for _, each in saved for row in each.campaign.programs)
    for name in names:
        on_versions = [
            OnVersion(
                label,
                each.evidence(name),
                each.truth(name),
                why_not_repeatable(rows[name]),
                rows[name].digest,
            )
            for label, each in saved
            if name in (rows := each.rows())
        ]
        for each in changes(name, on_versions):
            judged = times.get((each.before, each.after), {}).get(name, ())
            own = tuple(time for time in judged if time.left == each.side)
            yield each.model_copy(update={"times": own})


def _times(
    saved: Sequence[tuple[str, Saved]],
) -> dict[tuple[str, str], dict[str, tuple[TimeComparison, ...]]]:
    """Judge the times of each version against those of each before, by program.

    A version is compared with the last one that has run a program, which may not be its neighbour.
    """
    samples = [
        (label, {row.name: row.time_samples for row in each.campaign.programs})
        for label, each in saved
    ]
    sides = [(side, side) for side in SIDES]
    return {
        (before, after): judge_times(left, right, sides)
        for (before, left), (after, right) in combinations(samples, 2)
    }
