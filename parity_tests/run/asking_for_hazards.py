"""Hazards that processes of their own tell: of programs that took their process along, and reads.

A program whose process was lost before it could detect hazards is looked at alone. Hazards are read
off a program that is traced in both forms in one process. A callback runs only when the program is
called, and a function may keep what it read before. So a program that fails or differs, for no
reason that its trace tells, is called on both sides of the flip, in processes that record what it
reads.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from parity_tests.evidence.folder_layout import CampaignFiles, ProcessFiles
from parity_tests.evidence.found import HazardsFound
from parity_tests.evidence.records import Recorded, log
from parity_tests.judge.findings import Findings
from parity_tests.judge.sides import Sides, flipped
from parity_tests.judge.unrepeated import across
from parity_tests.judge.verdict import RowDraft
from parity_tests.processes.kept_files import keep, kept, note_refusal
from parity_tests.processes.one_question import ask
from parity_tests.processes.options import Limits
from parity_tests.processes.protocol import DetectHazards, Job, ReadsInCalls, to_json
from parity_tests.processes.side_runs import said_of
from parity_tests.processes.worker_process import KILLED, Lost
from parity_tests.run.collection import Context
from parity_tests.run.estimates import again
from reports.rows import DriftCause, Failure, Hazard, Observation, Side
from reports.rows.flip import TRAITS

_OF_XLA: tuple[DriftCause, ...] = ("constant folding", "layout or fusion")


def with_reads_in_calls(drafts: Sequence[RowDraft], context: Context) -> list[RowDraft]:
    """Return the drafts, with the reads that may explain a difference; its drift is attributed.

    Example::

        with_reads_in_calls(drafts, context)
    """
    pair = flipped(context.pairs) if context.options.attribute else None
    found = list(drafts)
    for number, draft in enumerate(drafts):
        if pair is None or not _may_be_explained(draft.findings, pair):
            continue
        name = draft.program.name
        observed = [each for each in draft.findings.observed if each.side in pair]
        context.progress(0, 0, again("called with its reads recorded", [name], observed))
        try:
            read = _read(
                context.job(number),
                pair,
                context.files,
                context.options.limits,
                at_import=_fails_at_import(draft.findings.on(pair[1])),
            )
        except OSError as error:  # the folder is full, or went away
            note_refusal(error)
            log.warning("constparity: reads of %s were not recorded (%s)", name, error)
            break
        known = {(each.kind, each.file, each.line) for each in draft.findings.hazards}
        new = [each for each in read if (each.kind, each.file, each.line) not in known]
        hazards = (*draft.findings.hazards, *new)
        found[number] = replace(draft, findings=replace(draft.findings, hazards=hazards))
    return found


def _may_be_explained(findings: Findings, pair: Sides) -> bool:
    """Say whether a program works before the flip, and nothing explains what it does after it."""
    before, after = map(findings.on, pair)
    if before is None or after is None or before.failure or findings.not_repeatable:
        return False
    if any(each.changes_program for each in findings.hazards) or not across(findings, pair):
        return False
    if after.failure:
        return not any(TRAITS[each.kind].explains == "other failures" for each in findings.hazards)
    if before.stablehlo is not None and before.stablehlo.callbacks:
        return True
    causes = {each.cause for each in findings.drift if (each.left, each.right) == pair}
    return not causes & set(_OF_XLA)


def _fails_at_import(after: Observation | None) -> bool:
    return bool(after and after.failure and after.failure.stage == "import")


def _read(
    job: Job, pair: Sides, files: CampaignFiles, limits: Limits, *, at_import: bool
) -> tuple[Hazard, ...]:
    """Call a program after the flip, and before it where anything was read after it."""
    before, after = pair
    folders = {side: files.calls(job.number, side) for side in pair}
    for each in folders.values():
        each.mkdir(parents=True, exist_ok=True)
    question = ReadsInCalls(target=job.target, side=after, at_import=at_import)
    ask(question, after, folders[after], limits)
    # A callback may end its process, and what it read until then is in the file.
    file = ProcessFiles(folders[after]).reads
    if not file.exists():
        return ()
    reads = file.read_text("utf-8")
    question = ReadsInCalls(target=job.target, side=before, reads=reads, at_import=at_import)
    answer = ask(question, before, folders[before], limits)
    return () if isinstance(answer, Lost) else answer.hazards


# The process ends before hazards are detected, which come last so that they disturb no figure.
_LOST = ("crash", "timeout", "memory")

# What a program does by itself is what it does before the flip.
_BEFORE: tuple[Side, ...] = ("jax-legacy", "legacy")
# Hazards are read off the traced program. A program that takes too long or too much memory before
# it is traced is not tried again, unless it does so after the flip alone: its reads may say why.
_UNTRACED = ("start of the process", "import", "build", "trace")


def may_hide_hazards(failure: Failure | None, *, works_before: bool) -> bool:
    """Say whether a process was lost with a program whose hazards may still be detected.

    `works_before` says that the program works before the flip.
    """
    if failure is None or failure.kind not in _LOST:
        return False
    return works_before or failure.kind == "crash" or failure.stage not in _UNTRACED


def hazards_told(
    recorded: Mapping[Side, Recorded],
    side: Side | None,
    ask_hazards: Callable[[str], HazardsFound],
) -> HazardsFound:
    """Return the hazards of a program; one that fails by itself has its failure to say why not.

    `side` detects them. A process of its own is asked where that side was lost with the program, or
    tells too little; it is given what the program had read until then.

    Example::

        hazards_told(recorded, "jax-simplified", lambda reads: detect_alone(job, folder, limits))
    """
    if side is None or side not in recorded:
        return HazardsFound()
    failure, found = recorded[side].observation.failure, recorded[side].hazards()
    before = next((each for each in _BEFORE if each in recorded), side)
    works_before = recorded[before].observation.failure is None
    if may_hide_hazards(failure, works_before=works_before) or (found.again and works_before):
        asked = ask_hazards("")
        # The process may be lost that was asked.
        known = found.hazards if asked.not_detected else ()
        found = asked.model_copy(update={"hazards": known or asked.hazards})
    elif found.reads:
        asked = ask_hazards(found.reads)
        found = asked.model_copy(update={"not_detected": found.not_detected})
    return found if works_before else found.model_copy(update={"not_detected": ""})


def detect_alone(job: Job, folder: Path, limits: Limits, reads: str = "") -> HazardsFound:
    """Detect the hazards of one program in a process that does nothing else.

    Where that process is lost as well, or its folder takes no files, they are not detected. The
    folder of the campaign keeps what was found, for a campaign that goes on, unless something
    outside has killed the process. What the program read before its process ended, here or as
    `reads` says, is compared with what it reads in legacy form.

    Example::

        detect_alone(Job(number=0, name="step", target="my_model.py:step"), folder, Limits(60))
    """
    files = CampaignFiles(folder)
    file, own = files.kept_hazards(job.number), files.hazards(job.number)
    try:
        own.mkdir(exist_ok=True)
        if (text := kept(file)) is not None:
            return HazardsFound.model_validate_json(text)
        found, answer = HazardsFound(reads=reads), None
        if not reads:
            answer = ask(DetectHazards(target=job.target), "jax-legacy", own, limits)
            found = _left_by(answer, own) if isinstance(answer, Lost) else answer
        if found.reads:
            found = _with_reads(found, job, own, limits)
        if not (isinstance(answer, Lost) and answer.ending == KILLED):
            keep(file, to_json(found))
    except OSError as error:
        note_refusal(error)
        log.warning("constparity: the hazards of %s are not detected (%s)", job.name, error)
        return HazardsFound(not_detected=str(error))
    return found


def _left_by(lost: Lost, folder: Path) -> HazardsFound:
    file = ProcessFiles(folder).reads
    reads = file.read_text("utf-8") if file.exists() else ""
    return HazardsFound(not_detected=said_of(lost), reads=reads)


def _with_reads(found: HazardsFound, job: Job, folder: Path, limits: Limits) -> HazardsFound:
    """Add the reads that tell the forms apart, for which the program is traced in legacy form."""
    question = DetectHazards(target=job.target, reads=found.reads)
    answer = ask(question, "jax-legacy", folder, limits)
    known = () if isinstance(answer, Lost) else answer.hazards
    return found.model_copy(update={"hazards": known, "reads": ""})
