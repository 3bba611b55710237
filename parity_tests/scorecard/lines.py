"""The lines of the scorecard: each is a file in `programs/`, whose docstring states its fault."""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from reports.rows.scorecard import EFFECTS, KINDS, Effect, LineKind

PROGRAMS = Path(__file__).parent / "programs"
_NEEDED = ("kind", "off", "on", "who", "from", "way round")
_FIELDS = (*_NEEDED, "right off", "right on", "by design", "code")
_FIELD = re.compile(r"^([a-z ]+): (.+(?:\n    .+)*)$", re.MULTILINE)


class LineError(ValueError):
    """A program does not state its line as it has to: the message has the file, and what lacks."""


@dataclass(frozen=True)
class Line:
    """What a program states of its line.

    `fault` and `right` are what flag off and flag on show while the fault is there, and without it.
    """

    name: str
    title: str
    kind: LineKind
    who: str
    origin: str
    way_round: str
    fault: tuple[str, str]
    right: tuple[str, str]
    by_design: str
    code: str
    file: Path

    @property
    def effect(self) -> Effect:
        """What the flip does to the fault."""
        if self.fault[1] == self.right[1]:
            return "fixed by the flip"
        if self.fault[0] == self.fault[1] or self.fault[0] != self.right[0]:
            return "in both modes"
        return "by design" if self.by_design else "against the flip"

    @property
    def program(self) -> str:
        """The program without its docstring."""
        text = self.file.read_text("utf-8")
        first = ast.parse(text).body[0]
        assert first.end_lineno is not None
        return "\n".join(text.splitlines()[first.end_lineno :]).strip()


def lines(folder: Path = PROGRAMS) -> list[Line]:
    """Read the lines of a folder, by effect, kind and name. Raises `LineError`."""
    found = map(read, folder.glob("*.py"))
    return sorted(
        found, key=lambda each: (EFFECTS.index(each.effect), KINDS.index(each.kind), each.name)
    )


def read(file: Path) -> Line:
    """Read the line that a program states in its docstring. Raises `LineError`.

    The first sentence is its title. "off" and "on" are what it shows while the fault is there,
    "right off" and "right on" what it shows without: by default what flag off shows today. "by
    design" is why it is on purpose, "code" the place in JAX.
    """
    stated = ast.get_docstring(ast.parse(file.read_text("utf-8"))) or ""
    title, _, rest = stated.partition("\n\n")
    found = {name: " ".join(text.split()) for name, text in _FIELD.findall(rest)}
    missing = [each for each in _NEEDED if each not in found]
    unknown = [each for each in found if each not in _FIELDS]
    if missing or unknown:
        raise LineError(f"{file}: missing {missing}, unknown {unknown}")
    kind = next((each for each in KINDS if each == found["kind"]), None)
    if kind is None:
        raise LineError(f"{file}: kind {found['kind']!r}, not one of {', '.join(KINDS)}")
    fault = (found["off"], found["on"])
    right_off = found.get("right off", fault[0])
    right = (right_off, found.get("right on", right_off))
    if right == fault:
        raise LineError(f"{file}: what is right is the fault")
    return Line(
        name=file.stem,
        title=" ".join(title.split()),
        kind=kind,
        who=found["who"],
        origin=found["from"],
        way_round=found["way round"],
        fault=fault,
        right=right,
        by_design=found.get("by design", ""),
        code=found.get("code", ""),
        file=file,
    )


def digest(found: Iterable[Line]) -> str:
    """Return a digest of the programs and what they state."""
    hashed = hashlib.sha256()
    for each in found:
        hashed.update(each.name.encode() + b"\0" + each.file.read_bytes() + b"\0")
    return hashed.hexdigest()[:16]
