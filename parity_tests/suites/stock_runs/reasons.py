"""Whether two failures have one reason: the exception and its message, numbers aside."""

from __future__ import annotations

import re

from reports.rows.suite_runs import SuiteOutcome

# Addresses, names of temporary files, and numbers: these are others in each process.
_PASSING = re.compile(r"0x[0-9a-fA-F]+|\btmp[a-z0-9_]{8}\b|[-+]?\d+(?:\.\d*)?(?:e[+-]?\d+)?")
# Lines that pytest marks as those of the exception; the others show the source.
_OF_EXCEPTION = re.compile(r"^E  +(.*)$", re.MULTILINE)


def without_numbers(text: str) -> str:
    """Return a text with each number, address and name of a temporary file as "#", on one line.

    Example::

        >>> without_numbers("off by 4.5e-3 at 0x7f00")
        'off by # at #'
    """
    return " ".join(_PASSING.sub("#", text).split())


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
