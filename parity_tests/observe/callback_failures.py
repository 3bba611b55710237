"""Exceptions in callbacks: XLA hands on their tracebacks as text in the message of its error."""

from __future__ import annotations

import re
from dataclasses import dataclass

from parity_tests.jaxpr.source_places import NOWHERE, Place, kind_of_file, relative

_HEAD = "error calling callback: Traceback (most recent call last):\n"
_FRAME = re.compile(r'^  File "(?P<file>.+)", line (?P<line>\d+), in (?P<name>.+)$', re.MULTILINE)
# The exception is said after the frames, by the first line that is not indented.
_RAISED = re.compile(r"^\S.*$", re.MULTILINE)


@dataclass(frozen=True)
class CallbackFailure:
    """What a callback raised, as "KeyError: 'x'", and the user's line that raised it."""

    what: str
    place: Place


def raised_in_callback(message: str) -> CallbackFailure | None:
    """Read the exception of a callback from the message of XLA's error; None for other errors.

    Example::

        raised_in_callback(str(error)).what == "KeyError: 'x'"
    """
    _, head, trace = message.partition(_HEAD)
    frames = list(_FRAME.finditer(trace))
    raised = _RAISED.search(trace, frames[-1].end()) if head and frames else None
    if raised is None:
        return None
    users = [each for each in frames if kind_of_file(each["file"]) == "user"]
    if not users:
        return CallbackFailure(raised[0], NOWHERE)
    last = users[-1]
    return CallbackFailure(
        raised[0], Place(relative(last["file"]), int(last["line"]), last["name"])
    )
