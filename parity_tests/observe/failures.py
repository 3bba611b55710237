"""Failures of a program on a side: an exception, or a side that contradicts its name."""

from __future__ import annotations

from collections.abc import Callable

from parity_tests.exception_texts import first_line, formatted, said_by
from parity_tests.jaxpr.source_places import is_raised_by_jax, raised_at
from parity_tests.observe.callback_failures import raised_in_callback
from reports.rows import Check, Failure, Proof


class WrongSideError(AssertionError):
    """A side produced evidence of the other mode; carries the proof."""

    def __init__(self, proof: Proof):
        super().__init__(proof.statement)
        self.proof = proof


def wrong_side(error: WrongSideError, stage: str) -> Failure:
    """Describe a side that contradicts its name as a failure row."""
    return Failure(kind="wrong side", stage=stage, type="WrongSideError", message=str(error))


def exception(error: BaseException, stage: str) -> Failure:
    """Describe an exception as a failure row, its texts cut to what a report can show."""
    type_ = type(error)
    prefix = "" if type_.__module__ == "builtins" else f"{type_.__module__}."
    said = said_by(error)
    callback = raised_in_callback(said)
    place = callback.place if callback else raised_at(error)
    message = f"{callback.what}, in a callback\n{said}" if callback else said
    return Failure(
        kind="exception",
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

    Example::

        attempt("const arg values", lambda: const_args.check(passed, facts))
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
