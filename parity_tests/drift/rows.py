"""The drift in the rows of a campaign, attributed: of a live run, and of two saved ones.

A cause is evidence as a comparison is: a bug decides the verdict of a row, in both alike.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from parity_tests.drift.attribution import Drift, attribute, drifting_pairs
from parity_tests.evidence.records import Evidence
from parity_tests.evidence.values import Value
from parity_tests.processes.listing import ListingError, list_programs
from parity_tests.processes.protocol import Job, Progress
from reports.rows import DriftAttribution, Environment, ProgramRow, Side, Verdict

# What a side left of a row, and the arbiter; and how to run its program again, or why not.
EvidenceOf = Callable[[int, Side], Evidence]
TruthOf = Callable[[int], Sequence[Value]]
JobOf = Callable[[int], Job | str]


def attributed(
    rows: Sequence[ProgramRow],
    job_of: JobOf,
    evidence_of: EvidenceOf,
    truth_of: TruthOf,
    folder: Path,
    *,
    timeout: float,
    progress: Progress,
) -> tuple[ProgramRow, ...]:
    """Give each row the causes of its numeric differences; a row is asked for by its place.

    `folder` keeps the answers, `timeout` is in seconds for one run of a program.

        attributed(rows, jobs.__getitem__, evidence, truth, folder, timeout=60, progress=advance)
    """
    drifting = {number: pairs for number, row in enumerate(rows) if (pairs := drifting_pairs(row))}
    found = list(rows)
    for done, (number, pairs) in enumerate(drifting.items()):
        progress(done, len(drifting), f"attributing the drift of {rows[number].name}")
        job, truth = job_of(number), truth_of(number)
        if isinstance(job, str):
            reasons = (*rows[number].reasons, f"the drift was not looked into: {job}")
            found[number] = rows[number].model_copy(update={"reasons": reasons})
            continue
        causes = [
            attribute(
                Drift(job, evidence_of(number, left), evidence_of(number, right), rung, truth),
                folder,
                timeout=timeout,
            )
            for (left, right), rung in pairs.items()
        ]
        found[number] = _with_drift(rows[number], tuple(causes))
    if drifting:
        progress(len(drifting), len(drifting), "")
    return tuple(found)


def saved_job(
    number: int, rows: Sequence[ProgramRow], environments: Sequence[Environment], folder: Path,
    *, timeout: float,
) -> Job | str:  # fmt: skip
    """Return how to run a program that was saved in `rows` again, or why that would say nothing.

    It says nothing of another source than what was measured, nor elsewhere than there, of which
    `environments` tell. The module is imported to find that out. `timeout` is in seconds.
    """
    row = rows[0]
    if not row.target or any(each.target != row.target for each in rows):
        return "the files do not name the same target for it"
    own = folder / f"listing-{number}"
    own.mkdir()
    try:
        listing = list_programs([row.target], own, timeout=timeout)
    except ListingError as error:
        return str(error).splitlines()[0]
    if listing.error is not None:
        return listing.error.splitlines()[0]
    digests = {*(each.digest for each in rows), *(each.digest for each in listing.programs)}
    if len(digests) > 1 or "" in digests:
        return f"its source ({row.source}) is another than what was measured"
    if any(each != listing.environment for each in environments):
        return "it was measured in another environment than this"
    return Job(number=number, name=row.name, target=row.target)


def _with_drift(row: ProgramRow, drift: tuple[DriftAttribution, ...]) -> ProgramRow:
    """Give a row its causes; a bug is a difference, within whatever tolerance its values are."""
    bugs = tuple(
        f"{each.left} and {each.right}: outputs differ by a bug: {each.evidence}"
        for each in drift
        if each.cause == "a bug"
    )
    verdict: Verdict = "difference" if bugs else row.verdict
    reasons = row.reasons if row.verdict == "difference" else (*bugs, *row.reasons)
    return row.model_copy(update={"drift": drift, "verdict": verdict, "reasons": reasons})
