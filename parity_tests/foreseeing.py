"""The hazards of a program whose process was lost before it could detect them."""

from __future__ import annotations

import sys
from pathlib import Path

from parity_tests.sides import ask
from parity_tests.worker import Foreseen, Job, Request
from reports.rows import Hazard

# The process ends before hazards are detected, which come last so that they disturb no figure.
LOST = ("crash", "timeout", "memory")


def foresee(job: Job, folder: Path, *, timeout: float) -> tuple[Hazard, ...]:
    """Detect the hazards of one program in a process that does nothing else; `timeout` in seconds.

    There are none where that process is lost as well, as with a program that cannot be traced.

        foresee(Job(number=0, name="step", target="my_model.py:step"), folder, timeout=60)
    """
    own = folder / f"foreseeing-{job.number}"
    own.mkdir(exist_ok=True)
    request = Request(action="foresee", folder=own, sys_path=tuple(sys.path), jobs=(job,))
    answer = ask(request, "jax-legacy", timeout=timeout)
    if not isinstance(answer, str):
        return ()
    return Foreseen.model_validate_json(answer).hazards
