"""Prove programs: number both forms in processes of their own, and compare the numbers here."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from parity_tests.evidence.found import HazardsFound, NumberedSteps
from parity_tests.evidence.records import Recorded
from parity_tests.evidence.temporary_folders import temporary_folder
from parity_tests.judge.proofs import breaking, claims_of, folded, place_apart
from parity_tests.judge.sides import Sides
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
from parity_tests.run.options import CampaignOptions
from reports.rows import Failure, Observation
from reports.rows.claims import Answer, Claim, answer_of
from reports.rows.proofs import Proofs, ProvedProgram

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


def _with_place(
    claim: Claim, job: Job, sides: Sides, folder: Path, options: CampaignOptions
) -> Claim:
    if claim.answer != "parted":
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
    place = place_apart(before.steps, after.steps)
    return claim.model_copy(update={"place": place})
