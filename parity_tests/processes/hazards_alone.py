"""The hazards of a program that takes its process along, told by a process of their own."""

from __future__ import annotations

from pathlib import Path

from parity_tests.evidence.folder_layout import CampaignFiles, ProcessFiles
from parity_tests.evidence.found import HazardsFound
from parity_tests.evidence.records import log
from parity_tests.processes.kept_files import keep, kept
from parity_tests.processes.lost_checks import said_of
from parity_tests.processes.one_question import ask
from parity_tests.processes.options import Limits
from parity_tests.processes.protocol import DetectHazards, Job, to_json
from parity_tests.processes.refusing_folder import note_refusal
from parity_tests.processes.worker_process import KILLED, Lost


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
