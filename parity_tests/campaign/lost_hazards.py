"""The hazards of a program whose process was lost before it could detect them."""

from __future__ import annotations

import sys
from pathlib import Path

from parity_tests.processes.protocol import Foreseen, Job, Request, to_json, write
from parity_tests.processes.side_runs import ask
from reports.rows import Failure, Hazard

# The process ends before hazards are detected, which come last so that they disturb no figure.
_LOST = ("crash", "timeout", "memory")

# Hazards are read off the traced program. What takes too long or too much before it is traced is
# not let do so once more.
_UNTRACED = ("start of the process", "import", "build", "trace")


def is_unforeseen(failure: Failure | None) -> bool:
    """Say whether a process was lost with a program whose hazards may still be detected."""
    if failure is None or failure.kind not in _LOST:
        return False
    return failure.kind == "crash" or failure.stage not in _UNTRACED


def foresee(job: Job, folder: Path, *, timeout: float) -> tuple[Hazard, ...]:
    """Detect the hazards of one program in a process that does nothing else; `timeout` in seconds.

    There are none where that process is lost as well. The folder keeps what was found, for a
    campaign that goes on.

        foresee(Job(number=0, name="step", target="my_model.py:step"), folder, timeout=60)
    """
    own = folder / f"foreseeing-{job.number}"
    own.mkdir(exist_ok=True)
    if (kept := own / "foreseen.json").exists():
        return Foreseen.model_validate_json(kept.read_text("utf-8")).hazards
    request = Request(action="foresee", folder=own, sys_path=tuple(sys.path), jobs=(job,))
    answer = ask(request, "jax-legacy", timeout=timeout)
    found = answer if isinstance(answer, str) else to_json(Foreseen(hazards=()))
    write(kept, found)
    return Foreseen.model_validate_json(found).hazards
