"""What value numbering claims of the two forms of a program (docs/trust/proof.md)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, get_args

from reports.rows.row import Row

Answer = Literal["refuted", "parted", "undecided", "failed", "proved"]
ANSWERS: tuple[Answer, ...] = get_args(Answer)
MEANINGS: Mapping[Answer, str] = {
    "refuted": "the forms have other types, other effects or other bits on stated inputs, or one "
    "of them cannot be made",
    "parted": "the forms are written apart: that they compute the same is not known",
    "undecided": "something in it has no rule, so nothing is claimed",
    "failed": "it cannot be traced and lowered in either form",
    "proved": "both forms are one computation, for every argument",
}


class PartedPlace(Row):
    """The first place where two forms part: the user's line, and what each form has there."""

    file: str  # "" where it is not known
    line: int
    before: str  # "dot_general, precision=None"; "" where this form has nothing in its place
    after: str


class OtherBits(Row):
    """The first element that differs of the results of two forms on one input, with its values."""

    inputs: str  # "its own arguments" or "sample 1"
    result: str  # its path, as in "['loss']"; "" of the only one
    index: tuple[int, ...]
    before: str
    after: str
    elements: int  # that differ, of this result


class Evaluated(Row):
    """What the reference interpreter of StableHLO makes of both modules of a program that parts.

    `equal_on` are the inputs on which it gives the same bits; NaNs are equal, and so are zeros.
    """

    equal_on: tuple[str, ...] = ()
    other: OtherBits | None = None
    why_not: str = ""  # why it was not evaluated, or not on all inputs


class Claim(Row):
    """What is claimed of the two jaxprs, or of the two modules, of a program."""

    of: Literal["jaxpr", "module"]
    platform: str = ""  # of a module; "" is the platform of the processes
    answer: Answer
    before: str = ""  # the digest of the form before the flip; "" where it is undecided
    after: str = ""
    reason: str = ""  # of every answer but "proved"
    operations: int = 0
    constants: int = 0
    bodies: int = 0
    effects: int = 0
    place: PartedPlace | None = None
    evaluated: Evaluated | None = None  # of a module whose forms are written apart
    # Of a jaxpr: it decides where a module is undecided. Not so on our sides, which plan after it.
    decides: bool = True
    # Of a module for another platform: the trace read the backend, so the jaxpr is not its.
    traced_for_here: bool = False


def answer_of(claims: Sequence[Claim]) -> Answer:
    """Return what all claims come to, the worst of all platforms.

    A module counts, and the jaxpr where that is undecided: JAX lowers both forms by one set of
    rules, so equal modules are one computation whatever their jaxprs are.
    """
    [jaxpr] = (each for each in claims if each.of == "jaxpr")
    modules = [each for each in claims if each.of == "module"] or [jaxpr]
    by_jaxpr = [
        jaxpr.decides and each.answer == "undecided" and not each.traced_for_here
        for each in modules
    ]
    answers = (
        jaxpr.answer if by else each.answer for each, by in zip(modules, by_jaxpr, strict=True)
    )
    return min(answers, key=ANSWERS.index)
