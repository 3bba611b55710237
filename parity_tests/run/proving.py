"""Prove programs: number both forms in processes of their own, and compare the numbers here."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from parity_tests.advice import advice
from parity_tests.evidence import values
from parity_tests.evidence.folder_layout import CampaignFiles, ProcessFiles
from parity_tests.evidence.found import HazardsFound, ModuleEvaluated, NumberedSteps
from parity_tests.evidence.records import Recorded
from parity_tests.evidence.temporary_folders import temporary_folder
from parity_tests.exception_texts import first_line
from parity_tests.judge.findings import Findings
from parity_tests.judge.proofs import (
    NOT_ONE_JIT,
    NOT_RUN,
    Evaluation,
    breaking,
    claims_of,
    deciding,
    folded,
    is_to_evaluate,
    kind_of,
    need_run,
    place_apart,
    with_evaluation,
    without_numbers,
)
from parity_tests.judge.sides import Sides, flipped, is_one_mode
from parity_tests.judge.verdict import RowDraft, conclude
from parity_tests.processes.one_question import Asking, ask_all
from parity_tests.processes.protocol import (
    AnswerT,
    EvaluateModule,
    Form,
    Job,
    Listed,
    NumberSteps,
    Progress,
    Question,
)
from parity_tests.processes.side_runs import run_sides
from parity_tests.processes.worker_process import Lost
from parity_tests.run.asking_for_hazards import detect_alone, hazards_told
from parity_tests.run.collection import Context, collect, with_sides_that_run
from parity_tests.run.late_settings import module_of, modules_maybe_late, set_too_late
from parity_tests.run.options import PROVED_ON, CampaignOptions, side_with_hazards
from reports.rows import Environment, Failure, Observation, ProgramRow, Side, now
from reports.rows.claims import Answer, Claim, Evaluated, answer_of
from reports.rows.proofs import Proofs, ProvedProgram

_NOT_REPEATED = (
    "it is another program each time that it is built, without a flip as well: let nothing but its "
    "source decide it (no unseeded random numbers, no count of earlier calls), and prove it again"
)
# As the text of the stack and the random bytes that Equinox's `error_if` holds.
_HOLDS_ANOTHER = "a callback holds another value each time that it is built, without a flip as well"


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
        options = with_sides_that_run(options, collected)
        before, after = options.sides
        # Nothing is timed, so the trace that is numbered shows the hazards.
        options = options.model_copy(update={"steady_calls": 0})
        detects = side_with_hazards(options)
        how = options.model_copy(update={"proves": True, "hazards_on": detects})
        recorded = run_sides(collected.jobs, (before, after), folder, how, progress=progress)
        late = {
            module: set_too_late(job, CampaignFiles(folder), options.limits)
            for module, job in modules_maybe_late(collected.jobs, recorded).items()
        }
        programs = []
        for number, listed in enumerate(collected.programs):
            found = {
                side: recorded[number, side]
                for side in (before, after)
                if (number, side) in recorded
            }
            ask = partial(detect_alone, collected.job(number), folder, options.limits)
            hazards = _between((before, after), hazards_told(found, detects, ask))
            row = _row(listed, found.get(before), found.get(after), hazards)
            if any(each.answer in _APART for each in row.claims):
                progress(number, len(collected.programs), f"where {listed.name} parts")
                asked = Apart(
                    collected.job(number), (before, after), folder / str(number), options,
                    types=(_types(found[before]), _types(found[after])),
                )  # fmt: skip
                row = asked.looked_into(row)
            if is_late := late.get(module_of(listed.target)):
                told = f"{is_late.what}; {is_late.action}"
                row = row.model_copy(update={"reservations": (*row.reservations, told)})
            programs.append(row)
        return Proofs(
            created=now(),
            environment=collected.environment,
            sides=(before, after),
            programs=tuple(programs),
        )


def _between(sides: Sides, found: HazardsFound) -> HazardsFound:
    """Return the hazards that part two sides: in one mode XLA folds alike, and legacy passes none.

    Stock JAX's simplified mode has hazards that ours has not.
    """
    if not is_one_mode(sides):
        return found
    kept = [each for each in found.hazards if not folded([each])] if "simplified" in sides else []
    return found.model_copy(update={"hazards": tuple(kept)})


def _types(recorded: Recorded) -> str:
    numbers = recorded.observation.numbers
    return numbers.types if numbers else ""


# Failures that say nothing of the forms, and what helps.
_NOT_OF_THE_FORMS = {"wrong side": "wrong side", "written to": "capture a copy"}


def _row(
    listed: Listed, before: Recorded | None, after: Recorded | None, hazards: HazardsFound
) -> ProvedProgram:
    def row(answer: Answer, **fields: Any) -> ProvedProgram:
        return ProvedProgram(
            name=listed.name, target=listed.target, source=listed.source, answer=answer, **fields
        )

    if before is None or after is None:
        return row("failed", failure=listed.unavailable or "it was not run")
    one, two = before.observation, after.observation
    for failure in filter(None, (one.failure, two.failure)):
        if failure.kind in _NOT_OF_THE_FORMS:
            helps = advice(_NOT_OF_THE_FORMS[failure.kind])
            return row("failed", failure=f"{_said(failure)}: {helps}")
    if one.failure:
        return row("failed", **_of(one.failure, "before the flip: "))
    if two.failure:
        # One jit around several that its user calls may fail where they do not.
        is_one_jit = one.numbers is None or one.numbers.is_one_jit
        answer: Answer = "refuted" if is_one_jit else "undecided"
        why = "" if is_one_jit else NOT_ONE_JIT
        return row(
            answer,
            **_of(two.failure, "after the flip: "),
            hazards=breaking(hazards.hazards),
            reservations=tuple(filter(None, [why])),
        )
    claims = claims_of(one, two)
    return row(
        answer_of(claims),
        claims=claims,
        captured=one.jaxpr.captured_arrays if one.jaxpr else 0,
        hazards=breaking(hazards.hazards),
        folded=folded(hazards.hazards),
        reservations=_reservations(one, hazards),
    )


def _of(failure: Failure, when: str) -> dict[str, str]:
    """Return the fields of a failure: what it is, behind the user's line, and its traceback."""
    at = f"{failure.where}: " if failure.where else ""
    return {"failure": f"{at}{when}{_said(failure)}", "traceback": failure.traceback}


def _said(failure: Failure) -> str:
    return f"{failure.kind} in {failure.stage}: {failure.type}: {first_line(failure.message)}"


def _reservations(observation: Observation, hazards: HazardsFound) -> tuple[str, ...]:
    found = []
    if hazards.not_detected:
        found.append(f"its hazards are not known: {hazards.not_detected}")
    if observation.numbers is not None and not observation.numbers.is_one_jit:
        found.append(NOT_ONE_JIT)
    return tuple(found)


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
    return Apart(job, PROVED_ON, folder, options).with_places(claims)


def with_places(drafts: Sequence[RowDraft], context: Context) -> list[RowDraft]:
    """Return the drafts, those of programs whose forms part with the places where they do.

    Example::

        run.run(targets, options, passes=(*run.PASSES, with_places))
    """
    pair, found = flipped(context.pairs), list(drafts)
    if pair is None:
        return found
    with temporary_folder() as folder:
        for number, draft in enumerate(drafts):
            before, after = map(draft.findings.on, pair)
            claims = claims_of(before, after) if before and after else ()
            if not any(each.answer in _APART for each in claims):
                continue
            context.progress(0, 0, f"where {draft.program.name} parts")
            apart = Apart(context.job(number), pair, folder / str(number), context.options)
            placed = tuple(map(without_numbers, apart.with_places(claims)))
            found[number] = replace(draft, findings=replace(draft.findings, apart=placed))
    return found


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
            apart = Apart(job, sides, folder / "apart" / str(job.number), options)
            [found] = apart.with_places([found])
            if kind_of(found) == kind_of(claim):
                return job.target
    return None


# Where effects differ in number, there is a first place as well.
_APART: tuple[Answer, ...] = ("parted", "refuted")


# One input has so many seconds for its evaluation on a side.
_TO_EVALUATE = 10.0


@dataclass(frozen=True)
class Apart:
    """A program whose forms part; `folder` is for the processes that look into it.

    `types` are those that it had in both forms, where they are known.

    Example::

        Apart(job, ("jax-legacy", "jax-simplified"), folder, options).looked_into(row)
    """

    job: Job
    sides: Sides
    folder: Path
    options: CampaignOptions
    types: tuple[str, str] | None = None

    def looked_into(self, row: ProvedProgram) -> ProvedProgram:
        """Return a row with the place of each claim whose forms part, and what they evaluate to."""
        evaluate = self.evaluated if NOT_ONE_JIT not in row.reservations else _not_evaluated
        claims = tuple(
            evaluate(each) if is_to_evaluate(each) else each
            for each in self.with_places(row.claims)
        )
        return row.model_copy(update={"claims": claims, "answer": answer_of(claims)})

    def with_places(self, claims: Sequence[Claim]) -> tuple[Claim, ...]:
        """Return claims, each whose forms part with the first place."""
        apart = [each for each in claims if each.answer in _APART]
        if not apart:
            return tuple(claims)
        forms = tuple(Form(of=each.of, platform=each.platform) for each in apart)
        before, after = ask_all(
            [
                self._asking(NumberSteps(target=self.job.target, side=side, forms=forms), side)
                for side in self.sides
            ]
        )
        if isinstance(before, Lost) or isinstance(after, Lost):
            return tuple(claims)
        if self.types not in (None, (before.types, after.types)):
            said = {"answer": "undecided", "reason": _NOT_REPEATED}
            return tuple(each.model_copy(update=said) if each in apart else each for each in claims)
        placed = map(_placed, apart, before.forms, after.forms)
        return tuple(next(placed) if each in apart else each for each in claims)

    def evaluated(self, claim: Claim) -> Claim:
        """Return a claim on modules with what the reference interpreter makes of both."""
        before = self._evaluation(claim.platform, self.sides[0], None)
        if not before.results:
            return with_evaluation(claim, before, None)
        after = self._evaluation(claim.platform, self.sides[1], self.sides[0])
        return with_evaluation(claim, before, after)

    def _evaluation(self, platform: str, side: Side, given_by: Side | None) -> Evaluation:
        what = f"evaluated-{platform}"
        given = None if given_by is None else self.folder / what / given_by
        question = EvaluateModule(target=self.job.target, side=side, platform=platform, given=given)
        asked = self._asking(question, side, what, most_seconds=_TO_EVALUATE)
        [answer] = ask_all([asked])
        files = ProcessFiles(asked.folder)
        if isinstance(answer, Lost):
            found = ModuleEvaluated()
            if files.evaluated.exists():
                found = ModuleEvaluated.model_validate_json(files.evaluated.read_bytes())
            answer = found.model_copy(update={"why_not": _why_lost(answer)})
        results = {
            name: values.load(files.results(number)) for number, name in enumerate(answer.inputs)
        }
        return Evaluation(answer.digest, results, answer.why_not)

    def _asking(
        self, question: Question[AnswerT], side: Side, what: str = "places",
        most_seconds: float = math.inf,
    ) -> Asking[AnswerT]:  # fmt: skip
        folder = self.folder / what / side
        folder.mkdir(parents=True)
        limits = self.options.limits
        limits = replace(limits, timeout=min(limits.timeout, most_seconds))
        return Asking(question, side, folder, limits)


def _placed(claim: Claim, before: NumberedSteps, after: NumberedSteps) -> Claim:
    place = place_apart(before.steps, after.steps)
    if not claim.before or before.digest in ("", claim.before):
        return claim.model_copy(update={"place": place})
    calls_python = place is not None and "callback" in place.before
    where = f"{place.file}:{place.line}: " if place is not None and place.file else ""
    reason = f"{where}{_HOLDS_ANOTHER if calls_python else _NOT_REPEATED}"
    return claim.model_copy(update={"answer": "undecided", "reason": reason})


def _why_lost(lost: Lost) -> str:
    """Say why the interpreter has no results; it ends the process with a line that says so."""
    if lost.kind != "crash":
        return f"the reference interpreter: {lost.ending}"
    said = [line for line in lost.log.splitlines() if line.startswith(_INTERPRETER)]
    return f"the reference interpreter ended with {said[-1] if said else lost.ending}"


_INTERPRETER = "LLVM ERROR: "


def _not_evaluated(claim: Claim) -> Claim:
    return claim.model_copy(update={"evaluated": Evaluated(why_not=NOT_ONE_JIT)})


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

    These are proved, one jitted function each, and no run tells more of their hazards or of what
    their modules set too late. Targets that `lowers` leaves out are numbered by their jaxprs, where
    these tell. Nothing is compiled or called; what `folder` has of before is not numbered again.
    Raises what `prove` raises.

    Example::

        prove_first(["my_model.py:step"], options, folder).rows["my_model.py:step"].proved_only
    """
    folder.mkdir(parents=True, exist_ok=True)
    collected = collect(targets, folder, options.time_limit)
    with_sides_that_run(options.model_copy(update={"sides": PROVED_ON}), collected)
    jobs = [each.model_copy(update={"lowers": lowers(each.target)}) for each in collected.jobs]
    # Its own trace shows the hazards, where nothing is timed.
    how = options.model_copy(update={"proves": True, "hazards_on": PROVED_ON[1], "steady_calls": 0})
    recorded = run_sides(jobs, PROVED_ON, folder, how, progress=progress)
    late, rows = modules_maybe_late(jobs, recorded), {}
    for number, listed in enumerate(collected.programs):
        before, after = (recorded.get((number, side)) for side in PROVED_ON)
        if module_of(listed.target) in late:
            continue
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
    draft = RowDraft(listed, findings, observations=findings.observed)
    return draft.row(conclude(findings, [PROVED_ON]))
