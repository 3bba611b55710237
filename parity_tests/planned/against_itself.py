"""A/A: the programs of a task run on their first side twice, before any other side does.

What differs is set apart by name. It comes first so that what is compared later is known by then.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from parity_tests.campaign.folder import setup_of
from parity_tests.campaign.options import CampaignOptions
from parity_tests.evidence.records import Recorded
from parity_tests.judge.comparison import compare_pairs
from parity_tests.processes.protocol import Job, Progress
from parity_tests.processes.side_runs import run_sides
from reports.rows import Comparison


@dataclass
class AgainstItself:
    """Compares programs with themselves when a campaign begins; `folder` keeps the second runs.

    `progress` is told of the first runs, as parts of the campaign. `differing` says, by target,
    what is different.

    Example::

        campaign.run(targets, options, first=(apart := AgainstItself(folder / "again", progress)))
        apart.differing == {"model.py:noise": "output bits: ..."}
    """

    folder: Path
    progress: Progress
    differing: dict[str, str] = field(default_factory=dict)

    def __call__(self, jobs: Sequence[Job], options: CampaignOptions, folder: Path) -> None:
        """Run programs on the first side twice; the campaign finds the first runs in `folder`."""
        side, total = options.sides[0], len(jobs) * len(options.sides)

        def step(done: int, of_side: int, text: str) -> None:
            self.progress(done, total, text)

        again = options.once_more(steady_calls=options.steady_calls, processes=1)
        # Both runs see the same programs before each: what those leave behind is no difference.
        first = run_sides(jobs, [side], folder, setup_of(options), progress=step)
        second = run_sides(jobs, [side], self.folder, again)
        for job in jobs:
            found = first.get((job.number, side)), second.get((job.number, side))
            if what := _different(*found):
                self.differing[job.target] = what


def _different(first: Recorded | None, again: Recorded | None) -> str:
    """Say what differs between two runs of one program; "" where nothing does."""
    if first is None or again is None:
        return ""
    failures = [each.observation.failure for each in (first, again)]
    if any(failures):
        said = [f"{each.type} in {each.stage}" if each else "no failure" for each in failures]
        return "" if said[0] == said[1] else f"{said[0]}, then {said[1]}"
    compared = compare_pairs([(first.evidence(), again.evidence())])
    different = [each for each in compared if each.outcome == "different"]
    return "; ".join(map(_said, different[:3]))


def _said(comparison: Comparison) -> str:
    return f"{comparison.metric}: {comparison.left_value} against {comparison.right_value}"
