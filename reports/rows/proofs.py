"""The records of `constparity prove`: whether both forms of each program are one computation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, get_args

from reports.rows.captured_array import Hazard
from reports.rows.program_row import Environment
from reports.rows.row import Row, Side

PROOFS_SCHEMA = 1
Answer = Literal["refuted", "parted", "undecided", "failed", "proved"]
ANSWERS: tuple[Answer, ...] = get_args(Answer)
MEANINGS: Mapping[Answer, str] = {
    "refuted": "the forms have other types or other effects, or one of them cannot be made",
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


class ProvedProgram(Row):
    """One program: what is claimed of its forms, and what may still break by its contract.

    `captured` counts the captured arrays above the embed threshold.
    """

    name: str
    target: str
    source: str
    answer: Answer
    claims: tuple[Claim, ...] = ()
    captured: int = 0
    hazards: tuple[Hazard, ...] = ()
    reservations: tuple[str, ...] = ()  # what else the claims do not cover, each in a sentence
    failure: str = ""

    @property
    def may_break(self) -> bool:
        """Whether the flip may break the program although its forms are one computation."""
        return bool(self.hazards or self.reservations)


class Proofs(Row):
    """Proofs of programs: each form was traced and lowered in a process of its own."""

    kind: Literal["proofs"] = "proofs"
    schema_version: int = PROOFS_SCHEMA
    created: str
    environment: Environment
    sides: tuple[Side, Side]  # before the flip, and after it
    programs: tuple[ProvedProgram, ...]

    @property
    def headline(self) -> str:
        """The answer in one line.

        Example::

            proofs.headline == "proof: 144 of 155 programs proved; 12 of these may still break"
        """
        proved = [each for each in self.programs if each.answer == "proved"]
        doubted = sum(each.may_break for each in proved)
        text = f"proof: {len(proved):,} of {len(self.programs):,} programs proved"
        return f"{text}; {doubted:,} of these may still break" if doubted else text
