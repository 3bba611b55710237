"""A program that was measured, and whose process was lost in what comes last.

A check traces the program in its other form. The program may crash, hang or take all memory there
alone, and the side is none the worse for it. Or the program is called as it is written.
"""

from __future__ import annotations

from parity_tests.evidence.folder_layout import ProgramFiles
from parity_tests.evidence.found import HazardsFound
from parity_tests.evidence.records import Recorded, record_of
from parity_tests.processes.kept_files import finish
from parity_tests.processes.protocol import to_json, write
from parity_tests.processes.worker_process import KILLED, Lost
from reports.rows import CallAsWritten, Check, Observation
from reports.rows.check_names import AS_WRITTEN, FLIPS


def keep_measured(files: ProgramFiles, lost: Lost, *, hazards: bool, first: bool) -> Recorded:
    """Finish the record of a program that was measured, and say which checks were lost.

    `hazards` says that they were to be detected, too. `first` says that no other program had run in
    the process, so nothing that one left behind can have ended it.
    """
    observation = Observation.model_validate_json(files.measured.read_text("utf-8"))
    said = said_of(lost)
    if hazards and not files.hazards.exists():
        again = lost.ending == KILLED or (lost.kind != "timeout" and not first)
        reads = files.reads.read_text("utf-8") if files.reads.exists() else ""
        found = HazardsFound(not_detected=said, again=again, reads=reads)
        write(files.hazards, to_json(found))
    if lost.stage == FLIPS:
        check = Check(name=FLIPS, holds=True, measured=False, statement=said)
        observation = observation.model_copy(update={"checks": (*observation.checks, check)})
    if lost.stage == AS_WRITTEN:
        calls = (*observation.as_written, CallAsWritten(failure=lost.failure()))
        observation = observation.model_copy(update={"as_written": calls})
    finish(files, observation)
    return record_of(files)


def said_of(lost: Lost) -> str:
    """Say how a process was lost, and why as far as that is known."""
    return f"{lost.ending}: {lost.failure().message}" if lost.kind == "crash" else lost.ending


def was_killed(observation: Observation) -> bool:
    """Say whether something outside killed the process of a program, or of a check of it.

    The program is not to blame, so it is worth another try.
    """
    if observation.failure is not None:
        return observation.failure.type == KILLED
    lost = [each.statement for each in observation.checks if not each.measured]
    return any(statement.startswith(KILLED) for statement in lost)
