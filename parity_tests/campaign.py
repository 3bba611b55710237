"""A campaign: programs on sides, measured, judged, and put into rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from parity_tests.judge import judge, needs_arbiter
from parity_tests.resuming import campaign_folder, check_same_campaign
from parity_tests.sides import (
    ListingError,
    Progress,
    Recorded,
    arbitrate,
    list_programs,
    run_sides,
)
from parity_tests.targets import TargetError
from parity_tests.values import Value
from parity_tests.worker import Job, Listed, Listing
from reports.rows import SIDES, Campaign, ProgramRow, Side

TIMEOUT = 120.0


def run(
    targets: Sequence[str] = (),
    *,
    sides: Sequence[Side] = SIDES,
    timeout: float = TIMEOUT,
    resume: Path | None = None,
    progress: Progress = lambda done, total, text: None,
) -> Campaign:
    """Run the programs of targets, or the built-in corpus, on sides, and judge them.

    `timeout` is in seconds for one program on one side. `resume` is a folder that keeps what is
    finished: the same campaign, started again with it, goes on where it was interrupted. `progress`
    is called with what is done, the total, and a word on the last step. Raises `TargetError` and
    `ResumeError` before anything runs.

        run(["my_model.py:step"], sides=("legacy", "simplified")).verdict
    """
    with campaign_folder(resume) as folder:
        listing = _listing(targets, folder, timeout)
        check_same_campaign(folder, listing)
        programs = _with_unique_names(listing.programs)
        jobs = [
            _job(number, each) for number, each in enumerate(programs) if each.unavailable is None
        ]
        progress(0, len(jobs) * len(sides), "")
        recorded = run_sides(jobs, sides, folder, timeout=timeout, progress=progress)
        rows = tuple(
            _row(
                each,
                {side: record for (of, side), record in recorded.items() if of == number},
                partial(arbitrate, _job(number, each), folder, timeout=timeout),
            )
            for number, each in enumerate(programs)
        )
    assert listing.environment is not None
    return Campaign(
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        environment=listing.environment,
        sides=tuple(sides),
        programs=rows,
    )


def _job(number: int, program: Listed) -> Job:
    return Job(number=number, name=program.name, target=program.target)


def _listing(targets: Sequence[str], folder: Path, timeout: float) -> Listing:
    try:
        listing = list_programs(targets, folder, timeout=timeout)
    except ListingError as error:
        raise TargetError(str(error)) from error
    if listing.error is not None:
        raise TargetError(listing.error)
    return listing


def _with_unique_names(programs: Sequence[Listed]) -> list[Listed]:
    """Name programs that share a name by their targets: a report is keyed by name."""
    names = Counter(each.name for each in programs)
    return [
        each if names[each.name] == 1 else each.model_copy(update={"name": each.target})
        for each in programs
    ]


def _row(
    program: Listed,
    recorded: dict[Side, Recorded],
    ask_arbiter: Callable[[], tuple[Value, ...] | str],
) -> ProgramRow:
    if program.unavailable is not None:
        return ProgramRow(
            name=program.name,
            source=program.source or program.target,
            summary=program.summary,
            verdict="could not compare",
            reasons=(program.unavailable,),
            observations=(),
            comparisons=(),
        )
    observations = {side: recorded[side].observation for side in SIDES if side in recorded}
    outputs = {side: record.values() for side, record in recorded.items()}
    jaxprs = {side: record.jaxpr() for side, record in recorded.items()}
    judgement = judge(observations, outputs, jaxprs)
    reasons = judgement.reasons
    if needs_arbiter(judgement):
        truth = ask_arbiter()
        if isinstance(truth, str):
            reasons = (*reasons, f"there is no arbiter: {truth}")
        else:
            judgement = judge(observations, outputs, jaxprs, truth)
            reasons = judgement.reasons
    return ProgramRow(
        name=program.name,
        source=program.source,
        summary=program.summary,
        verdict=judgement.verdict,
        reasons=reasons,
        observations=tuple(observations.values()),
        comparisons=judgement.comparisons,
    )
