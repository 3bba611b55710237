"""Failures of a program on a side: an exception, or a side that contradicts its name."""

from __future__ import annotations

from parity_tests.exception_texts import formatted, said_by
from parity_tests.jaxpr.source_places import raised_at
from reports.rows import Failure, Proof


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
    place = raised_at(error)
    return Failure(
        kind="exception",
        stage=stage,
        type=prefix + type_.__qualname__,
        message=said_by(error)[:4000],
        traceback=formatted(error)[-8000:],
        where=f"{place.file}:{place.line}" if place.file else "",
    )
