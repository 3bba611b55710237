"""The hazards of a program whose process was lost before it could detect them."""

from __future__ import annotations

from pathlib import Path

from parity_tests.evidence.folder_layout import CampaignFiles
from parity_tests.evidence.hazards_found import HazardsFound
from parity_tests.evidence.records import log
from parity_tests.processes.kept_files import keep, kept
from parity_tests.processes.one_question import ask
from parity_tests.processes.options import Limits
from parity_tests.processes.protocol import DetectHazards, Job, to_json
from parity_tests.processes.worker_process import Lost
from reports.rows import Failure, Hazard

# The process ends before hazards are detected, which come last so that they disturb no figure.
_LOST = ("crash", "timeout", "memory")

# Hazards are read off the traced program. A program that takes too long or too much memory before
# it is traced is not tried again.
_UNTRACED = ("start of the process", "import", "build", "trace")


def may_hide_hazards(failure: Failure | None) -> bool:
    """Say whether a process was lost with a program whose hazards may still be detected."""
    if failure is None or failure.kind not in _LOST:
        return False
    return failure.kind == "crash" or failure.stage not in _UNTRACED


def detect_alone(job: Job, folder: Path, limits: Limits) -> tuple[Hazard, ...]:
    """Detect the hazards of one program in a process that does nothing else.

    There are none where that process is lost as well, or where its folder takes no files. The
    folder of the campaign keeps them, for a campaign that goes on.

    Example::

        detect_alone(Job(number=0, name="step", target="my_model.py:step"), folder, Limits(60))
    """
    files = CampaignFiles(folder)
    file, own = files.kept_hazards(job.number), files.hazards(job.number)
    try:
        own.mkdir(exist_ok=True)
        if (text := kept(file)) is not None:
            return HazardsFound.model_validate_json(text).hazards
        answer = ask(DetectHazards(target=job.target), "jax-legacy", own, limits)
        found = HazardsFound() if isinstance(answer, Lost) else answer
        keep(file, to_json(found))
    except OSError as error:
        log.warning("constparity: the hazards of %s are not detected (%s)", job.name, error)
        return ()
    return found.hazards
