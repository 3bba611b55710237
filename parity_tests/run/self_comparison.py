"""A/A: one side against itself, again and again; every difference is a fault of the tester.

The judge of a campaign compares outputs and counters of every run with the first run. Each run is
a sample of its times: the runs are dealt to two halves in the order A B B A, and the halves are
judged like two sides. There is nothing to find, so each verdict of faster or slower is a false
alarm. A planned campaign runs its first side twice before any other side does, so that programs
that differ from themselves are known when sides are compared.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from parity_tests.evidence.folder_layout import finished_programs, turn_folder
from parity_tests.evidence.records import Recorded
from parity_tests.judge.comparison import compare_pairs
from parity_tests.judge.findings import Findings
from parity_tests.judge.timing import FEWEST_SAMPLES, judge_times, one_sided
from parity_tests.judge.verdict import RowDraft, conclude, worst
from parity_tests.processes.protocol import Listed, Progress
from parity_tests.processes.side_runs import run_sides
from parity_tests.run.collection import Context, collect, with_sides_that_run
from parity_tests.run.estimates import Announce, spoken
from parity_tests.run.folder import Setup, campaign_folder, check_same_campaign, setup_of
from parity_tests.run.measuring import samples_of
from parity_tests.run.options import CampaignOptions
from reports.rows import Campaign, ProgramRow, Side, TimeComparison, TimeSamples, metrics, now

# The largest share of alarms among the comparisons of times.
MOST_ALARMS = 0.01
FEWEST_FOR_TIMES = 2 * FEWEST_SAMPLES


@dataclass(frozen=True)
class SelfComparison:
    """The campaign of a side with itself, and how often it was run."""

    campaign: Campaign
    runs: int

    @property
    def times(self) -> list[TimeComparison]:
        """The comparisons of times that came to any verdict."""
        judged = (each for row in self.campaign.programs for each in row.times)
        return [each for each in judged if each.verdict != "not measured"]

    @property
    def alarms(self) -> list[TimeComparison]:
        """The false alarms among them."""
        return [each for each in self.times if each.verdict in ("slower", "faster")]

    @property
    def is_trustworthy(self) -> bool:
        """Whether times gave few alarms, and not all of them in one direction."""
        few = len(self.alarms) <= MOST_ALARMS * len(self.times)
        return few and not one_sided(self.times)


def run(
    targets: Sequence[str],
    options: CampaignOptions,
    runs: int,
    *,
    progress: Progress = lambda done, total, text: None,
    announce: Announce = lambda text: None,
) -> SelfComparison:
    """Run programs `runs` times on one side, each time in a fresh process, and compare the runs.

    Of the options, it is the side, what is run, its limits and its interpreter, and `resume`.
    `announce` is told how long the other runs will take, by what the first one took. Raises
    `TargetError`, `SidesError` and `ResumeError` before anything runs.

    Example::

        run(["my_model.py"], CampaignOptions(sides=("jax-legacy",)), 20).is_trustworthy
    """
    with campaign_folder(options.resume) as folder:
        collected = collect(targets, folder, options.time_limit, options.select)
        with_sides_that_run(options, collected, announce)
        how = Setup(timeout=options.timeout, python=options.python)
        check_same_campaign(folder, collected.listing, how)
        turns = _turns(Context(collected, options, folder, progress, announce), runs)
        left, right = (
            _named(samples_of(dealt), collected.programs)
            for dealt in (
                [each for turn, each in enumerate(turns) if turn % 4 in (0, 3)],
                [each for turn, each in enumerate(turns) if turn % 4 in (1, 2)],
            )
        )
        [side] = options.sides
        times = judge_times(left, right, [(side, side)])
        rows = tuple(
            _row(
                program,
                [turn[number, side] for turn in turns if (number, side) in turn],
                times.get(program.name, ()),
            )
            for number, program in enumerate(collected.programs)
        )
    campaign = Campaign(
        created=now(),
        environment=collected.environment,
        sides=options.sides,
        programs=rows,
    )
    return SelfComparison(campaign, runs)


def _turns(context: Context, runs: int) -> list[dict[tuple[int, Side], Recorded]]:
    """Run the programs again and again; the first run that is no earlier one's gives the time."""
    turns: list[dict[tuple[int, Side], Recorded]] = []
    jobs, [side] = context.collected.jobs, context.options.sides
    how, announced = context.options.once_more(steady_calls=context.options.steady_calls), False
    for turn in range(runs if jobs else 0):
        context.progress(turn, runs, f"{side}: run {turn + 1} of {runs}")
        own, left = turn_folder(context.folder, turn), runs - turn - 1
        is_new = not any(finished_programs(own))
        begun = time.monotonic()
        turns.append(run_sides(jobs, [side], own, how))
        if is_new and left and not announced:
            announced, seconds = True, time.monotonic() - begun
            context.announce(
                f"a run took {spoken(seconds)}: {left} more will take {spoken(left * seconds)}"
            )
    context.progress(runs, runs, "")
    return turns


def _named(
    samples: dict[int, tuple[TimeSamples, ...]], programs: Sequence[Listed]
) -> dict[str, tuple[TimeSamples, ...]]:
    return {programs[number].name: each for number, each in samples.items()}


def _row(
    program: Listed, records: Sequence[Recorded], times: tuple[TimeComparison, ...]
) -> ProgramRow:
    runs = [_compared(records[0], each) for each in records[1:]]
    if runs:
        # Equal metrics are listed for the first two runs; the others would repeat them.
        comparisons = runs[0].comparisons + tuple(
            each
            for run in runs[1:]
            for each in run.comparisons
            if each.outcome in ("different", "not compared")
        )
        found = Findings(comparisons=comparisons, times=times)
        conclusion = worst([conclude(each) for each in runs])
    else:
        found = Findings(not_run=program.unavailable or "it was not run", times=times)
        conclusion = conclude(found)
    named = {"source": program.source or program.target, "target": "", "digest": ""}
    observations = tuple(each.observation for each in records[:1])
    return RowDraft(program.model_copy(update=named), found, observations).row(conclusion)


def _compared(first: Recorded, other: Recorded) -> Findings:
    """Compare a run with the first one."""
    comparisons = compare_pairs([(first.evidence(), other.evidence())])
    return Findings((first.observation, other.observation), comparisons)


# -- before another side runs ----------------------------------------------------------------------


@dataclass
class AgainstItself:
    """Compares programs with themselves when a campaign begins; `folder` keeps the second runs.

    `differing` says, by target, what is different.

    Example::

        campaign.run(targets, options, first=(apart := AgainstItself(folder / "again")))
        apart.differing == {"model.py:noise": "output bits: ..."}
    """

    folder: Path
    differing: dict[str, str] = field(default_factory=dict)

    def __call__(self, context: Context) -> None:
        """Run programs on the first side twice; the campaign finds the first runs in its folder."""
        options, jobs = context.options, context.collected.jobs
        side, total = options.sides[0], len(jobs) * len(options.sides)

        def step(done: int, of_side: int, text: str) -> None:
            context.progress(done, total, text)

        again = options.once_more(steady_calls=options.steady_calls, processes=1)
        # Both runs see the same programs before each: what those leave behind is no difference.
        first = run_sides(jobs, [side], context.folder, setup_of(options), progress=step)
        second = run_sides(jobs, [side], self.folder, again)
        for job in jobs:
            one, two = first.get((job.number, side)), second.get((job.number, side))
            if one and two and (what := _different(one, two)):
                self.differing[job.target] = what


def _different(first: Recorded, again: Recorded) -> str:
    """Say what differs between two runs of one program; "" where nothing does."""
    failures = [each.observation.failure for each in (first, again)]
    if any(failures):
        said = [f"{each.type} in {each.stage}" if each else "no failure" for each in failures]
        return "" if said[0] == said[1] else f"{said[0]}, then {said[1]}"
    compared = _compared(first, again).comparisons
    different = [each for each in compared if each.outcome == "different"]
    different.sort(key=lambda each: each.metric in metrics.NAMES)  # what is no figure comes first
    return "; ".join(
        f"{each.metric}: {each.left_value} against {each.right_value}" for each in different[:3]
    )
