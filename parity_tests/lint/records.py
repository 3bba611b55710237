"""The records that pass between the steps of lint."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path


class Confidence(IntEnum):
    """How sure a finding is.

    HIGH: an import or a call shows what the value is. MEDIUM: a name shows it, as a parameter
    called `jaxpr` does. LOW: the value goes where lint does not follow it.
    """

    LOW = 1
    MEDIUM = 2
    HIGH = 3


@dataclass(frozen=True, order=True)
class Place:
    """A place in a file; lines and columns count from 1."""

    line: int
    column: int


@dataclass(frozen=True)
class Edit:
    """A part of a text, from `start` up to `end`, and the text that takes the place of `old`."""

    start: Place
    end: Place
    old: str
    text: str


@dataclass(frozen=True)
class Match:
    """A place that a rule has found; `edits` are the fix, if the rule has one that is right."""

    place: Place
    message: str
    confidence: Confidence
    edits: tuple[Edit, ...] = ()


@dataclass(frozen=True)
class Finding:
    """A match in a file, with the code of its rule."""

    code: str
    file: Path
    match: Match


@dataclass(frozen=True)
class Unread:
    """A file that was not linted, and why; `is_failure` says that it should have been."""

    file: Path
    reason: str
    is_failure: bool = True


@dataclass
class Result:
    """What was found: the files that were read, their findings, and the files that were not.

    `left` counts the files that were left out because the user interrupted it.
    """

    files: list[Path] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    unread: list[Unread] = field(default_factory=list)
    left: int = 0
