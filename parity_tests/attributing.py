"""The drift in the rows of a campaign, attributed: of a live run, and of two saved ones.

A cause is evidence as a comparison is: what it says of a row belongs to the verdict, so both ask
for it here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from parity_tests.drift import Drift, attribute, drifting_pairs
from parity_tests.judge import Evidence
from parity_tests.sides import Progress
from parity_tests.targets import file_of
from parity_tests.values import Value
from parity_tests.worker import Job, digest_of
from reports.rows import DriftAttribution, ProgramRow, Side, Verdict

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
        causes = []
        for (left, right), rung in pairs.items():
            if isinstance(job, str):
                causes.append(
                    DriftAttribution(left=left, right=right, cause="not attributed", evidence=job)
                )
                continue
            drift = Drift(job, evidence_of(number, left), evidence_of(number, right), rung, truth)
            causes.append(attribute(drift, folder, timeout=timeout))
        found[number] = _with_drift(rows[number], tuple(causes))
    if drifting:
        progress(len(drifting), len(drifting), "")
    return tuple(found)


def saved_job(number: int, row: ProgramRow, digests: set[str]) -> Job | str:
    """Return how to run the program of a saved row again, or why it is not run.

    A file may come from anywhere, so what it names is run only where the source that would be
    imported is, byte for byte, the one that was measured: `digests` are those in the files.

        saved_job(0, row, {row.digest})
    """
    file = file_of(row.target) if row.target else None
    source = Path(row.source.rpartition(":")[0])
    if file is None or not source.is_file() or not source.samefile(file):
        return f"its source ({row.source}) is not here, so it was not run again"
    if digests != {digest_of(source)}:
        return f"its source ({row.source}) is another than what was saved, so it was not run again"
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
