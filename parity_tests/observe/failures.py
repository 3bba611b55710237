"""Failures of a program on a side: an exception, or a side that contradicts its name."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from parity_tests.exception_texts import first_line, formatted, said_by
from parity_tests.jaxpr.source_places import (
    NOWHERE,
    Place,
    is_raised_by_jax,
    kind_of_file,
    raised_at,
    relative,
)
from parity_tests.own_packages import is_collision
from reports.rows import Check, Failure, Proof
from reports.views.texts import type_of


class WrongSideError(AssertionError):
    """A side produced evidence of the other mode; carries the proof."""

    def __init__(self, proof: Proof):
        super().__init__(proof.statement)
        self.proof = proof


class WrittenSinceError(Exception):
    """These captured arrays were written to since JAX had lowered the program."""

    def __init__(self, arrays: Sequence[np.ndarray[Any, Any]]):
        named = ", ".join(f"NumPy array {each}" for each in dict.fromkeys(map(type_of, arrays)))
        super().__init__(f"{named}: written to since JAX lowered the program, in a call before")


def exception(error: BaseException, stage: str) -> Failure:
    """Describe an exception as a failure row, its texts cut to what a report can show."""
    type_ = type(error)
    prefix = "" if type_.__module__ == "builtins" else f"{type_.__module__}."
    said = said_by(error)
    callback = raised_in_callback(said)
    place = callback.place if callback else raised_at(error)
    message = f"{callback.what}, in a callback\n{said}" if callback else said
    return Failure(
        kind="unavailable" if is_collision(error) else "exception",
        stage=stage,
        type=prefix + type_.__qualname__,
        message=message[:4000],
        traceback=formatted(error)[-8000:],
        where=f"{place.file}:{place.line}" if place.file else "",
        of_jax=not place.file and not callback and is_raised_by_jax(error),
    )


def attempt(
    name: str, check: Callable[[], tuple[Check, ...]], *, raised_fails: bool = False
) -> tuple[Check, ...]:
    """Make a check; where it raises, it was not measured, and the side is none the worse for it.

    With `raised_fails` the check has failed then, because it asks whether something works.
    """
    # A check may run a program, which may raise or end the process.
    try:
        return check()
    except (Exception, SystemExit) as error:  # noqa: BLE001
        statement = it_raised(error)
        return (
            Check(name=name, holds=not raised_fails, measured=raised_fails, statement=statement),
        )


def it_raised(error: BaseException) -> str:
    """Return the type of an exception and the first line of its message, in words.

    Example::

        it_raised(KeyError("x")) == "it raised KeyError: 'x'"
    """
    described = exception(error, "")
    line = first_line(described.message)
    return f"it raised {described.type}: {line}" if line else f"it raised {described.type}"


# -- callbacks -------------------------------------------------------------------------------------

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

    XLA hands on the traceback as text.

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
