"""Compare two saved campaigns with the judge of a live run.

Where they measured different sides, they are put together and judged as one campaign. The files
have the arbiter's outputs. Nothing runs, unless drift is to be attributed. A side that both
measured is compared with itself: yesterday's run with today's, one JAX with another.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from parity_tests.drift.of_campaign import NotRunAgain, attribute_drift, saved_job
from parity_tests.evidence.records import Evidence
from parity_tests.evidence.saved import Saved
from parity_tests.evidence.temporary_folders import temporary_folder
from parity_tests.evidence.values import Value
from parity_tests.judge.across_versions import counts_not_judged, why_not_comparable
from parity_tests.judge.comparison import compare_pairs
from parity_tests.judge.findings import Findings
from parity_tests.judge.sides import Sides, pairs_of
from parity_tests.judge.timing import judge_times
from parity_tests.judge.verdict import RowDraft, conclude
from parity_tests.processes.options import ATTRIBUTION_TIMEOUT, Limits
from parity_tests.processes.protocol import Job, Progress
from parity_tests.run.provenance import provenance_of_saved
from reports.rows import SIDES, Campaign, Hazard, ProgramRow, Side, TimeComparison
from reports.views.measured import lines


def compare(
    left: Saved,
    right: Saved,
    *,
    attribute: bool = False,
    timeout: float = 120.0,
    attribution_timeout: float = ATTRIBUTION_TIMEOUT,
    progress: Progress = lambda done, total, text: None,
) -> Campaign:
    """Judge every program of two saved campaigns; a program that one of them lacks is not compared.

    With `attribute`, both sides of a program whose outputs are not bitwise equal run again to find
    out why, if its source and the environment have not changed. That imports the modules that the
    files name, so use it on trusted files. `timeout` is in seconds for one run, and
    `attribution_timeout` for all runs of one program.

    Times of other sources, versions or machines are left out, and `provenance` of the campaign says
    so. Where a side is compared with itself on two versions of JAX or platforms, counts and printed
    jaxprs are shown and not judged. Raises `SavedError` where arrays cannot be read.

    Example::

        compare(Saved.read(Path("A.json")), Saved.read(Path("B.json"))).verdict
    """
    untimed, provenance = provenance_of_saved(left, right)
    left, right = (_without_times(each, untimed) for each in (left, right))
    pairs = _pairs(left.campaign.sides, right.campaign.sides)
    of_left, of_right = left.rows(), right.rows()
    times = judge_times(
        {name: row.time_samples for name, row in of_left.items()},
        {name: row.time_samples for name, row in of_right.items()},
        pairs,
    )
    drafts, names = [], dict.fromkeys([*of_left, *of_right])
    for number, name in enumerate(names):
        progress(number, len(names), f"judging {name}")
        if name not in of_left or name not in of_right:
            there = left if name in of_left else right
            drafts.append(_only_in(there, of_left.get(name) or of_right[name]))
        else:
            drafts.append(_draft(left, right, name, pairs, times.get(name, ())))
    if attribute and not _is_repeated(pairs):
        drafts = _attributed(left, right, drafts, Limits(timeout), attribution_timeout, progress)
    return Campaign(
        created=max(left.campaign.created, right.campaign.created),
        environment=left.campaign.environment,
        provenance=provenance,
        files_measured=_measured(left, right) if _is_repeated(pairs) else (),
        sides=tuple(s for s in SIDES if s in {*left.campaign.sides, *right.campaign.sides}),
        programs=tuple(each.row(conclude(each.findings, pairs)) for each in drafts),
    )


def _without_times(saved: Saved, names: Collection[str]) -> Saved:
    """Return a saved campaign without the times of some programs."""
    rows = tuple(_untimed(row) if row.name in names else row for row in saved.campaign.programs)
    return replace(saved, campaign=saved.campaign.model_copy(update={"programs": rows}))


def _untimed(row: ProgramRow) -> ProgramRow:
    observations = tuple(each.model_copy(update={"times": None}) for each in row.observations)
    return row.model_copy(update={"observations": observations, "time_samples": ()})


def _pairs(left: tuple[Side, ...], right: tuple[Side, ...]) -> list[tuple[Side, Side]]:
    """Return the pairs that are compared: the left side of each is looked for in `left` first."""
    both = [side for side in SIDES if side in left and side in right]
    if both:
        return [(side, side) for side in both]
    return pairs_of({*left, *right})


def _draft(
    left: Saved, right: Saved, name: str, pairs: list[Sides], times: tuple[TimeComparison, ...]
) -> RowDraft:
    in_left, in_right = left.evidence(name), right.evidence(name)
    if _is_repeated(pairs):
        compared = [(in_left[a], in_right[b]) for a, b in pairs if a in in_left and b in in_right]
    else:
        together = {**in_left, **in_right}
        compared = [(together[a], together[b]) for a, b in pairs if {a, b} <= set(together)]
    truth = left.truth(name) or right.truth(name)
    row, other = left.rows()[name], right.rows()[name]
    comparisons = compare_pairs(compared, truth)
    if _is_repeated(pairs) and _lowered_by(left) != _lowered_by(right):
        comparisons = counts_not_judged(comparisons)
    not_run = ""
    if any(each.outcome == "different" for each in comparisons):
        not_run = why_not_comparable(compared, (row, other))
    findings = Findings(
        not_run=not_run,
        observed=tuple(each.observation for each in (*in_left.values(), *in_right.values())),
        comparisons=comparisons,
        times=times,
        hazards=_of_either(row.hazards, other.hazards),
        no_arbiter="" if truth else "neither of the files has its outputs",
        too_late=row.too_late or other.too_late,
    )
    shown = tuple(each.observation for each in {**in_right, **in_left}.values())
    return RowDraft(row, findings, shown, row.time_samples)


def _of_either(left: tuple[Hazard, ...], right: tuple[Hazard, ...]) -> tuple[Hazard, ...]:
    """Return the hazards of two runs of a program, each once: the later run may have new ones."""
    known = {(each.kind, each.file, each.line) for each in left}
    return (*left, *(e for e in right if (e.kind, e.file, e.line) not in known))


def _is_repeated(pairs: list[tuple[Side, Side]]) -> bool:
    """Say whether sides are compared with themselves."""
    return any(a == b for a, b in pairs)


def _measured(left: Saved, right: Saved) -> tuple[str, ...]:
    """Say what each file was measured with; nothing where it is the same."""
    of_left, of_right = ([*lines(each.campaign.programs)] for each in (left, right))
    if of_left == of_right:
        return ()
    return (
        *(f"{left.path}: {each}" for each in of_left),
        *(f"{right.path}: {each}" for each in of_right),
    )


def _lowered_by(saved: Saved) -> tuple[str, str, str]:
    """Return what decides how a program is lowered: the release of JAX, and the platform."""
    environment = saved.campaign.environment
    return environment.jax, environment.jaxlib, environment.backend


def _only_in(saved: Saved, row: ProgramRow) -> RowDraft:
    findings = Findings(
        observed=row.observations,
        hazards=row.hazards,
        drift=row.drift,
        not_run=f"only {saved.path} has it",
    )
    return RowDraft(row, findings, row.observations, row.time_samples)


def _attributed(
    left: Saved,
    right: Saved,
    drafts: list[RowDraft],
    limits: Limits,
    timeout: float,
    progress: Progress,
) -> list[RowDraft]:
    def job_of(number: int) -> Job | NotRunAgain:
        both = [each.rows()[drafts[number].program.name] for each in (left, right)]
        environments = [each.campaign.environment for each in (left, right)]
        return saved_job(number, both, environments, folder, limits)

    def evidence_of(number: int, side: Side) -> Evidence:
        name = drafts[number].program.name
        return {**left.evidence(name), **right.evidence(name)}[side]

    def truth_of(number: int) -> tuple[Value, ...]:
        name = drafts[number].program.name
        return left.truth(name) or right.truth(name)

    with temporary_folder() as folder:
        return attribute_drift(
            drafts,
            job_of,
            evidence_of,
            truth_of,
            folder,
            limits,
            timeout=timeout,
            progress=progress,
        )
