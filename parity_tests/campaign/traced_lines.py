"""The line of the equation that changes from run to run, or that calls into Python."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from parity_tests.judge.not_repeatable import NotRepeatable
from parity_tests.judge.unrepeated import first_line_apart
from parity_tests.processes.one_question import ask
from parity_tests.processes.options import Limits
from parity_tests.processes.protocol import Job, PrintedJaxpr, PrintJaxpr
from parity_tests.processes.worker_process import Lost
from reports.views.ledger import listed


def at_traced_line(
    finding: NotRepeatable, job: Job, source: str, folder: Path, limits: Limits
) -> NotRepeatable:
    """Return a finding with the line where the traced program changes, or of its callback.

    The program is traced once more for it, with the lines of its equations. Where no line is found,
    the finding has the line of the program, `source`. `folder` keeps the files of the process, and
    `limits` are for it.

    Example::

        at_traced_line(finding, job, "model.py:9", folder, Limits(60)).where == "model.py:12"
    """
    if not finding.trace and not finding.calls_python:
        return finding
    folder.mkdir(parents=True, exist_ok=True)
    question = PrintJaxpr(target=job.target, side=finding.side)
    printed = ask(question, finding.side, folder, limits)
    found = "" if isinstance(printed, Lost) else _line(finding, printed)
    before = finding.where if finding.trace else ""  # the line of the callback says more
    return replace(finding, where=listed([*filter(None, [before]), found or source]))


def _line(finding: NotRepeatable, printed: PrintedJaxpr) -> str:
    if finding.trace:
        number = first_line_apart(finding.trace, printed.text)
    else:
        texts = enumerate(printed.text.splitlines())
        number = next((number for number, text in texts if "callback[" in text), None)
    return "" if number is None else "".join(printed.lines[number : number + 1])
