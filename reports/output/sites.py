"""Sites as SARIF: a note for each line that captures arrays, an error for each site to blame."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypedDict

from reports.documents import bisection as bisections
from reports.documents.sites import headline, names_of, place_of
from reports.output import sarif
from reports.rows.bisection import Bisection, BlamedSet
from reports.rows.sites import Captured, Sites
from reports.views.figures import humanise_bytes
from reports.views.texts import counted

_CAPTURED = sarif.SarifRule(
    "captured-array",
    "An array that a traced function captures",
    "Legacy copies it into each compiled program; simplified passes it as an argument.",
)


def render_sarif(sites: Sites) -> str:
    """Render what a command captured as SARIF 2.1.0."""
    notes = [headline(sites), *(f"out of reach: {each}" for each in sites.not_reached)]
    found = list(map(_finding, sites.captured))
    return sarif.render(sites.constparity, [_CAPTURED], found, notes=notes)


class _Place(TypedDict):
    file: str | None
    line: int | None


def _place(file: str, line: int) -> _Place:
    """Return a place in a file; none for a cell of a notebook, and for code from a command line."""
    is_file = bool(file) and not file.startswith(("<", "cell "))
    return {"file": file if is_file else None, "line": line or None if is_file else None}


def _finding(found: Captured) -> sarif.SarifFinding:
    what = f"{counted(found.arrays, 'array')} {found.array}, {humanise_bytes(found.all_bytes)}"
    copies = f"{counted(found.copies, 'copy')}, {humanise_bytes(found.copied_bytes)}"
    programs = counted(found.lowered, "lowered program")
    return sarif.SarifFinding(
        rule_id=_CAPTURED.id,
        message=sarif.shown(
            f"{what}: captured at {place_of(found)} by {names_of(found.programs)}; legacy inlines "
            f"{copies}, into {programs}"
        ),
        level="note",
        **_place(found.file, found.line),
        snippet=sarif.shown(found.code),
        properties={"bytes": found.all_bytes, "copiedBytes": found.copied_bytes},
    )


_BLAMED = sarif.SarifRule(
    "site-to-blame",
    "A site that makes a command fail after the flip",
    "The command passes without it flipped, and fails with it; the message has both commands.",
)


def render_bisection(found: Bisection) -> str:
    """Render the sites that a bisection blames as SARIF 2.1.0."""
    results = [each for blamed in found.sets for each in _blamed(found, blamed)]
    notes = [bisections.headline(found), found.detail, *bisections.limits(found)]
    return sarif.render(found.constparity, [_BLAMED], results, notes=notes)


def _blamed(found: Bisection, blamed: BlamedSet) -> Iterator[sarif.SarifFinding]:
    passes, fails = bisections.commands_of(found, blamed)
    for site in blamed.sites:
        others = len(blamed.sites) - 1
        together = f", together with {counted(others, 'other site')}" if others else ""
        yield sarif.SarifFinding(
            rule_id=_BLAMED.id,
            message=sarif.shown(
                f"{site.words} makes the command fail after the flip{together} ({blamed.ended}). "
                f"passes: {passes}; fails: {fails}"
            ),
            level="error",
            **_place(site.file, site.line),
            properties={"site": site.id},
        )
