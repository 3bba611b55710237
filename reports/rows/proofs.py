"""The records of `constparity prove`: whether both forms of each program are one computation."""

from __future__ import annotations

from typing import Literal

from reports.rows.captured_array import Hazard
from reports.rows.claims import Answer, Claim
from reports.rows.program_row import Environment
from reports.rows.row import Row, Side

PROOFS_SCHEMA = 1


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
    folded: tuple[Hazard, ...] = ()  # work on captured arrays alone, which legacy does in XLA
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
        folding = sum(bool(each.folded) for each in proved)
        parts = [f"proof: {len(proved):,} of {len(self.programs):,} programs proved"]
        if doubted:
            parts.append(f"{doubted:,} of these may still break")
        if folding:
            parts.append(f"XLA folds constants of {folding:,}, so their bits may differ")
        return "; ".join(parts)
