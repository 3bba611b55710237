"""Attribute the drift of the programs of a campaign: of a live run, and of two saved ones.

The causes join the findings of a program, and `parity_tests.judge.verdict` says what they make
of its verdict.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from parity_tests.drift.attribution import Drift, attribute, drifting_pairs, has_repeated
from parity_tests.drift.rerun import warm_sides
from parity_tests.evidence.folder_layout import CampaignFiles
from parity_tests.evidence.records import Evidence
from parity_tests.evidence.values import Value
from parity_tests.judge.verdict import RowDraft
from parity_tests.processes.kept_files import note_refusal
from parity_tests.processes.listing import ListingError, list_programs
from parity_tests.processes.options import ATTRIBUTION_TIMEOUT, Limits
from parity_tests.processes.protocol import Job, Progress
from parity_tests.targets import TargetError
from reports.rows import Environment, ProgramRow, Side

# By the number of a program: the evidence of a side, the arbiter's outputs, and the job that runs
# it again, or the reason why it cannot.
EvidenceOf = Callable[[int, Side], Evidence]
TruthOf = Callable[[int], Sequence[Value]]
JobOf = Callable[[int], "Job | NotRunAgain"]


@dataclass(frozen=True)
class NotRunAgain:
    """Why a program cannot be run again to look into its drift."""

    why: str


def attribute_drift(
    drafts: Sequence[RowDraft],
    job_of: JobOf,
    evidence_of: EvidenceOf,
    truth_of: TruthOf,
    folder: Path,
    limits: Limits,
    *,
    timeout: float = ATTRIBUTION_TIMEOUT,
    progress: Progress,
) -> list[RowDraft]:
    """Give each program the causes of its numeric differences, or the reason why there are none.

    A program that does not repeat itself gets none. A program's number is its place in `drafts`.
    `folder` keeps the answers. `limits` are for one run of a program, and `timeout` is in seconds
    for all runs of one.
    """
    drifting = {
        number: pairs
        for number, draft in enumerate(drafts)
        if not draft.findings.not_repeatable
        and (pairs := drifting_pairs(draft.findings.comparisons))
    }
    found = list(drafts)
    with warm_sides(folder, limits, timeout) as warm:
        for done, (number, pairs) in enumerate(drifting.items()):
            phase = f"attributing the drift of {drafts[number].program.name}"
            progress(done, len(drifting), f"{phase}, at most {timeout:g} s")

            def run_again(what: str, done: int = done, phase: str = phase) -> None:
                progress(done, len(drifting), f"{phase}: {what}")

            warm.on_long = run_again
            findings, job, truth = drafts[number].findings, job_of(number), truth_of(number)
            if isinstance(job, NotRunAgain):
                findings = replace(findings, no_drift=job.why)
            else:
                drifts = [
                    Drift(
                        job,
                        evidence_of(number, left),
                        evidence_of(number, right),
                        worst.rung,
                        truth,
                        has_repeated(findings.comparisons, (left, right)),
                        worst.path,
                    )
                    for (left, right), worst in pairs.items()
                ]
                try:
                    causes = tuple(attribute(each, folder, warm) for each in drifts)
                    findings = replace(findings, drift=causes)
                except OSError as error:  # its folder was full, or went away
                    note_refusal(error)
                    findings = replace(findings, no_drift=f"it could not be run again ({error})")
            found[number] = replace(drafts[number], findings=findings)
    if drifting:
        progress(len(drifting), len(drifting), "")
    return found


def saved_job(
    number: int, rows: Sequence[ProgramRow], environments: Sequence[Environment], folder: Path,
    limits: Limits,
) -> Job | NotRunAgain:  # fmt: skip
    """Return how to run the program saved in `rows` again, or in words why it is refused.

    It is refused where its source or its environment changed since it was measured. The module is
    imported to find that out.
    """
    row = rows[0]
    if not row.target or any(each.target != row.target for each in rows):
        return NotRunAgain("the files do not name the same target for it")
    own = CampaignFiles(folder).listing_again(number)
    own.mkdir()
    try:
        listing = list_programs([row.target], own, limits)
    except (ListingError, TargetError) as error:
        return NotRunAgain(str(error).splitlines()[0])
    if listing.error is not None:
        return NotRunAgain(listing.error.splitlines()[0])
    digests = {*(each.digest for each in rows), *(each.digest for each in listing.programs)}
    if len(digests) > 1 or "" in digests:
        return NotRunAgain(f"its source ({row.source}) is another than what was measured")
    if any(each != listing.environment for each in environments):
        return NotRunAgain("it was measured in another environment than this")
    return Job(number=number, name=row.name, target=row.target)
