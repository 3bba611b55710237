"""Whether two failures have one reason: the exception and its message, numbers aside."""

from __future__ import annotations

import re

from parity_tests.judge.reasons_as_written import what_helps
from reports.rows.suite_runs import SuiteOutcome

# Addresses, names of temporary files, and numbers: these are others in each process.
_PASSING = re.compile(r"0x[0-9a-fA-F]+|\btmp[a-z0-9_]{8}\b|[-+]?\d+(?:\.\d*)?(?:e[+-]?\d+)?")
# The line that pytest writes below the source of each frame; the last one raised.
_RAISED = re.compile(r"^([^\s:]+\.py:\d+): ", re.MULTILINE)
# Lines that pytest marks as those of the exception; the others show the source.
_OF_EXCEPTION = re.compile(r"^E  +(.*)$", re.MULTILINE)


def without_numbers(text: str) -> str:
    """Return a text with each number, address and name of a temporary file as "#", on one line.

    Example::

        >>> without_numbers("off by 4.5e-3 at 0x7f00")
        'off by # at #'
    """
    return " ".join(_PASSING.sub("#", text).split())


def why_of(legacy: SuiteOutcome, simplified: SuiteOutcome) -> tuple[str, str]:
    """Return the line that raised where simplified fails alone, and what helps; "" where unknown.

    Example::

        why_of(passed, failed) == ("test_model.py:7", "capture a copy made before tracing, ...")
    """
    if not simplified.summary or legacy.summary:
        return "", ""
    raised = [each for each in _RAISED.findall(simplified.text) if "site-packages" not in each]
    said = "\n".join((simplified.summary, *_OF_EXCEPTION.findall(simplified.text)))
    return next(reversed(raised), ""), what_helps(said)


def have_one_reason(one: SuiteOutcome, other: SuiteOutcome) -> bool:
    """Say whether two outcomes give the same exception with the same message.

    Example::

        have_one_reason(legacy, simplified)
    """
    return _reason(one) == _reason(other)


def _reason(outcome: SuiteOutcome) -> tuple[str, str]:
    # The summary is the first line of a message. The text is cut, and has no such lines with
    # --tb=no.
    said = "\n".join(_OF_EXCEPTION.findall(outcome.text))
    return without_numbers(outcome.summary), without_numbers(said)
