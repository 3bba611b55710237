"""Prove programs: number both forms in processes of their own, and compare the numbers here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from parity_tests.evidence.found import HazardsFound, NumberedSteps
from parity_tests.evidence.records import Recorded
from parity_tests.evidence.temporary_folders import temporary_folder
from parity_tests.judge.findings import Findings
from parity_tests.judge.proofs import (
    NOT_RUN,
    breaking,
    claims_of,
    deciding,
    folded,
    kind_of,
    need_run,
    place_apart,
)
from parity_tests.judge.row_draft import RowDraft
from parity_tests.judge.sides import Sides
from parity_tests.judge.verdict import conclude
from parity_tests.processes.one_question import Asking, ask_all
from parity_tests.processes.protocol import (
    Job,
    Listed,
    NumberSteps,
    Progress,
)
from parity_tests.processes.side_runs import run_sides
from parity_tests.processes.worker_process import Lost
from parity_tests.run.collection import collect, with_sides_that_run
from parity_tests.run.options import PROVED_ON, CampaignOptions
from reports.rows import Environment, Failure, Observation, ProgramRow
from reports.rows.claims import Answer, Claim, answer_of
from reports.rows.proofs import Proofs, ProvedProgram

_NOT_REPEATED = (
    "it is another program each time that it is built, without a flip as well: seed its random "
    "numbers, and prove it again"
)
_NOT_ONE_JIT = (
    "its user calls more than one jitted function: what its Python does between them is not proved"
)


def prove(
    targets: Sequence[str],
    options: CampaignOptions,
    *,
    progress: Progress = lambda done, total, text: None,
) -> Proofs:
    """Prove that both forms of the programs of targets are one computation.

    Nothing is compiled or called. Raises `TargetError` and `SidesError` before anything runs.

    Example::

        prove(["my_model.py:step"], CampaignOptions(sides=("jax-legacy", "jax-simplified")))
    """
    with temporary_folder() as folder:
        collected = collect(targets, folder, options.time_limit, options.select)
        options = with_sides_that_run(
            options, collected.environment.jax, lambda text: None,
            has_flag=collected.listing.has_flag,
        )  # fmt: skip
        before, after = options.sides
        how = options.model_copy(update={"proves": True, "hazards_on": before})
        recorded = run_sides(collected.jobs, (before, after), folder, how, progress=progress)
        programs = []
        for number, listed in enumerate(collected.programs):
            found = [recorded.get((number, side)) for side in (before, after)]
            row = _row(listed, *found)
            if any(each.answer == "parted" for each in row.claims):
                progress(number, len(collected.programs), f"where {listed.name} parts")
                place = folder / "places" / str(number)
                row = _with_places(row, collected.job(number), (before, after), place, options)
            programs.append(row)
        return Proofs(
            created=datetime.now(UTC).isoformat(timespec="seconds"),
            environment=collected.environment,
            sides=(before, after),
            programs=tuple(programs),
        )


def _row(listed: Listed, before: Recorded | None, after: Recorded | None) -> ProvedProgram:
    def row(answer: Answer, **fields: Any) -> ProvedProgram:
        return ProvedProgram(
            name=listed.name, target=listed.target, source=listed.source, answer=answer, **fields
        )

    if before is None or after is None:
        return row("failed", failure=listed.unavailable or "it was not run")
    one, two = before.observation, after.observation
    if one.failure:
        return row("failed", failure=f"before the flip: {_said(one.failure)}")
    if two.failure:
        # One jit around several that its user calls may fail where they do not.
        is_one_jit = one.numbers is None or one.numbers.is_one_jit
        answer: Answer = "refuted" if is_one_jit else "undecided"
        why = "" if is_one_jit else _NOT_ONE_JIT
        said = f"after the flip: {_said(two.failure)}"
        return row(
            answer,
            failure=said,
            hazards=breaking(before.hazards().hazards),
            reservations=tuple(filter(None, [why])),
        )
    claims, hazards = claims_of(one, two), before.hazards()
    return row(
        answer_of(claims),
        claims=claims,
        captured=one.jaxpr.captured_arrays if one.jaxpr else 0,
        hazards=breaking(hazards.hazards),
        folded=folded(hazards.hazards),
        reservations=_reservations(one, hazards),
    )


def _said(failure: Failure) -> str:
    return f"{failure.kind} in {failure.stage}: {failure.type}: {failure.message}"


def _reservations(observation: Observation, hazards: HazardsFound) -> tuple[str, ...]:
    found = []
    if hazards.not_detected:
        found.append(f"its hazards are not known: {hazards.not_detected}")
    if observation.numbers is not None and not observation.numbers.is_one_jit:
        found.append(_NOT_ONE_JIT)
    return tuple(found)


def _with_places(
    row: ProvedProgram, job: Job, sides: Sides, folder: Path, options: CampaignOptions
) -> ProvedProgram:
    """Return a row with the place of each claim whose forms part."""
    claims = tuple(
        _with_place(each, job, sides, folder / f"{each.of}{each.platform}", options)
        for each in row.claims
    )
    return row.model_copy(update={"claims": claims})


def where_they_part(row: ProgramRow, folder: Path, options: CampaignOptions) -> tuple[Claim, ...]:
    """Return the claims of a program of a campaign, with the place of each whose forms part.

    Both forms are numbered once more, in processes of their own. Empty where no forms part and the
    program is proved, and where the campaign compared no forms of stock JAX.

    Example::

        where_they_part(row, folder, options)[0].place
    """
    if row.flip is None or (row.flip.left, row.flip.right) != PROVED_ON:
        return ()
    claims = row.flip.claims
    if deciding(claims) is None and not any(each.answer in _APART for each in claims):
        return ()
    job = Job(number=0, name=row.name, target=row.target)
    return tuple(
        _with_place(each, job, PROVED_ON, folder / f"{each.of}{each.platform}", options)
        for each in claims
    )


def first_alike(targets: Sequence[str], claim: Claim, options: CampaignOptions) -> str | None:
    """Return the first of programs, by their targets, that is not proved for the reason of `claim`.

    Each has both forms numbered in processes of its own sides; nothing is compiled or called. None
    where there is no such program.

    Example::

        first_alike(["smaller.py:step"], deciding(claims), options)
    """
    jobs = [
        Job(number=number, name=target.rpartition(":")[2], target=target)
        for number, target in enumerate(targets)
    ]
    sides = options.sides[0], options.sides[1]
    how = options.model_copy(update={"proves": True})
    with temporary_folder() as folder:
        recorded = run_sides(jobs, sides, folder, how)
        for job in jobs:
            before, after = (recorded.get((job.number, side)) for side in sides)
            claims = claims_of(before.observation, after.observation) if before and after else ()
            found = deciding(claims)
            if found is None or kind_of(found)[:3] != kind_of(claim)[:3]:
                continue
            found = _with_place(found, job, sides, folder / "places" / str(job.number), options)
            if kind_of(found) == kind_of(claim):
                return job.target
    return None


# Where effects differ in number, there is a first place as well.
_APART: tuple[Answer, ...] = ("parted", "refuted")


def _with_place(
    claim: Claim, job: Job, sides: Sides, folder: Path, options: CampaignOptions
) -> Claim:
    if claim.answer not in _APART:
        return claim
    asked = [
        Asking(
            NumberSteps(target=job.target, side=side, what=claim.of, platform=claim.platform),
            side, folder / side, options.limits,
        )
        for side in sides
    ]  # fmt: skip
    for each in asked:
        each.folder.mkdir(parents=True)
    before, after = ask_all(asked)
    if isinstance(before, Lost) or isinstance(after, Lost):
        return claim
    assert isinstance(before, NumberedSteps)
    assert isinstance(after, NumberedSteps)
    if claim.before and before.digest not in ("", claim.before):
        return claim.model_copy(update={"reason": _NOT_REPEATED})
    place = place_apart(before.steps, after.steps)
    return claim.model_copy(update={"place": place})


# -- before anything runs --------------------------------------------------------------------------


@dataclass(frozen=True)
class ProvedFirst:
    """The rows, by target, of programs that need not run, and where they were numbered."""

    environment: Environment
    rows: Mapping[str, ProgramRow]


def prove_first(
    targets: Sequence[str],
    options: CampaignOptions,
    folder: Path,
    *,
    lowers: Callable[[str], bool] = lambda target: True,
    progress: Progress = lambda done, total, text: None,
) -> ProvedFirst:
    """Prove programs on stock JAX's two sides, and make rows of those that need not run.

    These are proved, one jitted function each, and no run tells more of their hazards. Targets that
    `lowers` leaves out are numbered by their jaxprs, where these tell. Nothing is compiled or
    called; what `folder` has of before is not numbered again. Raises what `prove` raises.

    Example::

        prove_first(["my_model.py:step"], options, folder).rows["my_model.py:step"].proved_only
    """
    folder.mkdir(parents=True, exist_ok=True)
    collected = collect(targets, folder, options.time_limit)
    with_sides_that_run(
        options.model_copy(update={"sides": PROVED_ON}), collected.environment.jax,
        lambda text: None, has_flag=collected.listing.has_flag,
    )  # fmt: skip
    jobs = [each.model_copy(update={"lowers": lowers(each.target)}) for each in collected.jobs]
    # Its own trace shows the hazards, where nothing is timed.
    how = options.model_copy(update={"proves": True, "hazards_on": PROVED_ON[1], "steady_calls": 0})
    recorded = run_sides(jobs, PROVED_ON, folder, how, progress=progress)
    rows = {}
    for number, listed in enumerate(collected.programs):
        before, after = (recorded.get((number, side)) for side in PROVED_ON)
        if before and after and (row := _row_without_run(listed, before, after)):
            rows[listed.target] = row
    return ProvedFirst(collected.environment, rows)


def _row_without_run(listed: Listed, before: Recorded, after: Recorded) -> ProgramRow | None:
    """Return the row of a program that is proved; None where it has to run."""
    one, two = before.observation, after.observation
    if one.failure or two.failure or answer_of(claims_of(one, two)) != "proved":
        return None
    found = after.hazards()
    if found.again or _reservations(one, found) or need_run(one, found.hazards):
        return None
    findings = Findings(
        observed=(one, two), hazards=found.hazards, not_run=NOT_RUN, proved_only=True
    )
    draft = RowDraft(
        name=listed.name,
        source=listed.source,
        target=listed.target,
        digest=listed.digest,
        summary=listed.summary,
        tags=listed.tags,
        observations=findings.observed,
        findings=findings,
    )
    return draft.row(conclude(findings, [PROVED_ON]))
