"""The report as SARIF: each finding at its line, for code scanning.

Findings are the captured arrays that a flip treats in another way, the hazards, among these the
readers of jaxprs, and the programs that a flip breaks. Equal findings of several programs are one.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import get_args

from reports.output import sarif
from reports.output.sarif import MOST_RESULTS, Level
from reports.rows import (
    Campaign,
    CapturedArray,
    FlipOutcome,
    FlipVerdict,
    Hazard,
    HazardKind,
    ProgramRow,
)
from reports.views import figures
from reports.views.ledger import numbered
from reports.views.texts import cut, type_of, visible

LEVELS: tuple[Level, ...] = get_args(Level)  # the worst first
BREAKS, ARRAY = "a flip breaks or changes the program", "captured array that a flip affects"
KINDS: tuple[str, ...] = (BREAKS, ARRAY, *get_args(HazardKind))
_LEVEL_OF: dict[FlipOutcome, Level] = {
    "different": "error",
    "placed otherwise": "warning",
    "safe but slower or larger": "warning",
    "numerics drift, explained": "warning",
    "agrees here, not proved": "warning",
    "not repeatable": "warning",
    "could not compare": "warning",
    "safe": "note",
}
_TEXT_LENGTH = 1000
_NAMES_SHOWN = 3


@dataclass(frozen=True)
class Finding:
    """One finding: what it is about, where, what may change, and the programs that have it.

    `file` is "" and `line` 0 where no line is known. `bytes` is the size of a captured array.
    """

    kind: str  # one of `KINDS`
    level: Level
    file: str
    line: int
    code: str
    what: str
    helps: str  # "" where nothing needs to be done
    bytes: int | None
    programs: tuple[str, ...]

    @property
    def message(self) -> str:
        """What is found, in which programs, and what helps."""
        names = ", ".join(cut(name, _TEXT_LENGTH) for name in self.programs[:_NAMES_SHOWN])
        more = len(self.programs) - _NAMES_SHOWN
        found_in = f"{names}{f' and {more:,} more programs' if more > 0 else ''}"
        helps = f" What helps: {cut(self.helps, _TEXT_LENGTH)}." if self.helps else ""
        return f"{cut(self.what, _TEXT_LENGTH)}. Found in: {found_in}.{helps}"


def findings(campaign: Campaign) -> tuple[Finding, ...]:
    """Return the findings of a campaign, the worst first, then by place."""
    groups: dict[tuple[str, ...], list[Finding]] = {}
    for row in campaign.programs:
        # An array that is captured twice on a line is told once for a program.
        for each in dict.fromkeys(_of_program(row)):
            key = (each.kind, each.file, str(each.line), each.what, each.helps, str(each.bytes))
            groups.setdefault(key, []).append(each)
    merged = [_merged(group) for group in groups.values()]
    return tuple(
        sorted(
            merged,
            key=lambda each: (
                LEVELS.index(each.level), KINDS.index(each.kind), each.file, each.line, each.what
            ),
        )
    )  # fmt: skip


def _merged(group: list[Finding]) -> Finding:
    level = min((each.level for each in group), key=LEVELS.index)
    programs = tuple(dict.fromkeys(name for each in group for name in each.programs))
    return replace(group[0], level=level, programs=programs)


def _of_program(row: ProgramRow) -> Iterator[Finding]:
    if row.flip is not None:
        yield from _breaks(row, row.flip)
        yield from _arrays(row, row.flip)
    for hazard in row.hazards:
        yield _hazard(row, hazard)


def _breaks(row: ProgramRow, flip: FlipVerdict) -> Iterator[Finding]:
    if flip.outcome in ("different", "placed otherwise"):
        file, line = _place_of(row)
        worst = next(iter(flip.reasons), None)
        what = worst.what if worst else BREAKS
        helps = worst.action if worst else ""
        level = _LEVEL_OF[flip.outcome]
        yield Finding(BREAKS, level, file, line, "", what, helps, None, (row.name,))


def _arrays(row: ProgramRow, flip: FlipVerdict) -> Iterator[Finding]:
    seen = {each.side: numbered(each) for each in row.observations}
    before, after = seen.get(flip.left, {}), seen.get(flip.right, {})
    for key, left in before.items():
        right = after.get(key)
        if right is not None and (left.fate, left.copies) != (right.fate, right.copies):
            yield _array(row, flip, left, right)


def _array(
    row: ProgramRow, flip: FlipVerdict, left: CapturedArray, right: CapturedArray
) -> Finding:
    place = left if left.file else right
    file, line = (place.file, place.line) if place.file else _place_of(row)
    what = (
        f"{type_of(left)}, {figures.humanise_bytes(left.bytes)}: {_fate(left)} before the "
        f"flip, {_fate(right)} after it"
    )
    level, helps = _said_by_reasons(flip, file, line)
    return Finding(ARRAY, level, file, line, place.code, what, helps, left.bytes, (row.name,))


def _fate(array: CapturedArray) -> str:
    return f"{array.fate} {array.copies} times" if array.copies > 1 else array.fate


def _hazard(row: ProgramRow, hazard: Hazard) -> Finding:
    file, line = (hazard.file, hazard.line) if hazard.file else _place_of(row)
    level, _ = _said_by_reasons(row.flip, file, line) if row.flip else ("note", "")
    level = min(level, "error" if hazard.changes_program else "warning", key=LEVELS.index)
    what = hazard.what if hazard.what.startswith(hazard.kind) else f"{hazard.kind}: {hazard.what}"
    return Finding(
        hazard.kind, level, file, line, hazard.code, what, hazard.fix, None, (row.name,)
    )  # fmt: skip


def _said_by_reasons(flip: FlipVerdict, file: str, line: int) -> tuple[Level, str]:
    """Return how bad the reasons are that name a line, and what the worst of them says helps."""
    place = f"{file}:{line}"
    for reason in flip.reasons:
        named = [each.partition(" (")[0] for each in reason.where.split(", ")]
        if place in named and reason.outcome != "safe":
            return _LEVEL_OF[reason.outcome], reason.action
    return "note", ""


def _place_of(row: ProgramRow) -> tuple[str, int]:
    """Return the line of a program's declaration, for what has no line of its own."""
    file, _, line = row.source.rpartition(":")
    return (file, int(line)) if file and line.isdecimal() else (row.source, 0)


# -- written as SARIF ------------------------------------------------------------------------------

MOST_COMPRESSED_BYTES = 10 * 1000 * 1000  # code scanning of GitHub takes no larger file
_MOST_PROGRAMS = 100
_NAME_LENGTH = 200
_IDS = {BREAKS: "flip-breaks", ARRAY: "captured-array"}
_HELP = {
    BREAKS: "The program fails or gives other results after a flip of the default.",
    ARRAY: "The array reaches the compiled program in another way after a flip of the default.",
}
_HELP_OF_HAZARDS = "A change that a flip could bring to the program: possible, and not certain."


def render(campaign: Campaign) -> str:
    """Render the findings of a campaign as SARIF 2.1.0, the worst first.

    What exceeds the limits of code scanning is left out, which a notification of the log says.
    """
    rules = [
        sarif.SarifRule(rule_id(kind), kind, _HELP.get(kind, _HELP_OF_HAZARDS)) for kind in KINDS
    ]
    version, notes = campaign.environment.constparity, [visible(campaign.headline.question)[:1000]]
    results = list(map(_result, findings(campaign)))
    count = min(len(results), MOST_RESULTS)
    while True:
        text = sarif.render(version, rules, results, notes=notes, most=count)
        if count == 0 or len(gzip.compress(text.encode())) <= MOST_COMPRESSED_BYTES:
            return text
        count = count * 3 // 4


def rule_id(kind: str) -> str:
    """Return the id of the rule for a kind of finding.

    Example::

        >>> rule_id("writeable NumPy array")
        'writeable-numpy-array'
    """
    return _IDS.get(kind, kind.lower().replace(" ", "-"))


def _result(finding: Finding) -> sarif.SarifFinding:
    properties: dict[str, object] = {
        "programs": [
            visible(cut(name, _NAME_LENGTH)) for name in finding.programs[:_MOST_PROGRAMS]
        ],
        "programCount": len(finding.programs),
    }
    if finding.bytes is not None:
        properties["bytes"] = finding.bytes
    return sarif.SarifFinding(
        rule_id=rule_id(finding.kind),
        message=visible(finding.message),
        level=finding.level,
        file=finding.file or None,
        line=finding.line if finding.line > 0 else None,
        snippet=visible(finding.code),
        properties=properties,
    )
