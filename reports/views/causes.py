"""The programs of a campaign by what a flip does to them, and those of equal cause together.

Each program is in exactly one state, and the states add up to the campaign. Programs have one cause
where the same was seen and the same helps, as when all of them call a library that reads the flag.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from reports.document import Tone
from reports.rows import (
    Campaign,
    FlipAnswer,
    FlipReason,
    ProgramRow,
    Verdict,
    agreement_of,
    answer_of,
)
from reports.views.texts import cut

State = FlipAnswer | Verdict | Literal["proved"]
# What a flip comes to, and the verdict of a program for which nobody asked; the worst comes first.
TITLES: dict[State, tuple[str, Tone]] = {
    "no": ("A flip breaks or changes", "bad"),
    "difference": ("The sides differ in", "bad"),
    "not known": ("Nothing can be said of", "warn"),
    "could not compare": ("Nothing could be compared in", "warn"),
    "not repeatable": ("Runs do not repeat themselves in", "warn"),
    "agrees here, not proved": ("The sides agree here, and are not proved to, in", "warn"),
    "placed otherwise": ("A flip places equal outputs elsewhere in", "warn"),
    "yes, at a price": ("A flip has a price for", "note"),
    "proved": ("Both forms are proved, and nothing was run, in", "note"),
    "yes": ("A flip changes nothing for", "good"),
    "parity": ("All sides agree in", "good"),
}
QUIET: tuple[State, ...] = ("yes", "parity", "proved")
_TEXT_LENGTH = 400
# Figures measure a finding and do not name it: they differ from program to program.
_FIGURE = re.compile(r"(?<![\w.])[-+]?\d[\d,.]*(?:e[-+]?\d+)?")


@dataclass(frozen=True)
class Member:
    """One program of a cause: where it is, and what was seen of it.

    The symptom is the finding without the figures and the places that differ between programs.
    """

    name: str
    source: str
    symptom: str
    what: str
    where: str = ""  # the lines that the finding is about; "" where there are none


@dataclass(frozen=True)
class Cause:
    """Programs that one line breaks, or of which the same was seen, and what helps them."""

    action: str  # "" where nothing needs to be done
    members: tuple[Member, ...]

    @property
    def symptoms(self) -> tuple[tuple[str, int], ...]:
        """What was seen, each with its number of programs, the most frequent first."""
        return tuple(Counter(each.symptom for each in self.members).most_common())

    @property
    def places(self) -> tuple[tuple[str, int], ...]:
        """The lines that findings are about, each with its number of programs, most first."""
        return tuple(Counter(each.where for each in self.members if each.where).most_common())


@dataclass(frozen=True)
class Standing:
    """All programs of one state; those that need attention by cause, the largest group first."""

    state: State
    title: str
    tone: Tone
    count: int
    causes: tuple[Cause, ...]


def standings(campaign: Campaign) -> tuple[Standing, ...]:
    """Group the programs of a campaign by state, the worst first, then by cause."""
    rows: dict[State, list[ProgramRow]] = {state: [] for state in TITLES}
    for row in campaign.programs:
        state: State = "proved" if row.is_proof_alone else answer_of(row.flip) or row.verdict
        rows[state].append(row)
    return tuple(
        Standing(state, *TITLES[state], len(found), () if state in QUIET else _causes(found))
        for state, found in rows.items()
        if found
    )


def of_pipelines(campaign: Campaign) -> tuple[Cause, ...]:
    """Group the programs on which our own pipelines differ from stock JAX."""
    rows = [row for row in campaign.programs if agreement_of(row) == "differ"]
    return _grouped([("", between_pipelines(row)) for row in rows])


def _causes(rows: Sequence[ProgramRow]) -> tuple[Cause, ...]:
    return _grouped([seen(row) for row in rows])


def seen(row: ProgramRow) -> tuple[str, Member]:
    """Return what helps a program, and what was seen of it; equal symptoms are one cause.

    Example::

        seen(row)[1].symptom == "output committed"
    """
    if row.flip is None or not row.flip.reasons:
        return "", of_verdict(row)
    reason = row.flip.reasons[0]
    what = " ".join(reason.what.split())
    return reason.action, Member(row.name, row.source, _symptom(row, reason), what, reason.where)


def between_pipelines(row: ProgramRow) -> Member:
    """Return what was seen of a program on which a pipeline of ours differs from stock JAX.

    Example::

        between_pipelines(row).symptom == "simplified and jax-simplified: output bits"
    """
    of_one_mode = [each for each in row.reasons if each.startswith(_ONE_MODE)]
    return of_verdict(row, next(iter(of_one_mode), None))


_ONE_MODE = ("legacy and jax-legacy:", "simplified and jax-simplified:")


def of_verdict(row: ProgramRow, reason: str | None = None) -> Member:
    """Return what the verdict of a program rests on: one of its reasons, the first by default.

    Example::

        of_verdict(row).symptom == "legacy failed: timeout in compile"
    """
    what = " ".join((reason or next(iter(row.reasons), row.verdict)).split())
    return Member(row.name, row.source, _named(what.partition("; ")[0]), what)


def _grouped(found: Sequence[tuple[str, Member]]) -> tuple[Cause, ...]:
    """Put programs together that share a line and what helps; of the others, those of a symptom.

    One line of a library may break programs in many ways, and is one cause.
    """
    shared = Counter((action, member.where) for action, member in found if member.where)
    groups: dict[tuple[str, str], list[Member]] = {}
    for action, member in found:
        is_one_line = shared[action, member.where] > 1
        groups.setdefault((action, member.where if is_one_line else member.symptom), []).append(
            member
        )
    causes = [Cause(action, tuple(members)) for (action, _), members in groups.items()]
    return tuple(sorted(causes, key=lambda each: -len(each.members)))


def _symptom(row: ProgramRow, reason: FlipReason) -> str:
    if reason.kind == "failure":
        return _named(reason.what.partition("; ")[0])
    if reason.kind == "time" and reason.subject:
        return f"{reason.subject} takes longer"
    return _named(reason.what.partition(":")[0]) + (_drift(row) if reason.kind == "outputs" else "")


def _drift(row: ProgramRow) -> str:
    """Name the cause of a drift where it was found."""
    for each in row.drift:
        if row.flip and {each.left, each.right} == {row.flip.left, row.flip.right}:
            return f"; cause: {each.cause}"
    return ""


def _named(text: str) -> str:
    return _FIGURE.sub("…", cut(" ".join(text.split()), _TEXT_LENGTH))


def listed(counted: Sequence[tuple[str, int]], most: int, nouns: str) -> str:
    """List texts with their numbers of programs; one text alone needs no number.

    Example::

        >>> listed([("model.py:3", 7), ("model.py:9", 1), ("model.py:12", 1)], 2, "lines")
        'model.py:3 (7), model.py:9 (1) and 1 more line'
    """
    if len(counted) == 1:
        return counted[0][0]
    shown = ", ".join(f"{text} ({count:,})" for text, count in counted[:most])
    more = len(counted) - most
    what = nouns.removesuffix("s") if more == 1 else nouns
    return f"{shown} and {more:,} more {what}" if more > 0 else shown
